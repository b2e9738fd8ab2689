#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

// The location kept for an operation with this loc(...), aliases defined after it.
std::string location(const std::string& loc, const std::string& aliases = "") {
  auto graph = read_stablehlo(
      function("(%a: tensor<f32>) -> tensor<f32>",
               "%0 = stablehlo.abs %a : tensor<f32> " + loc + "\nreturn %0 : tensor<f32>") +
          aliases,
      "dir/t.mlir");
  return graph.ok() ? graph->nodes().back().loc : graph.error().to_string();
}

TEST(Locations, FilesAndNames) {
  EXPECT_EQ(location("loc(\"a/b/model.py\":12:3)"), "model.py:12:3");
  EXPECT_EQ(location("loc(\"model.py\":12:3 to :9)"), "model.py:12:3");
  EXPECT_EQ(location("loc(\"relu\")"), "relu");
  EXPECT_EQ(location("loc(\"relu\"(\"model.py\":1:2))"), "model.py:1:2");
  EXPECT_EQ(location("loc(callsite(\"f.py\":1:2 at \"g.py\":3:4))"), "f.py:1:2");
  EXPECT_EQ(location("loc(fused<\"x\">[unknown, \"f.py\":1:2, \"g.py\":3:4])"), "f.py:1:2");
}

TEST(Locations, NamedScopesFollowThePosition) {
  EXPECT_EQ(location("loc(\"jit(f)/decoder/attention/add\"(\"model.py\":1:2))"),
            "model.py:1:2 in decoder/attention");
  EXPECT_EQ(location("loc(#loc2)",
                     "#loc1 = loc(callsite(\"f\"(\"f.py\":5:6) at \"g.py\":1:1))\n"
                     "#loc2 = loc(\"jit(f)/transpose(jvp(mlp))/mul\"(#loc1))\n"),
            "f.py:5:6 in transpose(jvp(mlp))");
  EXPECT_EQ(location("loc(\"jit(f)/jit(gelu)/mul\"(\"model.py\":1:2))"), "model.py:1:2");
  EXPECT_EQ(location("loc(\"/encoder/MatMul\")"), "/encoder/MatMul");
}

TEST(Locations, WithoutOneThePlaceInTheTextIsKept) {
  EXPECT_EQ(location(""), "t.mlir:2:6");
  EXPECT_EQ(location("loc(unknown)"), "t.mlir:2:6");
}

TEST(Locations, AliasesAreFoundAfterTheirUse) {
  EXPECT_EQ(location("loc(#loc2)", "#loc1 = loc(\"f.py\":5:6)\n#loc2 = loc(\"add\"(#loc1))\n"),
            "f.py:5:6");
  EXPECT_EQ(location("loc(#loc1)", "#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)\n"), "t.mlir:2:6");
}

TEST(Locations, ArgumentsAreNamedByTheirs) {
  auto graph = read_stablehlo(function("(%arg0: tensor<f32> loc(\"params['w']\"), %arg1: "
                                       "tensor<f32> loc(#loc1), %x: tensor<f32>, "
                                       "%arg3: tensor<f32>)",
                                       "return") +
                                  "#loc1 = loc(\"y\")\n",
                              "t.mlir");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(graph->parameter_name(0), "params['w']");
  EXPECT_EQ(graph->parameter_name(1), "y");
  EXPECT_EQ(graph->parameter_name(2), "x");
  EXPECT_EQ(graph->parameter_name(3), "arg3");
}

}  // namespace
}  // namespace tuff::stablehlo
