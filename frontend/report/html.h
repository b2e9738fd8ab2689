// The report: one page of HTML that needs nothing else, neither files nor a network.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tuff {

// `data` has "profile" (of json_of_profile, with the trace's events as "trace"), "bench"
// (bench/FORMAT.md), or both; pages without data are left out.
std::string render_report(const nlohmann::ordered_json& data);

}  // namespace tuff
