#include "ir/text/text_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tuff {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void TextCursor::skip() {
  while (pos_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[pos_]))) {
      ++pos_;
    } else if (text_.substr(pos_, 2) == "//") {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else {
      return;
    }
  }
}

bool TextCursor::accept(std::string_view punctuation) {
  if (text_.substr(pos_, punctuation.size()) != punctuation) return false;
  pos_ += punctuation.size();
  skip();
  return true;
}

Status TextCursor::expect(std::string_view punctuation) {
  if (!accept(punctuation)) return unexpected(fmt::format("'{}'", punctuation));
  return {};
}

bool TextCursor::accept_word(std::string_view word) {
  size_t end = pos_ + word.size();
  if (text_.substr(pos_, word.size()) != word) return false;
  if (end < text_.size() && is_word(text_[end])) return false;
  pos_ = end;
  skip();
  return true;
}

Result<std::string_view> TextCursor::word(const char* what) {
  size_t end = pos_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end == pos_) return unexpected(what);
  std::string_view found = text_.substr(pos_, end - pos_);
  pos_ = end;
  skip();
  return found;
}

Result<std::string_view> TextCursor::number(const char* what) {
  size_t end = pos_;
  while (end < text_.size()) {
    char c = text_[end];
    bool exponent_sign = end > pos_ && (c == '-' || c == '+') && text_[end - 1] == 'e';
    if (!is_word(c) && !exponent_sign && !(c == '-' && end == pos_)) break;
    ++end;
  }
  if (end == pos_) return unexpected(what);
  std::string_view found = text_.substr(pos_, end - pos_);
  pos_ = end;
  skip();
  return found;
}

Result<int64_t> TextCursor::integer(const char* what) {
  size_t start = pos_;
  TUFF_ASSIGN(std::string_view text, number(what));
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return error_at(start, fmt::format("'{}' is not a 64-bit integer.", text));
  return value;
}

Result<std::string> TextCursor::string(const char* what) {
  if (peek() != '"') return unexpected(what);
  size_t start = pos_;
  std::string out;
  for (size_t i = pos_ + 1; i < text_.size(); ++i) {
    char c = text_[i];
    if (c == '"') {
      pos_ = i + 1;
      skip();
      return out;
    }
    if (c == '\n') break;
    if (c != '\\') {
      out += c;
      continue;
    }
    char escaped = i + 1 < text_.size() ? text_[i + 1] : '\0';
    if (escaped == '"' || escaped == '\\') {
      out += escaped;
      i += 1;
    } else if (int hi, lo; escaped == 'x' && i + 3 < text_.size() &&
                           (hi = hex_digit(text_[i + 2])) >= 0 &&
                           (lo = hex_digit(text_[i + 3])) >= 0) {
      out += static_cast<char>(hi * 16 + lo);
      i += 3;
    } else {
      return error_at(i, "The escape is not one of \\\", \\\\ and \\xNN.");
    }
  }
  return error_at(start, "The string is not closed on its line.");
}

Result<std::string> TextCursor::hex_bytes(size_t expected) {
  size_t start = pos_;
  // Measured before decoding, so that a short text cannot ask for much memory.
  TUFF_ASSIGN(std::string digits, string("a quoted string of hexadecimal digits"));
  if (digits.size() != expected * 2)
    return error_at(
        start, fmt::format("The literal has ({}) hexadecimal digits where its type needs ({}).",
                           digits.size(), expected * 2));
  std::string bytes(expected, '\0');
  for (size_t i = 0; i < expected; ++i) {
    int hi = hex_digit(digits[2 * i]), lo = hex_digit(digits[2 * i + 1]);
    if (hi < 0 || lo < 0) return error_at(start + 1 + 2 * i, "This is not a hexadecimal digit.");
    bytes[i] = static_cast<char>(hi * 16 + lo);
  }
  return bytes;
}

Error TextCursor::error_at(size_t position, const std::string& message) const {
  std::string_view before = text_.substr(0, position);
  size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t start = before.rfind('\n');
  start = start == std::string_view::npos ? 0 : start + 1;
  std::string_view shown =
      text_.substr(start, std::min(text_.find('\n', start), text_.size()) - start);
  size_t column = position - start;
  // A long line (a literal) is shown around the place only.
  constexpr size_t kWidth = 100;
  size_t from = column > kWidth / 2 && shown.size() > kWidth ? column - kWidth / 2 : 0;
  return {ErrorCode::kBadInput,
          fmt::format("{}\n  {}\n  {}^", message, shown.substr(from, kWidth),
                      std::string(column - from, ' ')),
          fmt::format("{}:{}:{}", file_, line, column + 1)};
}

Error TextCursor::unexpected(const std::string& expected) const {
  if (at_end()) return error(fmt::format("Expected {}, found the end of the text.", expected));
  size_t end = pos_;
  while (end < text_.size() && is_word(text_[end]) && end - pos_ < 40) ++end;
  return error(fmt::format("Expected {}, found '{}'.", expected,
                           text_.substr(pos_, std::max<size_t>(end - pos_, 1))));
}

}  // namespace tuff
