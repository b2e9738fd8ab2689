// Lexer: MLIR text to tokens. Tokens are views of the source, which outlives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tuff::stablehlo {

enum class Tok : uint8_t {
  kEnd,
  kBad,      // text: what is wrong, as a sentence
  kWord,     // stablehlo.add, dense, x
  kInteger,  // 12, 0xFF
  kFloat,    // 1.5e-3; always with a point, as in MLIR
  kString,   // text: between the quotes, escapes kept
  kValue,    // %0, %arg0; text without the sigil
  kSymbol,   // @main, @"a b"; text without sigil and quotes
  kHash,     // #loc1, #stablehlo.gather, and the #1 of %0#1; text without the sigil
  kBang,     // !stablehlo.token
  kCaret,    // ^bb0
  kArrow,    // ->
  kPunct,    // one character, in text
};

struct Token {
  Tok kind = Tok::kEnd;
  std::string_view text;
  size_t offset = 0;  // of the first character
  uint32_t line = 1, column = 1;
};

// A small value: copy it to look ahead.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}
  Token next();
  // Continues at `offset`, which must not lie before the last token.
  void skip_to(size_t offset);
  std::string_view source() const { return source_; }

 private:
  void skip_space();
  Token token(Tok kind, size_t begin, size_t end, size_t next);
  Token lex_string(Tok kind, size_t quote);
  Token lex_number();
  Token lex_sigil(Tok kind);

  std::string_view source_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
};

// The text of a string token with \n, \t, \", \\ and \xx (two hex digits) resolved.
std::string unescape(std::string_view text);

}  // namespace tuff::stablehlo
