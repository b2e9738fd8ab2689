// What a check keeps of a part's object, and the figures that people look for in it.
#pragma once

#include <optional>
#include <string>

#include "frontend/check/part.h"

namespace tuff::check {

// Without the texts of kernels and regions, which are megabytes.
Json summarised(const std::string& part, const Json& object);

// The part of that name; null where there is none.
const Json* find_part(const Json& check, const std::string& name);

// result[a][b] of a part that passed.
std::optional<double> number_of(const Json& check, const std::string& part, const std::string& a,
                                const std::string& b = "");

// 10^9 operations a second of a "product MxNxK_TYPE" in its steady state.
std::optional<double> gflops_of(const Json& part);

// How many parts passed, failed, hung, were skipped: "20 passed, 1 failed".
std::string verdict_of(const Json& check);

}  // namespace tuff::check
