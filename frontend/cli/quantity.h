// Rates and times as the command line has them: "50GB/s", "312TFLOP/s", "5us".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace tuff::cli {

// A number above 0 in a unit ("B/s", "FLOP/s", "s"), with a prefix n, u, m, k, M, G or T; nothing
// where the text is none.
std::optional<double> quantity(std::string_view text, std::string_view unit);

// "64x8", "8". Errors: kUsage, naming the option.
Result<std::vector<int64_t>> parse_extents(const std::string& text, const std::string& option);

}  // namespace tuff::cli
