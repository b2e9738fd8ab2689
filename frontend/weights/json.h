// JSON from files: data of others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace tuff {

// Parses an object that is nested at most `max_depth` lists and objects deep, the outermost one
// included. A key that stands twice in one object is an error: two readers of a file could take
// different ones. `what` begins the message ("The header"), `path` is where. Errors: kBadInput.
// For nlohmann::json and nlohmann::ordered_json.
template <typename Json>
Result<Json> parse_json_object(std::string_view text, int max_depth, const std::string& what,
                               const std::string& path);

}  // namespace tuff
