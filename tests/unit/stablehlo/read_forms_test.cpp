// Each pretty form reads as its generic form does.
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

struct Form {
  const char* name;
  const char* signature;
  const char* pretty;
  const char* generic;
};

class Forms : public testing::TestWithParam<Form> {};

TEST_P(Forms, PrettyAndGenericAgree) {
  const Form& form = GetParam();
  std::string pretty = graph_text(function(form.signature, form.pretty));
  EXPECT_EQ(pretty, graph_text(function(form.signature, form.generic)));
  EXPECT_THAT(pretty, testing::StartsWith("graph main")) << pretty;
}

constexpr Form kForms[] = {
    {"add", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     "%0 = stablehlo.add %a, %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>",
     R"(%0 = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        "func.return"(%0) : (tensor<2xf32>) -> ())"},
    {"select", "(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32>",
     "%0 = stablehlo.select %p, %a, %a : tensor<i1>, tensor<2xf32>\nreturn %0 : tensor<2xf32>",
     R"(%0 = "stablehlo.select"(%p, %a, %a) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>)"},
    {"compare", "(%a: tensor<2xi32>) -> tensor<2xi1>",
     "%0 = stablehlo.compare  LT, %a, %a,  SIGNED : (tensor<2xi32>, tensor<2xi32>) -> "
     "tensor<2xi1>\n"
     "return %0 : tensor<2xi1>",
     R"(%0 = "stablehlo.compare"(%a, %a) <{compare_type = #stablehlo<comparison_type SIGNED>,
        comparison_direction = #stablehlo<comparison_direction LT>}> :
        (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
        return %0 : tensor<2xi1>)"},
    {"slice", "(%a: tensor<4x6xf32>) -> tensor<2x2xf32>",
     "%0 = stablehlo.slice %a [1:3, 0:6:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>\n"
     "return %0 : tensor<2x2xf32>",
     R"(%0 = "stablehlo.slice"(%a) <{limit_indices = array<i64: 3, 6>, start_indices = array<i64: 1, 0>,
        strides = array<i64: 1, 3>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
        return %0 : tensor<2x2xf32>)"},
    {"pad", "(%a: tensor<2xf32>, %c: tensor<f32>) -> tensor<6xf32>",
     "%0 = stablehlo.pad %a, %c, low = [-1], high = [6], interior = [0] : "
     "(tensor<2xf32>, tensor<f32>) -> tensor<7xf32>\n"
     "%1 = stablehlo.slice %0 [0:6] : (tensor<7xf32>) -> tensor<6xf32>\nreturn %1 : tensor<6xf32>",
     R"(%0 = "stablehlo.pad"(%a, %c) {edge_padding_low = dense<-1> : tensor<1xi64>,
        edge_padding_high = dense<[6]> : tensor<1xi64>, interior_padding = array<i64: 0>} :
        (tensor<2xf32>, tensor<f32>) -> tensor<7xf32>
        %1 = stablehlo.slice %0 [0:6] : (tensor<7xf32>) -> tensor<6xf32>
        return %1 : tensor<6xf32>)"},
    {"dot_general", "(%a: tensor<3x2x4xf32>, %b: tensor<3x4x5xf32>) -> tensor<3x2x5xf32>",
     "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], "
     "precision = [HIGHEST, DEFAULT] : (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> "
     "tensor<3x2x5xf32>\n"
     "return %0 : tensor<3x2x5xf32>",
     R"(%0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<
        lhs_batching_dimensions = [0], rhs_batching_dimensions = [0],
        lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>,
        precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}> :
        (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> tensor<3x2x5xf32>
        return %0 : tensor<3x2x5xf32>)"},
    {"convolution", "(%a: tensor<1x8x8x2xf32>, %b: tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32>",
     "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
     "window = {stride = [2, 2], pad = [[0, 1], [0, 1]], rhs_dilate = [1, 1]} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32>\nreturn %0 : "
     "tensor<1x4x4x4xf32>",
     R"(%0 = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64,
        dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
        padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, window_strides = array<i64: 2, 2>}> :
        (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32>
        return %0 : tensor<1x4x4x4xf32>)"},
    {"reduce", "(%a: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2xf32>",
     "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>",
     R"(%0 = "stablehlo.reduce"(%a, %c) <{dimensions = array<i64: 1>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>)"},
    {"reducer", "(%a: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2xf32>",
     R"(%0 = stablehlo.reduce(%a init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
        reducer(%x: tensor<f32>, %y: tensor<f32>) {
          %s = stablehlo.maximum %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }
        return %0 : tensor<2xf32>)",
     "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.maximum across dimensions = [1] : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"},
    {"while", "(%a: tensor<i32>) -> tensor<i32>",
     R"(%n = stablehlo.constant dense<3> : tensor<i32>
        %0 = stablehlo.while(%i = %a) : tensor<i32>
        cond {
          %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %s = stablehlo.add %i, %n : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }
        return %0 : tensor<i32>)",
     R"(%n = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
        %0 = "stablehlo.while"(%a) ({
        ^bb0(%i: tensor<i32>):
          %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        }, {
        ^bb0(%i: tensor<i32>):
          %s = stablehlo.add %i, %n : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }) : (tensor<i32>) -> tensor<i32>
        return %0 : tensor<i32>)"},
    {"reduce_precision", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     "%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2xf32>\nreturn %0 : "
     "tensor<2xf32>",
     R"(%0 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> :
        (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>)"},
    {"top_k", "(%a: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)",
     "%v, %i = chlo.top_k(%a, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)\n"
     "return %v, %i : tensor<2xf32>, tensor<2xi32>",
     R"(%0:2 = "chlo.top_k"(%a) <{k = 2 : i64}> : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)
        return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>)"},
    {"dynamic_slice", "(%a: tensor<4x4xf32>, %i: tensor<i32>) -> tensor<1x2xf32>",
     "%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : "
     "(tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>\nreturn %0 : tensor<1x2xf32>",
     R"(%0 = "stablehlo.dynamic_slice"(%a, %i, %i) <{slice_sizes = array<i64: 1, 2>}> :
        (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
        return %0 : tensor<1x2xf32>)"},
    {"rng_bit_generator", "(%s: tensor<2xui64>) -> tensor<3xui32>",
     "%o, %b = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> "
     "(tensor<2xui64>, tensor<3xui32>)\nreturn %b : tensor<3xui32>",
     R"(%o:2 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> :
        (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
        return %o#1 : tensor<3xui32>)"},
    {"barrier", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     "%0:2 = stablehlo.optimization_barrier %a, %a : tensor<2xf32>, tensor<2xf32>\nreturn %0#1 : "
     "tensor<2xf32>",
     R"(%0:2 = "stablehlo.optimization_barrier"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) ->
        (tensor<2xf32>, tensor<2xf32>)
        return %0#1 : tensor<2xf32>)"},
    {"tuple", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     "%0 = stablehlo.tuple %a, %a : tuple<tensor<2xf32>, tensor<2xf32>>\n"
     "%1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> "
     "tensor<2xf32>\n"
     "return %1 : tensor<2xf32>",
     "return %a : tensor<2xf32>"},
    {"accuracy", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     "%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode "
     "= "
     "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>\nreturn %0 : tensor<2xf32>",
     "%0 = stablehlo.exponential %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>"},
    {"identities", "(%a: tensor<2xf32>) -> tensor<2xf32>",
     R"(%0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<2xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{replicated}"} : (tensor<2xf32>) -> tensor<2xf32>
        %2 = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tensor<2xf32>
        return %2 : tensor<2xf32>)",
     "return %a : tensor<2xf32>"},
};

INSTANTIATE_TEST_SUITE_P(All, Forms, testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ReadForms, GenericModulesAndFunctions) {
  EXPECT_EQ(graph_text(R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2xf32>):
    "func.return"(%arg0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32} : () -> ())"),
            graph_text(function("(%arg0: tensor<2xf32>) -> tensor<2xf32>",
                                "return %arg0 : tensor<2xf32>")));
}

TEST(ReadForms, AliasesOfTypesAndAttributes) {
  EXPECT_THAT(
      graph_text(
          "!t = tensor<2xf32>\n#d = array<i64: 0>\nmodule @m {\nsdy.mesh @mesh = <[\"x\"=2]>\n" +
          function(
              "(%a: !t) -> !t",
              "%0 = \"stablehlo.reverse\"(%a) <{dimensions = #d}> : (!t) -> !t\nreturn %0 : !t") +
          "}"),
      testing::HasSubstr("reverse(%0) {dimensions = [0]} : f32[2]"));
}

TEST(ReadForms, BytecodeIsRecognised) {
  Error error = error_of("ML\xEFR\x0d rest");
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_THAT(error.where, testing::HasSubstr("byte "));
}

}  // namespace
}  // namespace tuff::stablehlo
