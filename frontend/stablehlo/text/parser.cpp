#include "frontend/stablehlo/text/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "frontend/stablehlo/read.h"

namespace tuff::stablehlo {

namespace {

// "file:line:column: sentence", the line, a caret below the column. Long lines
// (constants) are cut to a window around the column.
std::string with_caret(std::string_view source, const Token& token, const std::string& sentence) {
  constexpr size_t kWindow = 100;
  size_t begin = token.offset - (token.column - 1);
  size_t end = source.find('\n', token.offset);
  if (end == std::string_view::npos) end = source.size();
  size_t from = token.column - 1 > kWindow ? token.offset - kWindow : begin;
  size_t to = std::min(end, from + 2 * kWindow);
  std::string line(source.substr(from, to - from));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return fmt::format("{}\n  {}\n  {:>{}}", sentence, line, '^', token.offset - from + 1);
}

}  // namespace

Parser::Parser(std::string_view source, const std::string& file_name) : lexer_(source) {
  module_.file_name = file_name;
  advance();
}

void Parser::advance() {
  if (failed()) return;
  token_ = lexer_.next();
  if (token_.kind == Tok::kBad) fail(std::string(token_.text));
}

void Parser::fail_at(const Token& token, const std::string& sentence, ErrorCode code) {
  if (failed()) return;
  error_ = Error{code, with_caret(lexer_.source(), token, sentence),
                 fmt::format("{}:{}:{}", module_.file_name, token.line, token.column)};
  token_.kind = Tok::kEnd;
  token_.text = {};
}

bool Parser::eat(char punct) {
  if (!at(punct)) return false;
  advance();
  return true;
}

bool Parser::eat_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

void Parser::expect(char punct) {
  if (!eat(punct)) fail(fmt::format("Expected '{}' here.", punct));
}

void Parser::expect_word(std::string_view word) {
  if (!eat_word(word)) fail(fmt::format("Expected '{}' here.", word));
}

void Parser::expect_arrow() {
  if (!at(Tok::kArrow)) fail("Expected '->' here.");
  advance();
}

std::string_view Parser::expect_kind(Tok kind, const char* what) {
  if (!at(kind)) {
    fail(fmt::format("Expected {} here.", what));
    return {};
  }
  std::string_view text = token_.text;
  advance();
  return text;
}

int64_t Parser::parse_integer() {
  bool negative = eat('-');
  Token number = token_;
  std::string_view text = expect_kind(Tok::kInteger, "an integer");
  bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (!failed() && code != std::errc()) fail_at(number, "The integer does not fit 64 bits.");
  (void)end;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

double Parser::parse_number() {
  if (at(Tok::kInteger)) return static_cast<double>(parse_integer());
  std::string_view text = expect_kind(Tok::kFloat, "a number");
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void Parser::parse_list(char close, const std::function<void()>& item) {
  if (eat(close)) return;
  do {
    item();
  } while (!failed() && eat(','));
  expect(close);
}

std::string Parser::skip_balanced() {
  size_t begin = token_.offset;
  size_t open = 0;
  do {
    if (at(Tok::kEnd)) {
      fail("A bracket is not closed before the end of the text.");
      return {};
    }
    char c = at(Tok::kPunct) ? token_.text[0] : ' ';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++open;
    if (c == '>' || c == ')' || c == ']' || c == '}') --open;
    size_t end = token_.offset + token_.text.size();
    advance();
    if (open == 0) return std::string(lexer_.source().substr(begin, end - begin));
  } while (!failed());
  return {};
}

Result<Module> Parser::parse_module() {
  parse_top_level();
  if (!failed() && module_.functions.empty()) fail("The text holds no function.");
  if (failed()) return *error_;
  resolve_locations();
  return std::move(module_);
}

Result<Module> read_text(std::string_view text, const std::string& file_name) {
  return Parser(text, file_name).parse_module();
}

}  // namespace tuff::stablehlo
