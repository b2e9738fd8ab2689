#include "ir/text/parse_element.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace tuff {

double quiet_nan() { return std::bit_cast<double>(uint64_t{0x7ff8000000000000}); }

namespace {

// "0x..." as bits of the element, or nullopt.
std::optional<uint64_t> parse_bits(std::string_view text, int64_t size_bytes) {
  if (text.substr(0, 2) != "0x" || text.size() == 2) return std::nullopt;
  uint64_t bits = 0;
  auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (size_bytes < 8 && bits >> (8 * size_bytes)) return std::nullopt;
  return bits;
}

template <typename F>
bool float_from_text(std::string_view text, F& value) {
  if (text == "nan") {
    value = static_cast<F>(quiet_nan());
    return true;
  }
  return from_text(text, value);
}

bool integer_fits(DType dtype, int64_t value) {
  int bits = static_cast<int>(dtype_size(dtype)) * 8;
  if (is_unsigned_int(dtype)) return value >= 0 && value >> bits == 0;
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

}  // namespace

std::optional<uint64_t> parse_element(DType dtype, std::string_view text) {
  if (auto bits = parse_bits(text, dtype_size(dtype)); bits && !is_integer(dtype)) return bits;
  switch (dtype) {
    case DType::kBool:
      if (text == "true") return 1;
      if (text == "false") return 0;
      return std::nullopt;
    case DType::kU64: {
      uint64_t value;
      if (!from_text(text, value)) return std::nullopt;
      return value;
    }
    case DType::kF64: {
      double value;
      if (!float_from_text(text, value)) return std::nullopt;
      return std::bit_cast<uint64_t>(value);
    }
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32: {
      float value;
      if (!float_from_text(text, value)) return std::nullopt;
      if (dtype == DType::kF16) return std::isnan(value) ? 0x7e00 : f32_to_f16(value);
      if (dtype == DType::kBF16) return std::isnan(value) ? 0x7fc0 : f32_to_bf16(value);
      return std::bit_cast<uint32_t>(value);
    }
    default: {
      int64_t value;
      if (!from_text(text, value)) return std::nullopt;
      if (dtype != DType::kI64 && !integer_fits(dtype, value)) return std::nullopt;
      return static_cast<uint64_t>(value);
    }
  }
}

}  // namespace tuff
