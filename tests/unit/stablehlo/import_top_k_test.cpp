// The k greatest elements by custom calls.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

TEST(TopK, AsACall) {
  auto call = [](const std::string& attributes) {
    return graph_text(function(
        "(%a: tensor<3x7xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)",
        "%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {" + attributes +
            "}, mhlo.version = 1 : i64} : (tensor<3x7xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)\n"
            "return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xi32>"));
  };
  EXPECT_THAT(call("k = 2 : i64, largest = true"), testing::HasSubstr("top_k(%0) {k = 2}"));
  EXPECT_THAT(call("k = 2 : i64, largest = false"), testing::HasSubstr("smallest elements"));
  EXPECT_THAT(call(""), testing::HasSubstr("has no number k"));
}

std::string approximate(const std::string& attributes,
                        const std::string& operands = "%x, %i, %a, %b",
                        const std::string& size = "2") {
  std::string results = "(tensor<" + size + "x9xbf16>, tensor<" + size + "x9xi32>)";
  std::string types = operands.size() > 6 ? ", tensor<bf16>, tensor<i32>" : "";
  return graph_text(
      R"(func.func @less(%0: tensor<bf16>, %1: tensor<bf16>, %2: tensor<i32>, %3: tensor<i32>) -> tensor<i1> {
    %4 = stablehlo.compare LT, %0, %1 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    return %4 : tensor<i1>
  }
  func.func @main(%x: tensor<7x9xbf16>, %i: tensor<7x9xi32>, %a: tensor<bf16>, %b: tensor<i32>) -> )" +
      results + " {\n%0:2 = stablehlo.custom_call @ApproxTopK(" + operands + ") {" + attributes +
      "} : (tensor<7x9xbf16>, tensor<7x9xi32>" + types + ") -> " + results +
      "\nreturn %0#0, %0#1 : " + results.substr(1, results.size() - 2) + "\n}");
}

TEST(TopK, ApproximateOnesAreTheFirstInOrder) {
  const std::string along = "mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 2 : i64}";
  EXPECT_EQ(approximate("called_computations = [@less], " + along),
            R"(graph main(%0: bf16[7,9] "x", %1: i32[7,9] "i", %2: bf16[] "a", %3: i32[] "b") {
  %4:2 = sort(%0, %1) {dimension = 0, is_stable = 1} : bf16[7,9], i32[7,9] graph less(%0: bf16[], %1: bf16[], %2: i32[], %3: i32[]) {
    %4 = compare(%0, %1) {compare_type = "FLOAT", comparison_direction = "LT"} : i1[]
    return %4
  }
  %5 = slice(%4) {limit_indices = [2, 9], start_indices = [0, 0], strides = [1, 1]} : bf16[2,9]
  %6 = slice(%4#1) {limit_indices = [2, 9], start_indices = [0, 0], strides = [1, 1]} : i32[2,9]
  return %5, %6
}
)");
  EXPECT_THAT(approximate(along), testing::HasSubstr("name one comparator"));
  EXPECT_THAT(approximate("called_computations = [@more], " + along),
              testing::HasSubstr("(@more) is not defined"));
  EXPECT_THAT(approximate("called_computations = [@less]"), testing::HasSubstr("reduction_dim"));
  EXPECT_THAT(approximate("called_computations = [@less], " + along, "%x, %i"),
              testing::HasSubstr("an initial value for each result"));
  EXPECT_THAT(approximate("called_computations = [@less], " + along, "%x, %i, %a, %b", "8"),
              testing::HasSubstr("no range of dimension (0)"));
}

}  // namespace
}  // namespace tuff::stablehlo
