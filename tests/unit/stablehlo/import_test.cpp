// Module to Graph: calls, names, donation, identities, dynamic_* with known shapes.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

TEST(Import, CallsAreInlined) {
  EXPECT_EQ(graph_text(R"(module @m {
  func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})"),
            R"(graph main(%0: f32[2] "a") {
  %1 = add(%0, %0) : f32[2]
  %2 = add(%1, %1) : f32[2]
  return %2
}
)");
}

TEST(Import, RecursionIsRefused) {
  Error error = error_of(
      "func.func @main() {\ncall @f() : () -> ()\nreturn\n}\n"
      "func.func private @f() {\ncall @main() : () -> ()\nreturn\n}\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "The function (@main) calls itself.");
}

// Tokens are nothing but the order, which the program has anyway. Callers pass an empty tensor for
// one.
TEST(Import, Callbacks) {
  EXPECT_EQ(graph_text(R"(
func.func @main(%t: !stablehlo.token, %x: tensor<2xf32>) -> (!stablehlo.token, tensor<f32>) {
  %0:2 = stablehlo.custom_call @tuff_callback(%x) {api_version = 4 : i32, backend_config =
      {callback = 7 : i64}, has_side_effect = true} : (tensor<2xf32>) -> (tensor<f32>, tensor<i32>)
  return %t, %0#0 : !stablehlo.token, tensor<f32>
}
)"),
            R"(graph main(%0: i1[0] "t", %1: f32[2] "x") {
  %2:2 = host_call(%1) {callback = 7, function = "callback", has_side_effect = 1} : f32[], i32[]
  %3 = constant i1[0] {}
  return %3, %2
}
)");
  Error error = error_of(
      "func.func @main() {\nstablehlo.custom_call @tuff_callback() : () -> ()\nreturn\n}\n");
  EXPECT_EQ(error.message, "The callback has no number.");
}

TEST(Import, FunctionsOfLapack) {
  EXPECT_EQ(graph_text(R"(
func.func @main(%a: tensor<4x3x3xf64>) -> tensor<4x3xf64> {
  %0:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config =
      {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>],
      result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>,
      dense<0> : tensor<1xindex>]}
      : (tensor<4x3x3xf64>) -> (tensor<4x3x3xf64>, tensor<4x3xf64>, tensor<4xi32>)
  return %0#1 : tensor<4x3xf64>
}
)"),
            R"(graph main(%0: f64[4,3,3] "a") {
  %1:3 = host_call(%0) {function = "syevd", mode = "V", uplo = "L"} : f64[4,3,3], f64[4,3], i32[4]
  return %1#1
}
)");
}

// The parts of a complex matrix are one operand and one result.
TEST(Import, FunctionsOfLapackOfComplexMatrices) {
  std::string text = graph_text(R"(
func.func @main(%a: tensor<3x3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0:4 = stablehlo.custom_call @lapack_cgeev_ffi(%a) {mhlo.backend_config =
      {compute_left = 78 : ui8, compute_right = 86 : ui8}}
      : (tensor<3x3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3x3xcomplex<f32>>,
         tensor<3x3xcomplex<f32>>, tensor<i32>)
  return %0#0 : tensor<3xcomplex<f32>>
}
)");
  EXPECT_NE(text.find(R"({complex = 1, function = "geev", mode = "NV"})"
                      " : f32[3,2], f32[3,3,2], f32[3,3,2], i32[]"),
            std::string::npos)
      << text;
}

TEST(Import, FunctionsOfLapackAreChecked) {
  auto error = [](const std::string& target, const std::string& types) {
    return error_of(
               "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n%0:2 = "
               "stablehlo.custom_call @" +
               target + "(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, " + types +
               ")\nreturn %0#0 : tensor<2x3xf32>\n}\n")
        .message;
  };
  EXPECT_EQ(error("lapack_sabacus_ffi", "tensor<2xf32>"),
            "The custom call's target (lapack_sabacus_ffi) is not supported.");
  EXPECT_EQ(error("lapack_sgehrd_ffi", "tensor<2xf32>"),
            "The operand must be square matrices, found (f32[2,3]).");
  EXPECT_THAT(error("lapack_sgeqrf_ffi", "tensor<3xf32>"),
              testing::HasSubstr("Result (1) has the type (2xf32)"));
}

// Forty doublings would be 2^40 operations.
TEST(Import, ExponentialInliningIsRefused) {
  std::string text =
      "func.func @main(%a: tensor<f32>) {\n%0 = call @f0(%a) : (tensor<f32>) -> "
      "tensor<f32>\nreturn\n}\n";
  for (int i = 0; i < 40; ++i) {
    std::string next =
        "%N = call @f" + std::to_string(i + 1) + "(%x) : (tensor<f32>) -> tensor<f32>\n";
    std::string twice = next + next;
    twice[1] = '0';
    twice[next.size() + 1] = '1';
    text += "func.func private @f" + std::to_string(i) + "(%x: tensor<f32>) -> tensor<f32> {\n" +
            (i == 39 ? "" : twice) + "return %x : tensor<f32>\n}\n";
  }
  Error error = error_of(text);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, testing::HasSubstr("once its calls are inlined"));
}

TEST(Import, DonationsAndResultNames) {
  auto graph = read_stablehlo(
      function("(%arg0: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<2xf32> "
               "{jax.buffer_donor = true})"
               " -> (tensor<2xf32> {jax.result_info = \"result['loss']\"}, tensor<2xf32> "
               "{jax.result_info = "
               "\"result[1]\"}, tensor<2xf32> {jax.result_info = \"result[0]['w']\"})",
               "return %arg0, %arg1, %arg0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>"),
      "t.mlir");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_THAT(graph->donations, testing::ElementsAre(testing::Pair(0, 1)));
  EXPECT_THAT(graph->output_names(), testing::ElementsAre("loss", "out1", "[0]['w']"));
}

TEST(Import, DonationsMustFit) {
  auto donate = [](const std::string& output) {
    return error_of(function("(%arg0: tensor<2xf32> {tf.aliasing_output = " + output +
                                 " : i32}) -> tensor<2xi1>",
                             "%0 = stablehlo.is_finite %arg0 : (tensor<2xf32>) -> tensor<2xi1>\n"
                             "return %0 : tensor<2xi1>"))
        .message;
  };
  EXPECT_EQ(donate("0"), "Argument (0) is donated to output (0), which has another type.");
  EXPECT_EQ(donate("1"), "Argument (0) is donated to output (1), which does not exist.");
}

TEST(Import, TheOnlyPublicFunctionIsMain) {
  EXPECT_THAT(graph_text("func.func private @g() {\nreturn\n}\nfunc.func @f() {\nreturn\n}\n"),
              testing::StartsWith("graph f("));
  EXPECT_THAT(error_of("func.func @g() {\nreturn\n}\nfunc.func @f() {\nreturn\n}\n").message,
              testing::HasSubstr("(2) public functions"));
}

TEST(Import, SplatsBecomeBroadcastScalars) {
  EXPECT_EQ(graph_text(function("() -> (tensor<4xf32>, tensor<100xf32>)",
                                "%0 = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
                                "%1 = stablehlo.constant dense<2.0> : tensor<100xf32>\n"
                                "return %0, %1 : tensor<4xf32>, tensor<100xf32>")),
            R"(graph main() {
  %0 = constant f32[4] 1
  %1 = constant f32[] 2
  %2 = broadcast_in_dim(%1) {broadcast_dimensions = []} : f32[100]
  return %0, %2
}
)");
}

TEST(Import, DotIsDotGeneral) {
  EXPECT_THAT(graph_text(function(
                  "(%a: tensor<3xf32>, %b: tensor<3x4xf32>) -> tensor<4xf32>",
                  "%0 = stablehlo.dot %a, %b, precision = [DEFAULT, DEFAULT] : (tensor<3xf32>, "
                  "tensor<3x4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>")),
              testing::HasSubstr("%2 = dot_general(%0, %1) {lhs_batching_dimensions = [], "
                                 "lhs_contracting_dimensions = [0]"));
}

TEST(Import, DynamicOpsWithKnownShapes) {
  std::string text =
      graph_text(function("(%a: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>, "
                          "tensor<2x3xi32>, tensor<2xf32>, tensor<i32>)",
                          R"(%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
    %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<4xf32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %three = stablehlo.constant dense<3> : tensor<1xi32>
    %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
    %1 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %2 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<2x3xi32>
    %3 = stablehlo.real_dynamic_slice %a, %one, %three, %one :
      (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
    return %0, %1, %2, %3, %n : tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<i32>)"));
  EXPECT_THAT(text, testing::HasSubstr("reshape(%0) : f32[2,2]"));
  EXPECT_THAT(text,
              testing::HasSubstr("broadcast_in_dim(%0) {broadcast_dimensions = [1]} : f32[2,4]"));
  EXPECT_THAT(text, testing::HasSubstr("iota() {iota_dimension = 1} : i32[2,3]"));
  EXPECT_THAT(text, testing::HasSubstr(
                        "slice(%0) {limit_indices = [3], start_indices = [1], strides = [1]}"));
  EXPECT_THAT(text, testing::HasSubstr("constant i32[] 4"));
}

TEST(Import, CollectivesOfOneProcessAreIdentities) {
  auto reduce = [](const std::string& groups) {
    return graph_text(
        function("(%a: tensor<2xf32>) -> tensor<2xf32>",
                 "%0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = " + groups + R"(}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>)"));
  };
  EXPECT_THAT(reduce("dense<0> : tensor<1x1xi64>"), testing::HasSubstr("return %0"));
  EXPECT_THAT(reduce("dense<[[0, 1]]> : tensor<1x2xi64>"), testing::HasSubstr("several processes"));
}

TEST(Import, SinksOfUnusedValuesDisappear) {
  EXPECT_EQ(graph_text(function(
                "(%arg0: tensor<2xf32>) -> tensor<2xf32>",
                "stablehlo.custom_call @dce_sink(%arg0) {has_side_effect = true} : (tensor<2xf32>) "
                "-> ()\nreturn %arg0 : tensor<2xf32>")),
            "graph main(%0: f32[2]) {\n  return %0\n}\n");
}

TEST(Import, BitsOfNumbers) {
  EXPECT_THAT(
      graph_text(function("(%a: tensor<2xf32>) -> tensor<2x32xi1>",
                          "%0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x32xi1>\n"
                          "return %0 : tensor<2x32xi1>")),
      testing::HasSubstr("shift_right_logical"));
  EXPECT_THAT(
      graph_text(function("(%a: tensor<2x8xi1>) -> tensor<2xi8>",
                          "%0 = stablehlo.bitcast_convert %a : (tensor<2x8xi1>) -> tensor<2xi8>\n"
                          "return %0 : tensor<2xi8>")),
      testing::HasSubstr("applies or"));
}

}  // namespace
}  // namespace tuff::stablehlo
