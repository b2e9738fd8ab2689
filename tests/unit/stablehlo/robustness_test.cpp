// No input crashes the reader, exhausts the stack or allocates without bound.
#include <fstream>
#include <random>
#include <sstream>

#include "tests/unit/small_stack.h"
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

std::string repeat(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Robustness, NestingIsBounded) {
  constexpr size_t kDeep = 100000;
  const std::string cases[] = {
      "func.func @f() attributes {x = " + repeat("[", kDeep),
      "func.func @f() attributes {x = " + repeat("{a = ", kDeep),
      "func.func @f(%a: " + repeat("tuple<", kDeep),
      "func.func @f(%a: " + repeat("(", kDeep),
      "func.func @f(%a: tensor<" + repeat("complex<", kDeep),
      "func.func @f() {\n%0 = stablehlo.constant dense<" + repeat("[", kDeep),
      "func.func @f() {\n" + repeat("\"a.b\"() ({\n", kDeep),
      "func.func @f() loc(" + repeat("\"a\"(", kDeep),
      "func.func @f() {\n} loc(" + repeat("fused[", kDeep),
  };
  for (const std::string& text : cases) {
    Error error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::kBadInput)
        << text.substr(0, 40) << error.message.substr(0, 80);
  }
}

// On a thread of 1 MiB of stack.
TEST(Robustness, AThousandRegionsAreRead) {
  constexpr int kDeep = 1000;
  std::string text = "func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {\n";
  for (int i = 0; i < kDeep; ++i) text += "%r" + std::to_string(i) + " = \"stablehlo.if\"(%p) ({\n";
  text += "stablehlo.return %x : tensor<4xf32>\n";
  for (int i = kDeep; i-- > 0;)
    text += "}, {\nstablehlo.return %x : tensor<4xf32>\n}) : (tensor<i1>) -> tensor<4xf32>\n" +
            std::string(i > 0 ? "stablehlo." : "") + "return %r" + std::to_string(i) +
            " : tensor<4xf32>\n";
  text += "}\n";
  std::optional<Result<Graph>> graph;
  test::on_small_stack([&] { graph.emplace(read_stablehlo(text, "deep.mlir", {})); });
  ASSERT_TRUE(graph && graph->ok()) << graph->error().to_string();
}

TEST(Robustness, LongCallChainsAreBounded) {
  std::string text = "func.func @main() {\ncall @f0() : () -> ()\nreturn\n}\n";
  for (int i = 0; i < 5000; ++i)
    text += "func.func private @f" + std::to_string(i) + "() {\ncall @f" + std::to_string(i + 1) +
            "() : () -> ()\nreturn\n}\n";
  text += "func.func private @f5000() {\nreturn\n}\n";
  EXPECT_THAT(error_of(text).message, testing::HasSubstr("nested too deeply"));
}

TEST(Robustness, TruncatedTextIsAnError) {
  std::string text =
      function("(%a: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2xf32>",
               "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : "
               "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc(\"m.py\":1:2)\n"
               "return %0 : tensor<2xf32>");
  ASSERT_THAT(graph_text(text), testing::StartsWith("graph"));
  for (size_t size = 0; size + 3 < text.size(); ++size)
    EXPECT_EQ(error_of(text.substr(0, size)).code, ErrorCode::kBadInput) << size;
}

// Mutations of a real module: any answer but a crash, and what is accepted verifies.
TEST(Robustness, MutatedModules) {
  std::ifstream file(std::string(TUFF_TEST_DATA) + "/models/mlp/module.mlir");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string original = stream.str();
  if (original.empty()) GTEST_SKIP() << "tests/models/mlp is not there";
  std::mt19937 random(1);
  const std::string alphabet = "0123456789<>()[]{}:,%#@\"x-=?!^. \nabf";
  for (int round = 0; round < 2000; ++round) {
    std::string text = original;
    for (size_t edit = random() % 3 + 1; edit > 0; --edit) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 20);
      else if (random() % 2 == 0)
        text[at] = alphabet[random() % alphabet.size()];
      else
        text.insert(at, text.substr(random() % text.size(), random() % 30));
    }
    Result<Graph> graph = read_stablehlo(text, "t.mlir");
    if (!graph.ok()) continue;
    EXPECT_TRUE(verify(*graph).ok()) << text;
  }
}

}  // namespace
}  // namespace tuff::stablehlo
