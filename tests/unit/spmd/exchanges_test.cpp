// What devices exchange, by kind and type: no more than they have to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontend/stablehlo/read.h"
#include "tests/unit/spmd/programs.h"

namespace tuff {
namespace {

// What is exchanged by two devices.
struct Exchanged {
  const char* name;
  const char* exchanges;
  const char* function;
};

class Exchanges : public ::testing::TestWithParam<Exchanged> {};

TEST_P(Exchanges, AreTheFewestBytes) {
  SegmentedProgram program;
  ASSERT_NO_FATAL_FAILURE(run_and_compare(read_spread(GetParam().function, 2), &program));
  EXPECT_EQ(exchanges_of(program), GetParam().exchanges);
}

// Words over one axis, the tokens that are scattered into them over the other, which the result
// has along its second dimension.
TEST(ExchangesOfTwoAxes, AScatterIsSummedInParts) {
  SegmentedProgram program;
  ASSERT_NO_FATAL_FAILURE(
      run_and_compare(read_whole_program(
                          R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %u: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %w: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<16x6xf32>
  %0 = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x6xf32>, tensor<4x1xi32>, tensor<4x6xf32>) -> tensor<16x6xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<16x6xf32>
  return %1 : tensor<16x6xf32> } })",
                          "test.mlir"),
                      &program));
  EXPECT_EQ(exchanges_of(program), "reduce_scatter 8x6xf32");
}

const Exchanged kExchanged[] = {
    {"weights_smaller_than_the_batch", "all_gather 2x4xf32",
     R"(func.func @main(%x: tensor<64x4xf32> {X2}, %w: tensor<4x4xf32> {X2}) -> tensor<64x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x4xf32>) -> tensor<64x4xf32>
  return %0 : tensor<64x4xf32> })"},
    {"weights_larger_than_the_batch", "all_gather 32x8xf32",
     R"(func.func @main(%x: tensor<2x64xf32> {X2}, %w: tensor<64x8xf32> {X2}) -> tensor<2x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x64xf32>, tensor<64x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32> })"},
    {"weights_that_are_gathered_though_the_result_is_large", "all_gather 8x64xf32",
     R"(func.func @main(%x: tensor<64x16xf32> {X2}, %w: tensor<16x64xf32> {X2}) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32> })"},
    {"a_bias_that_is_spread", "all_gather 8xf32",
     R"(func.func @main(%x: tensor<4x16xf32> {X2}, %b: tensor<16xf32> {X1}) -> tensor<4x16xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<4x16xf32>
  %2 = stablehlo.add %1, %x : tensor<4x16xf32>
  return %2 : tensor<4x16xf32> })"},
    {"a_step_of_spread_weights", "reduce_scatter 4x6xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %g: tensor<8x6xf32> {X2}, %w: tensor<4x6xf32> {X2}, %m: tensor<4x6xf32> {X2}) -> (tensor<4x6xf32> {X2}, tensor<4x6xf32> {X2}) {
  %rate = stablehlo.constant dense<0.125> : tensor<4x6xf32>
  %0 = stablehlo.dot_general %g, %x, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.multiply %1, %rate : tensor<4x6xf32>
  %3 = stablehlo.multiply %1, %1 : tensor<4x6xf32>
  %4 = stablehlo.add %m, %3 : tensor<4x6xf32>
  %5 = stablehlo.subtract %w, %2 : tensor<4x6xf32>
  return %4, %5 : tensor<4x6xf32>, tensor<4x6xf32> })"},
    {"weights_that_are_used_twice", "all_gather 2x4xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %w: tensor<4x4xf32> {X2}) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32> })"},
    {"one_gradient_of_two_uses", "all_reduce 4x6xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %g: tensor<8x6xf32> {X2}) -> tensor<4x6xf32> {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %s = stablehlo.sine %g : tensor<8x6xf32>
  %1 = stablehlo.dot_general %s, %x, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x6xf32>
  return %3 : tensor<4x6xf32> })"},
    {"one_gradient_of_two_uses_in_parts", "reduce_scatter 4x6xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %g: tensor<8x6xf32> {X2}) -> (tensor<4x6xf32> {X2}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %s = stablehlo.sine %g : tensor<8x6xf32>
  %1 = stablehlo.dot_general %s, %x, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x6xf32>
  return %3 : tensor<4x6xf32> })"},
    {"a_gradient_that_is_wanted_whole_besides", "all_reduce 4x6xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %g: tensor<8x6xf32> {X2}, %w: tensor<4x6xf32> {X2}) -> (tensor<4x6xf32> {X2}, tensor<4x6xf32>) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<4x6xf32>
  return %1, %0 : tensor<4x6xf32>, tensor<4x6xf32> })"},
    {"a_sort_along_what_is_spread", "all_to_all 4x4xf32, all_to_all 8x2xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}) -> tensor<8x4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32> })"},
    {"a_sort_whose_results_stay_where_they_are_made", "all_to_all 4x4xf32",
     R"(func.func @main(%x: tensor<8x4xf32> {X2}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32> })"},
    {"largest_along_what_is_spread", "all_gather 1x3xf32, all_gather 1x3xi32",
     R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> (tensor<3xf32>, tensor<3xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<8x3xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %low), (%i init: %z) across dimensions = [0] : (tensor<8x3xf32>, tensor<8x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
    %gt = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %first = stablehlo.or %gt, %tie : tensor<i1>
    %v = stablehlo.select %gt, %a, %b : tensor<i1>, tensor<f32>
    %n = stablehlo.select %first, %p, %q : tensor<i1>, tensor<i32>
    stablehlo.return %v, %n : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32> })"},
    {"top_k_of_what_is_spread", "all_gather 2x2xf32, all_gather 2x2xi32",
     R"(func.func @main(%x: tensor<2x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  %0:2 = chlo.top_k(%x, k = 2) : tensor<2x64xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi32> })"},
    {"a_convolution_in_space", "collective_permute 1x1x3x1xf32, collective_permute 1x1x3x1xf32",
     R"(func.func @main(%x: tensor<1x8x3x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %k: tensor<3x3x1x2xf32>) -> tensor<1x8x3x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3x1xf32>, tensor<3x3x1x2xf32>) -> tensor<1x8x3x2xf32>
  return %0 : tensor<1x8x3x2xf32> })"},
    {"a_view_that_does_not_divide", "all_reduce 6xf32",
     R"(func.func @main(%x: tensor<8x2xf32> {X2}, %g: tensor<8x3xf32> {X2}, %w: tensor<3x2xf32>) -> (tensor<6xf32> {X1}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32> })"},
};

INSTANTIATE_TEST_SUITE_P(All, Exchanges, ::testing::ValuesIn(kExchanged),
                         [](const auto& info) { return info.param.name; });

TEST(ExchangesOf, MarksAndProgramsOfEachDeviceAreReadAsText) {
  auto whole = read_spread(R"(func.func @main(%x: tensor<8x4xf32> {X2}) -> tensor<8x4xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%part: tensor<8x2xf32>) {
    %2 = "stablehlo.collective_permute"(%part) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
    sdy.return %2 : tensor<8x2xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32> })",
                           2);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  auto part = partition(*whole);
  ASSERT_TRUE(part.ok()) << part.error().to_string();
  EXPECT_EQ(exchanges_of(cut_into_segments(part->graph)),
            "all_to_all 4x4xf32, collective_permute 8x2xf32");
}

// The rows stay spread over y, in the body as well.
TEST(ExchangesOf, ProgramsOfEachDeviceAlongOneAxisArePartitionedAlongTheOther) {
  auto whole = read_whole_program(R"(module @m attributes {mhlo.num_partitions = 4 : i32} {
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{?}, {"x", ?}]>, <@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={"x"} (%pa: tensor<8x2xf32>, %pb: tensor<2x6xf32>) {
    %1 = stablehlo.dot_general %pa, %pb, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    sdy.return %2 : tensor<8x6xf32>
  } : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32> }
})",
                                  "test.mlir");
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  auto part = partition(*whole);
  ASSERT_TRUE(part.ok()) << part.error().to_string();
  EXPECT_EQ(exchanges_of(cut_into_segments(part->graph)), "all_reduce 4x6xf32");
  EXPECT_EQ(part->outputs[0].axes, (std::vector<std::vector<int64_t>>{{1}, {}}));
}

// What is exchanged where devices have shares of a sum, which are to be summed, kept, or made.
TEST(ExchangesOf, SharesOfSumsAreExchangedWhereASumIsWanted) {
  struct {
    const char *attributes, *body, *exchanges;
  } const cases[] = {
      {"%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>}) -> "
       "tensor<8x4xf32>",
       "%0 = stablehlo.negate %x : tensor<8x4xf32>\nreturn %0 : tensor<8x4xf32>",
       "all_reduce 8x4xf32"},
      {"%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>}) -> "
       "(tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>})",
       "return %x : tensor<8x4xf32>", ""},
      {"%x: tensor<8x4xf32> {X2}, %y: tensor<8x4xf32> {X2}) -> (tensor<4x4xf32> {sdy.sharding = "
       "#sdy.sharding<@mesh, [{}, {}], unreduced={\"x\"}>})",
       "%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, "
       "tensor<8x4xf32>) -> tensor<4x4xf32>\nreturn %0 : tensor<4x4xf32>",
       ""},
      {"%x: tensor<8x4xf32> {X2}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
       "{}], unreduced={\"x\"}>})",
       "return %x : tensor<8x4xf32>", ""},
  };
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.attributes);
    auto whole =
        read_spread(fmt::format("func.func @main({} {{\n{} }}", entry.attributes, entry.body), 2);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    auto part = partition(*whole);
    ASSERT_TRUE(part.ok()) << part.error().to_string();
    EXPECT_EQ(exchanges_of(cut_into_segments(part->graph)), entry.exchanges);
  }
}

}  // namespace
}  // namespace tuff
