#include "frontend/stablehlo/text/lexer.h"

namespace tuff::stablehlo {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_suffix(char c) { return is_word(c) || c == '-'; }

}  // namespace

void Lexer::skip_space() {
  for (; position_ < source_.size(); ++position_) {
    char c = source_[position_];
    if (c == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    } else if (c == '/' && source_.substr(position_, 2) == "//") {
      size_t end = source_.find('\n', position_);
      position_ = (end == std::string_view::npos ? source_.size() : end) - 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

void Lexer::skip_to(size_t offset) {
  for (; position_ < offset && position_ < source_.size(); ++position_)
    if (source_[position_] == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    }
}

Token Lexer::token(Tok kind, size_t begin, size_t end, size_t next) {
  Token t{kind, source_.substr(begin, end - begin), position_, line_,
          static_cast<uint32_t>(position_ - line_start_ + 1)};
  position_ = next;
  return t;
}

Token Lexer::lex_string(Tok kind, size_t quote) {
  size_t end = quote + 1;
  while (end < source_.size() && source_[end] != '"' && source_[end] != '\n')
    end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size() || source_[end] != '"') {
    Token bad = token(Tok::kBad, position_, position_, source_.size());
    bad.text = "The string has no closing quote.";
    return bad;
  }
  return token(kind, quote + 1, end, end + 1);
}

Token Lexer::lex_number() {
  size_t end = position_;
  if (source_[end] == '0' && end + 2 < source_.size() && source_[end + 1] == 'x' &&
      hex_value(source_[end + 2]) >= 0) {
    for (end += 2; end < source_.size() && hex_value(source_[end]) >= 0;) ++end;
    return token(Tok::kInteger, position_, end, end);
  }
  auto digits = [&] {
    while (end < source_.size() && is_digit(source_[end])) ++end;
  };
  digits();
  if (end >= source_.size() || source_[end] != '.')
    return token(Tok::kInteger, position_, end, end);
  ++end;
  digits();
  size_t mantissa = end;
  if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
    ++end;
    if (end < source_.size() && (source_[end] == '+' || source_[end] == '-')) ++end;
    if (end < source_.size() && is_digit(source_[end]))
      digits();
    else
      end = mantissa;
  }
  return token(Tok::kFloat, position_, end, end);
}

Token Lexer::lex_sigil(Tok kind) {
  size_t end = position_ + 1;
  while (end < source_.size() && is_suffix(source_[end])) ++end;
  return token(kind, position_ + 1, end, end);
}

Token Lexer::next() {
  skip_space();
  if (position_ >= source_.size()) return token(Tok::kEnd, position_, position_, position_);
  char c = source_[position_];
  if (is_digit(c)) return lex_number();
  if (is_letter(c)) {
    size_t end = position_;
    while (end < source_.size() && is_word(source_[end])) ++end;
    return token(Tok::kWord, position_, end, end);
  }
  switch (c) {
    case '"': return lex_string(Tok::kString, position_);
    case '%': return lex_sigil(Tok::kValue);
    case '#': return lex_sigil(Tok::kHash);
    case '!': return lex_sigil(Tok::kBang);
    case '^': return lex_sigil(Tok::kCaret);
    case '@':
      if (source_.substr(position_, 2) == "@\"") return lex_string(Tok::kSymbol, position_ + 1);
      return lex_sigil(Tok::kSymbol);
    case '-':
      if (source_.substr(position_, 2) == "->")
        return token(Tok::kArrow, position_, position_ + 2, position_ + 2);
      break;
    default: break;
  }
  return token(Tok::kPunct, position_, position_ + 1, position_ + 1);
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    int high = hex_value(c), low = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

}  // namespace tuff::stablehlo
