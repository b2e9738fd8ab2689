// stablehlo.composite: the names that tuff knows, and others.
#include <fmt/format.h>

#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A composite of x, scale and shift, as many as there are operands, whose decomposition is -x.
std::string composite(const std::string& name, int operands, const std::string& attributes,
                      const std::string& type = "tensor<2x3x4xf32>") {
  const char* vectors[] = {"", ", %g", ", %g, %b"};
  std::string vector = "tensor<4xf32>", types = type;
  for (int i = 1; i < operands; ++i) types += ", " + vector;
  std::string more = operands > 2   ? fmt::format(", %g: {0}, %b: {0}", vector)
                     : operands > 1 ? fmt::format(", %g: {}", vector)
                                    : "";
  std::string text =
      function(fmt::format("(%x: {}{}) -> {}", type, more, type),
               fmt::format("%0 = stablehlo.composite \"{}\" %x{} {{composite_attributes = {{{}}}, "
                           "decomposition = @f}} : ({}) -> {}\nreturn %0 : {}",
                           name, vectors[operands - 1], attributes, types, type, type));
  return text + fmt::format(
                    "func.func private @f(%x: {}{}) -> {} {{\n%0 = stablehlo.negate %x : {}\n"
                    "return %0 : {}\n}}\n",
                    type, more, type, type, type);
}

struct NameCase {
  std::string name;
  int operands;
  std::string attributes;
  std::string fused;  // of the node; empty: the decomposition stands in its place
};

const NameCase kCases[] = {
    {"aten.gelu.default", 1, "approximate = \"none\"", "{by_erf = [0, 1], composite = \"gelu\"}"},
    {"aten.gelu.default", 1, "approximate = \"tanh\"", "{by_tanh = [0, 1], composite = \"gelu\"}"},
    {"aten.gelu.default", 2, "approximate = \"tanh\"", ""},
    {"tenstorrent.gelu", 1, "", "{by_erf = [0, 1], composite = \"gelu\"}"},
    {"tenstorrent.gelu_tanh", 1, "", "{by_tanh = [0, 1], composite = \"gelu\"}"},
    {"odml.softmax", 1, "axis = -1 : i64", "{columns = 4, composite = \"softmax\", input = 0}"},
    {"odml.softmax", 1, "axis = 2 : i64", "{columns = 4, composite = \"softmax\", input = 0}"},
    {"odml.softmax", 1, "axis = 1 : i64", ""},
    {"odml.rms_norm", 2, "epsilon = 0.5 : f32",
     "{columns = 4, composite = \"rms_norm\", epsilon = 0.5, input = 0, scale = [1, 0]}"},
    {"odml.rms_norm", 2, "", ""},
    {"tenstorrent.rms_norm", 1,
     "epsilon = 0.5 : f32, normalized_shape = dense<[3, 4]> : tensor<2xi64>",
     "{columns = 12, composite = \"rms_norm\", epsilon = 0.5, input = 0}"},
    {"tenstorrent.rms_norm", 2,
     "epsilon = 0.5 : f32, normalized_shape = dense<[3, 4]> : tensor<2xi64>", ""},
    {"tenstorrent.layer_norm", 3,
     "epsilon = 0.25 : f32, normalized_shape = dense<4> : tensor<1xi64>",
     "{columns = 4, composite = \"layer_norm\", epsilon = 0.25, input = 0, scale = [1, 0], "
     "shift = [2, 0]}"},
    {"tenstorrent.layer_norm", 3,
     "epsilon = 0.25 : f32, normalized_shape = dense<5> : tensor<1xi64>", ""},
    {"my.op", 1, "epsilon = 0.25 : f32", ""},
};

TEST(ImportComposite, KnownNamesAreRegionsWithAName) {
  for (const NameCase& c : kCases) {
    std::string text = graph_text(composite(c.name, c.operands, c.attributes));
    if (c.fused.empty()) {
      EXPECT_THAT(text, HasSubstr("negate(%0)")) << c.name;
      EXPECT_THAT(text, Not(HasSubstr("fused"))) << c.name;
    } else {
      EXPECT_THAT(text, HasSubstr(" " + c.fused + " : f32[2,3,4] graph")) << c.name;
      EXPECT_THAT(text, HasSubstr("    %" + std::to_string(c.operands) + " = negate(%0)"))
          << c.name;
    }
  }
}

TEST(ImportComposite, OfIntegersIsItsDecomposition) {
  EXPECT_THAT(graph_text(composite("tenstorrent.gelu", 1, "", "tensor<3xi32>")),
              Not(HasSubstr("fused")));
}

TEST(ImportComposite, WhatTheGraphHasAsAnOperation) {
  EXPECT_THAT(graph_text(composite("chlo.erf", 1, "")), HasSubstr("erf(%0)"));
}

// Only there do operands have values that sizes follow from.
TEST(ImportComposite, ADecompositionThatNeedsItsOperandsValuesStandsInItsPlace) {
  std::string text = function(
      "(%x: tensor<2x4xf32>) -> tensor<2x4xf32>",
      "%s = stablehlo.constant dense<4> : tensor<1xi32>\n"
      "%0 = stablehlo.composite \"odml.rms_norm\" %x, %s {composite_attributes = {epsilon = 0.5 : "
      "f32}, decomposition = @f} : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>\n"
      "return %0 : tensor<2x4xf32>");
  text +=
      "func.func private @f(%x: tensor<2x4xf32>, %s: tensor<1xi32>) -> tensor<2x4xf32> {\n"
      "%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<4xf32>\n"
      "%1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>\n"
      "%2 = stablehlo.add %x, %1 : tensor<2x4xf32>\nreturn %2 : tensor<2x4xf32>\n}\n";
  EXPECT_THAT(graph_text(text), HasSubstr("add(%0"));
}

}  // namespace
}  // namespace tuff::stablehlo
