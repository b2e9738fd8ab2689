// The text of numbers, as print writes them and parse reads them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/type.h"

namespace tuff {

// True iff the whole text is a number of the type.
template <typename T>
bool from_text(std::string_view text, T& value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

// The one that is printed "nan": positive and quiet, without a payload.
double quiet_nan();

// The bits of one element, in the low bytes; nullopt where the text is no value
// of the type. Floats and i1 may be their bits (0x...).
std::optional<uint64_t> parse_element(DType dtype, std::string_view text);

}  // namespace tuff
