// A place in a text being parsed: words, punctuation, numbers, strings, and
// errors that show the line with a caret.
#pragma once

#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace tuff {

class TextCursor {
 public:
  TextCursor(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    skip();
  }

  bool at_end() const { return pos_ == text_.size(); }
  size_t position() const { return pos_; }
  char peek() const { return at_end() ? '\0' : text_[pos_]; }

  // Takes the punctuation if it comes next.
  bool accept(std::string_view punctuation);
  Status expect(std::string_view punctuation);
  // Takes the word if it comes next as a whole word.
  bool accept_word(std::string_view word);
  // A word of letters, digits, '_' and '.'; may start with a digit.
  Result<std::string_view> word(const char* what);
  // A number's text: digits, sign, '.', exponent, 0x..., inf, nan.
  Result<std::string_view> number(const char* what);
  Result<int64_t> integer(const char* what);
  // A quoted string with \" \\ and \xNN.
  Result<std::string> string(const char* what);
  // A quoted string of hexadecimal digits, as bytes.
  Result<std::string> hex_bytes(size_t expected);

  // An error at the current place, or at an earlier one.
  Error error(const std::string& message) const { return error_at(pos_, message); }
  Error error_at(size_t position, const std::string& message) const;
  // "expected WHAT, found ..." at the current place.
  Error unexpected(const std::string& expected) const;

 private:
  void skip();  // blanks and comments

  std::string_view text_;
  std::string file_;
  size_t pos_ = 0;
};

}  // namespace tuff
