// Modules with open sizes: refined by the arguments' shapes, refused where they cannot be.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

std::string refined(const std::string& text, const ArgumentShapes& shapes) {
  Result<Graph> graph = read_stablehlo(text, "t.mlir", shapes);
  if (!graph.ok()) return "error: " + graph.error().to_string();
  Status status = verify(*graph);
  return status.ok() ? print(*graph) : "invalid: " + status.error().to_string();
}

const std::string kDouble = function("(%x: tensor<?x4xf32>) -> tensor<?x4xf32>",
                                     "%0 = stablehlo.add %x, %x : tensor<?x4xf32>\n"
                                     "return %0 : tensor<?x4xf32>");

TEST(OpenShapes, FollowFromTheArguments) {
  EXPECT_EQ(refined(kDouble, {{"x", {7, 4}}}),
            graph_text(function("(%x: tensor<7x4xf32>) -> tensor<7x4xf32>",
                                "%0 = stablehlo.add %x, %x : tensor<7x4xf32>\n"
                                "return %0 : tensor<7x4xf32>")));
}

TEST(OpenShapes, ArgumentsGoByNumberToo) {
  EXPECT_EQ(refined(kDouble, {{"0", {7, 4}}}), refined(kDouble, {{"arg0", {7, 4}}}));
  EXPECT_EQ(refined(kDouble, {{"0", {7, 4}}}), refined(kDouble, {{"x", {7, 4}}}));
}

// A size that is computed out of another one.
TEST(OpenShapes, IntegersMadeOfSizesAreFolded) {
  std::string text = function(
      "(%x: tensor<?x4xf32>) -> tensor<?xf32>",
      "%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n"
      "%c = stablehlo.constant dense<4> : tensor<i32>\n"
      "%m = stablehlo.multiply %n, %c : tensor<i32>\n"
      "%s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
      "%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
      "return %0 : tensor<?xf32>");
  EXPECT_THAT(refined(text, {{"x", {3, 4}}}), testing::HasSubstr("reshape(%0) : f32[12]"));
}

TEST(OpenShapes, LoopsCarryThem) {
  std::string text = function(
      "(%x: tensor<?xf32>) -> tensor<?xf32>",
      "%c = stablehlo.constant dense<0> : tensor<i32>\n"
      "%0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<?xf32>\n"
      "cond {\n"
      "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
      "  %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  stablehlo.return %p : tensor<i1>\n"
      "} do {\n"
      "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %j = stablehlo.add %i, %one : tensor<i32>\n"
      "  %b = stablehlo.add %a, %a : tensor<?xf32>\n"
      "  stablehlo.return %j, %b : tensor<i32>, tensor<?xf32>\n"
      "}\n"
      "return %0#1 : tensor<?xf32>");
  EXPECT_THAT(refined(text, {{"x", {5}}}), testing::HasSubstr("add(%1, %1) : f32[5]"));
}

TEST(OpenShapes, MissingOrWrongOnesAreRefusedByName) {
  EXPECT_THAT(refined(kDouble, {}), testing::HasSubstr("tensor<?x4xf32>"));
  EXPECT_THAT(refined(kDouble, {}), testing::HasSubstr("shape (x=2x64)"));
  EXPECT_THAT(refined(kDouble, {{"x", {7, 5}}}), testing::HasSubstr("(7x5)"));
  EXPECT_THAT(refined(kDouble, {{"x", {7}}}), testing::HasSubstr("(7)"));
  EXPECT_THAT(refined(kDouble, {{"y", {7, 4}}}), testing::HasSubstr("no argument (y)"));
  EXPECT_THAT(refined(kDouble, {{"x", {INT64_MAX, 4}}}), testing::HasSubstr("error"));
}

TEST(OpenShapes, AssertionsOfAnExportAreChecked) {
  std::string text = function(
      "(%x: tensor<?xf32>) -> tensor<?xf32>",
      "%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
      "%c = stablehlo.constant dense<2> : tensor<i32>\n"
      "%p = stablehlo.compare GE, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.custom_call @shape_assertion(%p, %n) {api_version = 2 : i32, error_message = "
      "\"at least 2, found {0}\", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()\n"
      "return %x : tensor<?xf32>");
  EXPECT_THAT(refined(text, {{"x", {2}}}), testing::StartsWith("graph"));
  EXPECT_THAT(refined(text, {{"x", {1}}}), testing::HasSubstr("at least 2, found 1"));
}

TEST(OpenShapes, BoundedOnesAreRefused) {
  std::string type = "tensor<?xf32, #stablehlo.bounds<4>>";
  std::string text = function("(%x: " + type + ") -> " + type, "return %x : " + type);
  Error error = error_of(text);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, testing::HasSubstr("up to a bound"));
}

// A shape that is data of the run has no number.
TEST(OpenShapes, DataIsNoShape) {
  std::string text = function(
      "(%s: tensor<1xi32>) -> tensor<?xf32>",
      "%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "%0 = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> "
      "tensor<?xf32>\n"
      "return %0 : tensor<?xf32>");
  Error error = error_of(text);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, testing::HasSubstr("does not follow"));
}

}  // namespace
}  // namespace tuff::stablehlo
