// Every chlo operation imports for every float type and verifies. What the
// formulas compute is checked by the conformance suite against its references.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

std::string unary(const std::string& name, const std::string& dtype, const std::string& result) {
  std::string from = "tensor<3x" + dtype + ">", to = "tensor<3x" + result + ">";
  return graph_text(
      function("(%x: " + from + ") -> " + to,
               "%0 = chlo." + name + " %x : " + from + " -> " + to + "\nreturn %0 : " + to));
}

TEST(Chlo, UnaryFunctionsOfEveryFloat) {
  for (const char* name :
       {"acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma",
        "erf", "erf_inv", "erfc", "lgamma", "sinh", "square", "tan"})
    for (const char* dtype : {"f16", "bf16", "f32", "f64"})
      EXPECT_THAT(unary(name, dtype, dtype), testing::StartsWith("graph main"))
          << name << " " << dtype;
}

TEST(Chlo, CustomCallsThatStandForAnOperation) {
  auto imported = [](const std::string& name) {
    return graph_text(function("(%x: tensor<3xf32>) -> tensor<3xf32>",
                               "%0 = stablehlo.custom_call @mhlo." + name +
                                   "(%x) : (tensor<3xf32>) -> tensor<3xf32>\n"
                                   "return %0 : tensor<3xf32>"));
  };
  for (const char* name : {"acosh", "cosh", "erf", "sinh"})
    EXPECT_EQ(imported(name), unary(name, "f32", "f32")) << name;
  EXPECT_THAT(imported("none"), testing::HasSubstr("mhlo.none"));
}

TEST(Chlo, Predicates) {
  for (const char* name : {"is_inf", "is_pos_inf", "is_neg_inf"})
    EXPECT_THAT(unary(name, "f32", "i1"), testing::HasSubstr("compare")) << name;
}

TEST(Chlo, ErfIsOneNode) {
  EXPECT_EQ(unary("erf", "f32", "f32"),
            "graph main(%0: f32[3] \"x\") {\n  %1 = erf(%0) : f32[3]\n  return %1\n}\n");
}

TEST(Chlo, SixteenBitFloatsAreComputedIn32) {
  EXPECT_THAT(unary("sinh", "bf16", "bf16"), testing::HasSubstr("%1 = convert(%0) : f32[3]"));
}

TEST(Chlo, BinaryFunctions) {
  for (const char* name : {"next_after", "zeta", "polygamma"})
    EXPECT_THAT(graph_text(function("(%x: tensor<3xf32>) -> tensor<3xf32>",
                                    std::string("%0 = chlo.") + name +
                                        " %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>\n"
                                        "return %0 : tensor<3xf32>")),
                testing::StartsWith("graph main"))
        << name;
  for (const char* dtype : {"i8", "ui8", "i32", "ui32", "i64", "ui64"}) {
    std::string type = std::string("tensor<3x") + dtype + ">";
    EXPECT_THAT(graph_text(function("(%x: " + type + ") -> " + type,
                                    "%0 = chlo.mulhi %x, %x : " + type + ", " + type + " -> " +
                                        type + "\nreturn %0 : " + type)),
                testing::StartsWith("graph main"))
        << dtype;
  }
}

TEST(Chlo, BroadcastingAlignsAtTheEnd) {
  EXPECT_THAT(
      graph_text(function("(%x: tensor<3xf32>, %y: tensor<2x1xf32>) -> tensor<2x3xf32>",
                          "%0 = chlo.broadcast_add %x, %y : (tensor<3xf32>, tensor<2x1xf32>) -> "
                          "tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>")),
      testing::AllOf(testing::HasSubstr("broadcast_in_dim(%0) {broadcast_dimensions = [1]}"),
                     testing::HasSubstr("broadcast_in_dim(%1) {broadcast_dimensions = [0, 1]}"),
                     testing::HasSubstr("add(%2, %3) : f32[2,3]")));
}

TEST(Chlo, OthersAreRefusedByName) {
  EXPECT_EQ(
      unary("sparse_dot", "f32", "f32"),
      "error: chlo.sparse_dot at t.mlir:2:6: The operation (chlo.sparse_dot) is not supported.");
}

}  // namespace
}  // namespace tuff::stablehlo
