#include "shaders/kernel/kernel_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

namespace tuff {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t number_length(std::string_view text) {
  bool hex = text.starts_with("0x");
  size_t n = 1;
  for (; n < text.size(); ++n) {
    bool exponent_sign = !hex && text[n - 1] == 'e' && (text[n] == '+' || text[n] == '-');
    if (!is_word_char(text[n]) && text[n] != '.' && !exponent_sign) break;
  }
  return n;
}

size_t token_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text.starts_with("->")) return 2;
  if (is_digit(text[0]) || (text[0] == '-' && text.size() > 1 && is_digit(text[1])))
    return number_length(text);
  size_t n = 0;
  while (n < text.size() && is_word_char(text[n])) ++n;
  return std::max<size_t>(n, 1);
}

// The whole text as a value of type V, or nothing.
template <typename V>
std::optional<V> parse_whole(std::string_view text, auto... base) {
  V value{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_float_bits(DType dtype, std::string_view text) {
  if (dtype == DType::kF64) {
    auto value = parse_whole<double>(text);
    return value ? std::optional(std::bit_cast<uint64_t>(*value)) : std::nullopt;
  }
  auto value = parse_whole<float>(text);
  if (!value) return std::nullopt;
  if (dtype == DType::kF16) return f32_to_f16(*value);
  if (dtype == DType::kBF16) return f32_to_bf16(*value);
  return std::bit_cast<uint32_t>(*value);
}

}  // namespace

std::optional<uint64_t> parse_immediate(DType dtype, std::string_view text) {
  int width = 8 * static_cast<int>(dtype_size(dtype));
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (dtype == DType::kBool) return std::nullopt;
  if (text.starts_with("0x")) {
    auto bits = parse_whole<uint64_t>(text.substr(2), 16);
    return bits && (*bits & ~mask) == 0 ? bits : std::nullopt;
  }
  if (is_float(dtype)) return parse_float_bits(dtype, text);
  if (is_unsigned_int(dtype)) {
    auto value = parse_whole<uint64_t>(text);
    return value && (*value & ~mask) == 0 ? value : std::nullopt;
  }
  auto value = parse_whole<int64_t>(text);
  if (!value || (*value << (64 - width)) >> (64 - width) != *value) return std::nullopt;
  return static_cast<uint64_t>(*value) & mask;
}

KernelScanner::KernelScanner(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {
  advance();
}

void KernelScanner::fail(const std::string& what) {
  if (error_) return;
  size_t at = next_ - token_.size();
  auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n');
  size_t start = text_.rfind('\n', at == 0 ? 0 : at - 1);
  size_t column = start == std::string_view::npos || at == 0 ? at + 1 : at - start;
  std::string near = token_.empty() ? "the end of the text" : fmt::format("'{}'", token_);
  error_ = Error{ErrorCode::kBadInput,
                 fmt::format("The kernel text does not parse at {}: {}.", near, what),
                 fmt::format("{}:{}:{}", file_, line, column)};
  token_ = {};
}

bool KernelScanner::at_number() const {
  return !token_.empty() && (is_digit(token_[0]) || (token_[0] == '-' && token_ != "->"));
}

bool KernelScanner::at_numbered(std::string_view prefix) const {
  return token_.size() > prefix.size() && token_.starts_with(prefix) &&
         std::all_of(token_.begin() + static_cast<ptrdiff_t>(prefix.size()), token_.end(),
                     is_digit);
}

bool KernelScanner::accept(std::string_view token) {
  if (!at(token)) return false;
  advance();
  return true;
}

void KernelScanner::expect(std::string_view token) {
  if (!accept(token)) fail(fmt::format("'{}' is expected", token));
}

std::string KernelScanner::word() {
  std::string text(token_);
  if (text.empty() || !is_word_char(text[0]) || is_digit(text[0])) fail("a word is expected");
  advance();
  return text;
}

std::string KernelScanner::number() {
  std::string text(token_);
  if (!at_number()) fail("a number is expected");
  advance();
  return text;
}

uint32_t KernelScanner::numbered(std::string_view prefix) {
  uint32_t value = 0;
  auto parsed =
      at_numbered(prefix) ? parse_whole<uint32_t>(token_.substr(prefix.size())) : std::nullopt;
  if (parsed)
    value = *parsed;
  else
    fail(fmt::format("'{}' and a number is expected", prefix));
  advance();
  return value;
}

void KernelScanner::skip_space() {
  while (next_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[next_])))
      ++next_;
    else if (text_.substr(next_).starts_with("//"))
      next_ = std::min(text_.find('\n', next_), text_.size());
    else
      return;
  }
}

void KernelScanner::advance() {
  if (error_) return;
  skip_space();
  size_t length = token_length(text_.substr(next_));
  token_ = text_.substr(next_, length);
  next_ += length;
}

}  // namespace tuff
