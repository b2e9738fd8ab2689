// Tokens of the kernel text form, for kernel_parse.cpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/result.h"
#include "ir/type.h"

namespace tuff {

// One token ahead: words, numbers and punctuation; spaces, newlines and //
// comments separate. Keeps the first error with its line and column; from then
// on the token is empty and nothing is accepted.
class KernelScanner {
 public:
  KernelScanner(std::string_view text, std::string file);

  bool ok() const { return !error_.has_value(); }
  Error take_error() { return std::move(*error_); }
  void fail(const std::string& what);

  bool at_end() const { return token_.empty(); }
  bool at(std::string_view token) const { return !token_.empty() && token_ == token; }
  bool at_number() const;
  // A word like "b12": the prefix and then digits only.
  bool at_numbered(std::string_view prefix) const;

  bool accept(std::string_view token);
  void expect(std::string_view token);
  std::string word();
  std::string number();
  uint32_t numbered(std::string_view prefix);
  template <typename Int>
  Int integer() {
    Int value = 0;
    auto [end, code] = std::from_chars(token_.data(), token_.data() + token_.size(), value);
    if (code != std::errc() || end != token_.data() + token_.size()) fail("an integer is expected");
    advance();
    return value;
  }

 private:
  void advance();
  void skip_space();

  std::string_view text_;
  std::string file_;
  size_t next_ = 0;  // first character after the token
  std::string_view token_;
  std::optional<Error> error_;
};

// The bits of a number of the type: decimal, or "0x" and the bits in hex.
std::optional<uint64_t> parse_immediate(DType dtype, std::string_view text);

}  // namespace tuff
