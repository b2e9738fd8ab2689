// Complex tensors within a program: pairs of real values.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

TEST(ImportComplex, TransformsWorkOnPairs) {
  EXPECT_EQ(graph_text(function(
                "(%a: tensor<8xf32>) -> tensor<8xf32>",
                "%0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> "
                "tensor<5xcomplex<f32>>\n"
                "%1 = stablehlo.negate %0 : tensor<5xcomplex<f32>>\n"
                "%2 = stablehlo.fft %1, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> "
                "tensor<8xf32>\n"
                "return %2 : tensor<8xf32>")),
            R"(graph main(%0: f32[8] "a") {
  %1:2 = fft(%0) {fft_length = [8], fft_type = "RFFT"} : f32[5], f32[5]
  %2 = negate(%1) : f32[5]
  %3 = negate(%1#1) : f32[5]
  %4 = fft(%2, %3) {fft_length = [8], fft_type = "IRFFT"} : f32[8]
  return %4
}
)");
}

TEST(ImportComplex, ProductsOfPairs) {
  EXPECT_EQ(graph_text(function("(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32>",
                                "%0 = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>\n"
                                "%1 = stablehlo.multiply %0, %0 : tensor<2xcomplex<f32>>\n"
                                "%2 = stablehlo.imag %1 : (tensor<2xcomplex<f32>>) -> "
                                "tensor<2xf32>\nreturn %2 : tensor<2xf32>")),
            R"(graph main(%0: f32[2] "a", %1: f32[2] "b") {
  %2 = multiply(%0, %0) : f32[2]
  %3 = multiply(%1, %1) : f32[2]
  %4 = multiply(%0, %1) : f32[2]
  %5 = multiply(%1, %0) : f32[2]
  %6 = subtract(%2, %3) : f32[2]
  %7 = add(%4, %5) : f32[2]
  return %7
}
)");
}

// A converted real number has no imaginary part to multiply with.
TEST(ImportComplex, RealFactorsCostNoMore) {
  EXPECT_EQ(graph_text(function("(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32>",
                                "%0 = stablehlo.complex %a, %b : tensor<complex<f32>>\n"
                                "%c = stablehlo.constant dense<(2.0, 0.0)> : tensor<complex<f32>>\n"
                                "%1 = stablehlo.divide %0, %c : tensor<complex<f32>>\n"
                                "%2 = stablehlo.real %1 : (tensor<complex<f32>>) -> tensor<f32>\n"
                                "return %2 : tensor<f32>")),
            R"(graph main(%0: f32[] "a", %1: f32[] "b") {
  %2 = constant f32[] 2
  %3 = constant f32[] 0
  %4 = divide(%0, %2) : f32[]
  %5 = divide(%1, %2) : f32[]
  return %4
}
)");
}

TEST(ImportComplex, CallsLoopsAndReductionsCarryPairs) {
  std::string text = graph_text(R"(
  func.func @main(%a: tensor<4xf32>) -> tensor<f32> {
    %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %c, %z = %0) : tensor<i32>, tensor<4xcomplex<f32>>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = func.call @turn(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<4xcomplex<f32>>
    }
    %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
    %4 = stablehlo.reduce(%1#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    %5 = stablehlo.abs %4 : (tensor<complex<f32>>) -> tensor<f32>
    return %5 : tensor<f32>
  }
  func.func private @turn(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
    %i = stablehlo.constant dense<(0.0, 1.0)> : tensor<4xcomplex<f32>>
    %0 = stablehlo.multiply %z, %i : tensor<4xcomplex<f32>>
    return %0 : tensor<4xcomplex<f32>>
  })");
  EXPECT_THAT(text, testing::HasSubstr(": i32[], f32[4], f32[4]"));
  EXPECT_THAT(text, testing::HasSubstr("{dimensions = [0]} : f32[], f32[]"));
}

TEST(ImportComplex, RefusalsNameTheOperation) {
  Error error = error_of(
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.complex %a, %a : tensor<2xcomplex<f32>>\n"
      "  %1 = stablehlo.floor %0 : tensor<2xcomplex<f32>> loc(\"x/model.py\":12:3)\n"
      "  %2 = stablehlo.real %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
      "  return %2 : tensor<2xf32>\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.to_string(),
            "stablehlo.floor at model.py:12:3: Complex operands of (stablehlo.floor) are not "
            "supported.");
}

// A complex argument or result is one tensor, its parts the last dimension.
TEST(ImportComplex, PartsLieTogetherAtTheBorder) {
  std::string text = function(
      "(%a: tensor<3xcomplex<f32>>, %b: tensor<f32>) -> "
      "(tensor<f32>, tensor<3xcomplex<f32>>)",
      "%0 = chlo.conj %a : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>\n"
      "return %b, %0 : tensor<f32>, tensor<3xcomplex<f32>>");
  EXPECT_EQ(graph_text(text), R"(graph main(%0: f32[3,2] "a", %1: f32[] "b") {
  %2 = slice(%0) {limit_indices = [3, 1], start_indices = [0, 0], strides = [1, 1]} : f32[3,1]
  %3 = reshape(%2) : f32[3]
  %4 = slice(%0) {limit_indices = [3, 2], start_indices = [0, 1], strides = [1, 1]} : f32[3,1]
  %5 = reshape(%4) : f32[3]
  %6 = negate(%5) : f32[3]
  %7 = reshape(%3) : f32[3,1]
  %8 = reshape(%6) : f32[3,1]
  %9 = concatenate(%7, %8) {dimension = 1} : f32[3,2]
  return %1, %9
}
)");
  Result<Module> module = read_text(text, "t.mlir");
  Result<Model> model = import_module(*module);
  EXPECT_EQ(argument_type(*model, 0).to_string(), "3xcomplex<f32>");
  EXPECT_EQ(argument_type(*model, 1).to_string(), "f32");
  EXPECT_EQ(result_type(*model, 0).to_string(), "f32");
  EXPECT_EQ(result_type(*model, 1).to_string(), "3xcomplex<f32>");
}

// A donated argument lies as the result does.
TEST(ImportComplex, ArgumentsAreDonated) {
  Result<Graph> graph =
      read_stablehlo(function("(%a: tensor<3xcomplex<f64>> {tf.aliasing_output = 0 : i32}) -> "
                              "tensor<3xcomplex<f64>>",
                              "%0 = stablehlo.negate %a : tensor<3xcomplex<f64>>\n"
                              "return %0 : tensor<3xcomplex<f64>>"),
                     "t.mlir");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_THAT(graph->donations, testing::ElementsAre(std::pair(0u, 0u)));
}

// Sums of the parts are sums of real numbers; products need both parts.
TEST(ImportComplex, PartsOfASumAreReducedApart) {
  auto reduced = [](const std::string& op) {
    return graph_text(
        function("(%a: tensor<4xcomplex<f32>>) -> tensor<complex<f32>>",
                 "%zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>\n"
                 "%0 = stablehlo.reduce(%a init: %zero) applies stablehlo." +
                     op +
                     " across dimensions = [0] : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> "
                     "tensor<complex<f32>>\nreturn %0 : tensor<complex<f32>>"));
  };
  EXPECT_THAT(reduced("add"), testing::HasSubstr("{dimensions = [0]} : f32[] applies add"));
  EXPECT_THAT(reduced("multiply"), testing::Not(testing::HasSubstr("applies")));
}

// A comparator's parameters come in twos: the real parts of both elements, then the imaginary ones.
TEST(ImportComplex, ComparatorsTakePartsInTwos) {
  std::string text = graph_text(R"(
  func.func @main(%a: tensor<4xcomplex<f32>>, %b: tensor<4xi32>) -> tensor<4xi32> {
    %0:2 = "stablehlo.sort"(%a, %b) ({
    ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>, %i: tensor<i32>, %j: tensor<i32>):
      %1 = stablehlo.imag %x : (tensor<complex<f32>>) -> tensor<f32>
      %2 = stablehlo.imag %y : (tensor<complex<f32>>) -> tensor<f32>
      %3 = stablehlo.compare LT, %1, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4xcomplex<f32>>, tensor<4xi32>) -> (tensor<4xcomplex<f32>>, tensor<4xi32>)
    return %0#1 : tensor<4xi32>
  })");
  EXPECT_THAT(text, testing::HasSubstr("compare(%2, %3)"));
  EXPECT_THAT(text, testing::HasSubstr(": f32[4], f32[4], i32[4]"));
}

}  // namespace
}  // namespace tuff::stablehlo
