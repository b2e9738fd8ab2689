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
      "  %1 = stablehlo.tanh %0 : tensor<2xcomplex<f32>> loc(\"x/model.py\":12:3)\n"
      "  %2 = stablehlo.real %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
      "  return %2 : tensor<2xf32>\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.to_string(),
            "stablehlo.tanh at model.py:12:3: Complex operands of (stablehlo.tanh) are not "
            "supported.");
}

TEST(ImportComplex, ResultsOfAProgramAreReal) {
  Error error = error_of(function("(%a: tensor<2xf32>) -> tensor<2xcomplex<f32>>",
                                  "%0 = stablehlo.complex %a, %a : tensor<2xcomplex<f32>>\n"
                                  "return %0 : tensor<2xcomplex<f32>>"));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.where, "result 0 at t.mlir:1:11");
}

}  // namespace
}  // namespace tuff::stablehlo
