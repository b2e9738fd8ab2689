// Regions become closed graphs.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

TEST(Regions, WhileCarriesWhatItCaptures) {
  EXPECT_EQ(graph_text(function("(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32>",
                                R"(%zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %acc = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.add %acc, %x : tensor<2xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<2xf32>
    }
    return %0#1 : tensor<2xf32>)")),
            R"(graph main(%0: i32[] "n", %1: f32[2] "x") {
  %2 = constant i32[] 0
  %3 = constant i32[] 1
  %4:4 = while(%2, %1, %0, %1) : i32[], f32[2], i32[], f32[2] graph while(%0: i32[], %1: f32[2], %2: i32[], %3: f32[2]) {
    %4 = compare(%0, %2) {compare_type = "SIGNED", comparison_direction = "LT"} : i1[]
    return %4
  } graph while(%0: i32[], %1: f32[2], %2: i32[], %3: f32[2]) {
    %4 = constant i32[] 1
    %5 = add(%1, %3) : f32[2]
    %6 = add(%0, %4) : i32[]
    return %6, %5, %2, %3
  }
  return %4#1
}
)");
}

TEST(Regions, BranchesTakeWhatTheyCapture) {
  EXPECT_EQ(graph_text(function("(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> tensor<f32>",
                                R"(%0 = "stablehlo.if"(%p) ({
      stablehlo.return %y : tensor<f32>
    }, {
      %n = stablehlo.negate %x : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>)")),
            R"(graph main(%0: i1[] "p", %1: f32[] "x", %2: f32[] "y") {
  %3 = if(%0, %2, %1) : f32[] graph if(%0: f32[], %1: f32[]) {
    return %0
  } graph if(%0: f32[], %1: f32[]) {
    %2 = negate(%1) : f32[]
    return %2
  }
  return %3
}
)");
}

std::string reduce_with(const std::string& captured) {
  return function(
      "(%a: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2xf32>",
      "%k = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "%0 = \"stablehlo.reduce\"(%a, %c) <{dimensions = array<i64: 1>}> ({\n"
      "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "%s = stablehlo.multiply %x, " +
          captured +
          " : tensor<f32>\n"
          "%t = stablehlo.add %s, %y : tensor<f32>\nstablehlo.return %t : tensor<f32>\n"
          "}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>");
}

TEST(Regions, BodiesCopyConstants) {
  EXPECT_THAT(graph_text(reduce_with("%k")), testing::HasSubstr("    %2 = constant f32[] 2\n"));
}

TEST(Regions, BodiesRefuseOtherCaptures) {
  Error error = error_of(reduce_with("%c"));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message,
            "The body of (stablehlo.reduce) uses a value from outside that is not a constant.");
}

TEST(Regions, TuplesAreCarriedFlat) {
  std::string text =
      graph_text(function("(%x: tensor<f32>) -> tensor<f32>",
                          R"(%t = stablehlo.tuple %x, %x : tuple<tensor<f32>, tensor<f32>>
    %0 = "stablehlo.while"(%t) ({
    ^bb0(%s: tuple<tensor<f32>, tensor<f32>>):
      %a = stablehlo.get_tuple_element %s[0] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
      %b = stablehlo.get_tuple_element %s[1] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
      %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%s: tuple<tensor<f32>, tensor<f32>>):
      stablehlo.return %s : tuple<tensor<f32>, tensor<f32>>
    }) : (tuple<tensor<f32>, tensor<f32>>) -> tuple<tensor<f32>, tensor<f32>>
    %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
    return %1 : tensor<f32>)"));
  EXPECT_THAT(text, testing::HasSubstr("%1:2 = while(%0, %0) : f32[], f32[]"));
  EXPECT_THAT(text, testing::HasSubstr("return %1#1"));
}

TEST(Regions, ScanIsAWhile) {
  std::string text = graph_text(
      function("(%x: tensor<4xi32>, %c: tensor<i32>) -> (tensor<4xi32>, tensor<i32>)",
               R"(%0:2 = chlo.scan(%x) inits (%c) dimension=0 attributes {is_reverse = true} {
    ^bb0(%input: tensor<i32>, %carry: tensor<i32>):
      %1 = stablehlo.add %input, %carry : tensor<i32>
      stablehlo.return %1, %1 : tensor<i32>, tensor<i32>
    } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
    return %0#0, %0#1 : tensor<4xi32>, tensor<i32>)"));
  EXPECT_THAT(text, testing::HasSubstr("while("));
  EXPECT_THAT(text, testing::HasSubstr("dynamic_update_slice"));
  EXPECT_THAT(text, testing::HasSubstr("return %5#2, %5#3"));
}

}  // namespace
}  // namespace tuff::stablehlo
