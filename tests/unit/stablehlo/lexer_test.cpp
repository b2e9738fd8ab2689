#include "frontend/stablehlo/text/lexer.h"

#include <gtest/gtest.h>

#include <vector>

namespace tuff::stablehlo {
namespace {

std::vector<Token> lex(std::string_view text) {
  std::vector<Token> tokens;
  Lexer lexer(text);
  for (Token t = lexer.next(); t.kind != Tok::kEnd; t = lexer.next()) tokens.push_back(t);
  return tokens;
}

TEST(Lexer, TellsKinds) {
  auto t = lex("%arg0#1 = stablehlo.add @\"a b\" ^bb0 !quant.x -> 12 0xFf 1.5e-3 \"s\\\"q\" <");
  std::vector<Tok> kinds;
  for (const Token& token : t) kinds.push_back(token.kind);
  EXPECT_EQ(kinds, (std::vector<Tok>{Tok::kValue, Tok::kHash, Tok::kPunct, Tok::kWord, Tok::kSymbol,
                                     Tok::kCaret, Tok::kBang, Tok::kArrow, Tok::kInteger,
                                     Tok::kInteger, Tok::kFloat, Tok::kString, Tok::kPunct}));
  EXPECT_EQ(t[0].text, "arg0");
  EXPECT_EQ(t[1].text, "1");
  EXPECT_EQ(t[4].text, "a b");
  EXPECT_EQ(unescape(t[11].text), "s\"q");
}

TEST(Lexer, CountsLinesAndColumnsAcrossComments) {
  auto t = lex("a // comment\n  b\n// last");
  ASSERT_EQ(t.size(), 2u);
  EXPECT_EQ(t[1].line, 2u);
  EXPECT_EQ(t[1].column, 3u);
}

TEST(Lexer, AnExponentNeedsDigitsAndAPoint) {
  auto t = lex("1e5 2.e+ 3.5E7");
  ASSERT_EQ(t.size(), 6u);
  EXPECT_EQ(t[0].kind, Tok::kInteger);
  EXPECT_EQ(t[1].text, "e5");
  EXPECT_EQ(t[2].text, "2.");
  EXPECT_EQ(t[5].text, "3.5E7");
}

TEST(Lexer, UnclosedStringIsBad) { EXPECT_EQ(lex("\"abc\ndef")[0].kind, Tok::kBad); }

TEST(Lexer, EscapesAreResolved) { EXPECT_EQ(unescape("a\\n\\5A\\\\"), "a\nZ\\"); }

}  // namespace
}  // namespace tuff::stablehlo
