// Exact messages: place, sentence, line, caret.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

TEST(ReadErrors, PointAtTheColumn) {
  Error error = error_of(
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.add %a, %b : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.to_string(),
            "t.mlir:2:26: The value (%b) is not defined before its use.\n"
            "    %0 = stablehlo.add %a, %b : tensor<2xf32>\n"
            "                           ^");
}

TEST(ReadErrors, TypesThatDoNotMatch) {
  Error error =
      error_of("func.func @main(%a: tensor<2xf32>) {\n%0 = stablehlo.abs %a : tensor<3xf32>\n}");
  EXPECT_EQ(
      error.to_string(),
      "t.mlir:2:25: Operand (0) has the type (tensor<2xf32>), but is used as (tensor<3xf32>).\n"
      "  %0 = stablehlo.abs %a : tensor<3xf32>\n"
      "                          ^");
}

TEST(ReadErrors, LongLinesAreCut) {
  Error error = error_of("func.func @main() { %0 = stablehlo.constant dense<[" +
                         std::string(5000, '1') + "]> : tensor<1xi32>\n}");
  EXPECT_LT(error.message.size(), 400u);
}

struct Bad {
  const char* text;
  const char* message;
};

TEST(ReadErrors, Sentences) {
  const Bad kBad[] = {
      {"", "The text holds no function."},
      {"module @m {", "Expected '}' here."},
      {"func.func @f(%a: tensor<2xfoo>) {\n}", "The type (foo) is unknown."},
      {"func.func @f(%a: tensor<99999999999999999999xf32>) {\n}", "does not fit 64 bits"},
      {"func.func @f() {\nfrobnicate\n}", "The operation (frobnicate) is unknown."},
      {"func.func @f() {\n%0:2 = \"a.b\"() : () -> tensor<f32>\n}",
       "The operation has (1) results, but (2) are named."},
      {"func.func @f(%a: tensor<f32>, %a: tensor<f32>) {\n}", "The value (%a) is defined twice."},
      {"func.func @f(%7: tensor<f32>, %8: tensor<f32>, %7: tensor<f32>) {\n}",
       "The value (%7) is defined twice."},
      {"func.func @f(%7: tensor<f32>, %3: tensor<f32>, %3: tensor<f32>) {\n}",
       "The value (%3) is defined twice."},
      {"func.func @f(%0: tensor<f32>) {\nreturn %00 : tensor<f32>\n}",
       "The value (%00) is not defined before its use."},
      {"func.func @f(%7: tensor<f32>) {\nreturn %6 : tensor<f32>\n}",
       "The value (%6) is not defined before its use."},
      {"func.func @f() {\n}\nfunc.func @f() {\n}", "The function (@f) is defined twice."},
      {"func.func @f(%a: tensor<f32>) {\nreturn %a#1 : tensor<f32>\n}",
       "does not have that many results"},
      {"func.func @f() attributes {x = #nowhere} {\n}",
       "The attribute alias (#nowhere) is not defined."},
      {"func.func @f() attributes {x = \"abc} {\n}", "The string has no closing quote."},
  };
  for (const Bad& bad : kBad) {
    Error error = error_of(bad.text);
    EXPECT_EQ(error.code, ErrorCode::kBadInput) << bad.text;
    EXPECT_THAT(error.message, testing::HasSubstr(bad.message)) << bad.text;
  }
}

TEST(ImportErrors, NameTheOperationAndItsPlace) {
  Error error = error_of(
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.frob %a : tensor<2xf32> loc(\"x/model.py\":12:3)\n"
      "  return %0 : tensor<2xf32>\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.to_string(),
            "stablehlo.frob at model.py:12:3: The operation (stablehlo.frob) is not supported.");
}

TEST(ImportErrors, TypesThatTuffLacks) {
  auto refused = [](const std::string& type) {
    Error error = error_of(function("(%a: " + type + ") -> " + type, "return %a : " + type));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << type;
    return error.message;
  };
  EXPECT_EQ(refused("tensor<2xcomplex<f16>>"),
            "The type (tensor<2xcomplex<f16>>) is not supported: complex numbers are of f32 or "
            "f64.");
  EXPECT_EQ(refused("tensor<?xf32>"),
            "The type (tensor<?xf32>) leaves a size open; give the argument's shape "
            "(a=2x64) or its value.");
  EXPECT_THAT(refused("tensor<2xf6E2M3FN>"), testing::HasSubstr("6 bits"));
  EXPECT_THAT(refused("tensor<2xi3>"), testing::HasSubstr("(i3)"));
  EXPECT_THAT(refused("tensor<2x!quant.uniform<i8:f32, 0.1:-30>>"),
              testing::HasSubstr("quantized"));
  EXPECT_THAT(refused("tensor<*xf32>"), testing::HasSubstr("ranked"));
}

TEST(ImportErrors, ShapesAreChecked) {
  Error error =
      error_of(function("(%a: tensor<2x3xf32>) -> tensor<3x3xf32>",
                        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> "
                        "tensor<3x3xf32>\nreturn %0 : tensor<3x3xf32>"));
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.where, "stablehlo.transpose at t.mlir:2:6");
}

}  // namespace
}  // namespace tuff::stablehlo
