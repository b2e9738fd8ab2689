// Partitioned programs compute what the whole ones do, with as many exchanges as they need.
#include "ir/spmd/partition.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/spmd/programs.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  int64_t collectives;
  const char* function;
};

class Partition : public ::testing::TestWithParam<Case> {};

TEST_P(Partition, ComputesWhatTheWholeDoes) {
  for (int64_t devices : {2, 4}) {
    SCOPED_TRACE(fmt::format("{} devices", devices));
    SegmentedProgram program;
    ASSERT_NO_FATAL_FAILURE(run_and_compare(read_spread(GetParam().function, devices), &program));
    EXPECT_EQ(program.num_collectives(), GetParam().collectives);
  }
}

const Case kCases[] = {
    {"dense", 0,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}, %w: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<8x5xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<5xf32>) -> tensor<8x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x5xf32>
  %3 = stablehlo.tanh %2 : tensor<8x5xf32>
  return %3 : tensor<8x5xf32> })"},
    {"gradient_of_weights", 1,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}, %g: tensor<8x5xf32> {X2}) -> tensor<5x3xf32> {
  %0 = stablehlo.dot_general %g, %x, contracting_dims = [0] x [0] : (tensor<8x5xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32> })"},
    {"weights_that_are_spread", 1,
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %w: tensor<4x4xf32> {X2}) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32> })"},
    {"sums_along_both_dimensions", 1,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> (tensor<3xf32>, tensor<8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1 : tensor<3xf32>, tensor<8xf32> })"},
    {"an_initial_value_counts_once", 1,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> tensor<3xf32> {
  %z = stablehlo.constant dense<1.5> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32> })"},
    {"maximum_over_everything", 1, R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> tensor<f32> {
  %z = stablehlo.constant dense<0.25> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32> })"},
    {"softmax_of_a_spread_dimension", 2,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> tensor<8x3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
  %d = stablehlo.subtract %x, %mb : tensor<8x3xf32>
  %e = stablehlo.exponential %d : tensor<8x3xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
  %r = stablehlo.divide %e, %sb : tensor<8x3xf32>
  return %r : tensor<8x3xf32> })"},
    {"heads_split_off_and_merged", 0,
     R"(func.func @main(%x: tensor<8x2x6xf32> {X3}) -> tensor<16x6xf32> {
  %0 = stablehlo.reshape %x : (tensor<8x2x6xf32>) -> tensor<8x2x3x2xf32>
  %1 = stablehlo.transpose %0, dims = [2, 0, 1, 3] : (tensor<8x2x3x2xf32>) -> tensor<3x8x2x2xf32>
  %2 = stablehlo.transpose %1, dims = [1, 2, 0, 3] : (tensor<3x8x2x2xf32>) -> tensor<8x2x3x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<8x2x3x2xf32>) -> tensor<16x6xf32>
  return %3 : tensor<16x6xf32> })"},
    {"a_merge_behind_another_dimension", 1,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> tensor<24xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x8xf32>) -> tensor<24xf32>
  return %1 : tensor<24xf32> })"},
    {"counts_and_constants", 0, R"(func.func @main(%x: tensor<8x3xf32> {X2}) -> tensor<8x3xf32> {
  %i = stablehlo.iota dim = 0 : tensor<8x3xi32>
  %c = stablehlo.constant dense<[[0], [1], [0], [5], [1], [1], [2], [9]]> : tensor<8x1xi32>
  %b = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x3xi32>
  %s = stablehlo.add %i, %b : tensor<8x3xi32>
  %f = stablehlo.convert %s : (tensor<8x3xi32>) -> tensor<8x3xf32>
  %r = stablehlo.multiply %x, %f : tensor<8x3xf32>
  return %r : tensor<8x3xf32> })"},
    {"convolution", 0,
     R"(func.func @main(%x: tensor<8x5x5x2xf32> {X4}, %k: tensor<3x3x2x4xf32>) -> tensor<8x5x5x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x5x5x2xf32>, tensor<3x3x2x4xf32>) -> tensor<8x5x5x4xf32>
  return %0 : tensor<8x5x5x4xf32> })"},
    {"gradient_of_a_kernel", 1,
     R"(func.func @main(%x: tensor<8x5x5x2xf32> {X4}, %g: tensor<8x5x5x4xf32> {X4}) -> tensor<3x3x2x4xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x5x5x2xf32>, tensor<8x5x5x4xf32>) -> tensor<3x3x2x4xf32>
  return %0 : tensor<3x3x2x4xf32> })"},
    {"embedding", 0,
     R"(func.func @main(%t: tensor<16x3xf32>, %i: tensor<8x2x1xi32> {X3}) -> tensor<8x2x3xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>}> : (tensor<16x3xf32>, tensor<8x2x1xi32>) -> tensor<8x2x3xf32>
  return %0 : tensor<8x2x3xf32> })"},
    {"gradient_of_an_embedding", 1,
     R"(func.func @main(%i: tensor<8x2x1xi32> {X3}, %g: tensor<8x2x3xf32> {X3}) -> tensor<16x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<16x3xf32>
  %0 = "stablehlo.scatter"(%z, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x3xf32>, tensor<8x2x1xi32>, tensor<8x2x3xf32>) -> tensor<16x3xf32>
  return %0 : tensor<16x3xf32> })"},
    {"scatter_onto_something", 2,
     R"(func.func @main(%t: tensor<16x3xf32>, %i: tensor<8x2x1xi32> {X3}, %g: tensor<8x2x3xf32> {X3}) -> tensor<16x3xf32> {
  %0 = "stablehlo.scatter"(%t, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x3xf32>, tensor<8x2x1xi32>, tensor<8x2x3xf32>) -> tensor<16x3xf32>
  return %0 : tensor<16x3xf32> })"},
    {"labels_by_batching_gather", 0,
     R"(func.func @main(%p: tensor<8x16xf32> {X2}, %i: tensor<8x1x1xi32> {X3}) -> tensor<8x1xf32> {
  %0 = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32> })"},
    {"gradient_of_batching_gather", 0,
     R"(func.func @main(%i: tensor<8x1x1xi32> {X3}, %g: tensor<8x1xf32> {X2}) -> tensor<8x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %0 = "stablehlo.scatter"(%z, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32> })"},
    {"embedding_of_spread_words", 1,
     R"(func.func @main(%t: tensor<16x64xf32> {X2}) -> tensor<3x2x64xf32> {
  %i = stablehlo.constant dense<[[[0], [15]], [[-3], [40]], [[7], [8]]]> : tensor<3x2x1xi32>
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 64>}> : (tensor<16x64xf32>, tensor<3x2x1xi32>) -> tensor<3x2x64xf32>
  return %0 : tensor<3x2x64xf32> })"},
    {"embedding_of_spread_words_by_unsigned_indices", 1,
     R"(func.func @main(%t: tensor<32x8xi32> {X2}) -> tensor<8x3xi32> {
  %i = stablehlo.constant dense<[31, 4000000000, 9]> : tensor<3xui32>
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<32x8xi32>, tensor<3xui32>) -> tensor<8x3xi32>
  return %0 : tensor<8x3xi32> })"},
    {"labels_of_spread_classes", 1,
     R"(func.func @main(%p: tensor<4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x1xf32> {
  %i = stablehlo.constant dense<[[[31]], [[0]], [[17]], [[-1]]]> : tensor<4x1x1xi64>
  %0 = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32xf32>, tensor<4x1x1xi64>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32> })"},
    {"gradient_of_labels_of_spread_classes", 0,
     R"(func.func @main(%g: tensor<4x1xf32>, %p: tensor<4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %i = stablehlo.constant dense<[[[31]], [[0]], [[17]], [[-1]]]> : tensor<4x1x1xi32>
  %z = stablehlo.constant dense<0.0> : tensor<4x32xf32>
  %0 = "stablehlo.scatter"(%z, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x32xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %1 = stablehlo.add %0, %p : tensor<4x32xf32>
  return %1 : tensor<4x32xf32> })"},
    {"rows_put_into_spread_rows", 0,
     R"(func.func @main(%t: tensor<16x3xf32> {X2}, %g: tensor<5x3xf32>) -> (tensor<16x3xf32> {X2}) {
  %i = stablehlo.constant dense<[[15], [4000000000], [3], [8], [16]]> : tensor<5x1xui32>
  %0 = "stablehlo.scatter"(%t, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<16x3xf32>, tensor<5x1xui32>, tensor<5x3xf32>) -> tensor<16x3xf32>
  return %0 : tensor<16x3xf32> })"},
    {"pieces_put_together", 0,
     R"(func.func @main(%x: tensor<8x4xf32> {X2}, %c: tensor<1x3xf32>) -> tensor<8x9xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.slice %x [0:8, 1:3] : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<8x2xf32>
  %2 = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<8x3xf32>
  %3 = stablehlo.concatenate %1, %2, %x, dim = 1 : (tensor<8x2xf32>, tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<8x9xf32>
  return %3 : tensor<8x9xf32> })"},
    {"cuts_across_the_parts", 1,
     R"(func.func @main(%x: tensor<8x4xf32> {X2}) -> (tensor<5x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.slice %x [2:7, 0:4] : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
  return %0, %1 : tensor<5x4xf32>, tensor<8x4xf32> })"},
    {"sorts_of_rows_and_columns", 2,
     R"(func.func @main(%x: tensor<8x4xf32> {X2}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32> })"},
    {"a_loop_over_parts", 0,
     R"(func.func @main(%x: tensor<8x2xf32> {X2}) -> tensor<8x2xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<8x2xf32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<8x2xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<8x2xf32>
  }
  return %0#1 : tensor<8x2xf32> })"},
    {"a_scan_over_parts", 0,
     R"(func.func @main(%x: tensor<3x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<2x2xf32>) -> (tensor<8x2xf32>, tensor<3x8x2xf32>) {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %h0 = stablehlo.constant dense<0.0> : tensor<8x2xf32>
  %ys0 = stablehlo.constant dense<0.0> : tensor<3x8x2xf32>
  %0:4 = stablehlo.while(%i = %z, %h = %h0, %ys = %ys0, %xs = %x) : tensor<i32>, tensor<8x2xf32>, tensor<3x8x2xf32>, tensor<3x8x2xf32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %a = stablehlo.dynamic_slice %xs, %i, %z, %z, sizes = [1, 8, 2] : (tensor<3x8x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x2xf32>
    %b = stablehlo.reshape %a : (tensor<1x8x2xf32>) -> tensor<8x2xf32>
    %d = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
    %s = stablehlo.add %d, %b : tensor<8x2xf32>
    %rows = stablehlo.iota dim = 0 : tensor<8x2xf32>
    %t = stablehlo.add %s, %rows : tensor<8x2xf32>
    %g = stablehlo.tanh %t : tensor<8x2xf32>
    %r = stablehlo.reshape %g : (tensor<8x2xf32>) -> tensor<1x8x2xf32>
    %u = stablehlo.dynamic_update_slice %ys, %r, %i, %z, %z : (tensor<3x8x2xf32>, tensor<1x8x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x2xf32>
    stablehlo.return %j, %g, %u, %xs : tensor<i32>, tensor<8x2xf32>, tensor<3x8x2xf32>, tensor<3x8x2xf32>
  }
  return %0#1, %0#2 : tensor<8x2xf32>, tensor<3x8x2xf32> })"},
    {"a_loop_whose_rounds_need_an_exchange_is_written_out", 3,
     R"(func.func @main(%x: tensor<8x65536xf32> {X2}) -> tensor<8x65536xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<8x65536xf32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<8x65536xf32>
    %s = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x65536xf32>, tensor<f32>) -> tensor<f32>
    %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x65536xf32>
    %r = stablehlo.add %b, %t : tensor<8x65536xf32>
    stablehlo.return %j, %r : tensor<i32>, tensor<8x65536xf32>
  }
  return %0#1 : tensor<8x65536xf32> })"},
    {"a_loop_whose_end_is_in_all_parts_has_them_whole", 1,
     R"(func.func @main(%x: tensor<8x2xf32> {X2}) -> tensor<8x2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %end = stablehlo.constant dense<3.0> : tensor<f32>
  %step = stablehlo.constant dense<0.5> : tensor<8x2xf32>
  %0 = stablehlo.while(%a = %x) : tensor<8x2xf32>
   cond {
    %m = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
    %c = stablehlo.compare LT, %m, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.add %a, %step : tensor<8x2xf32>
    stablehlo.return %b : tensor<8x2xf32>
  }
  return %0 : tensor<8x2xf32> })"},
    {"a_loop_whose_end_is_a_flag_of_all_parts_has_them_whole", 1,
     R"(func.func @main(%x: tensor<8x2xf32> {X2}) -> tensor<8x2xf32> {
  %no = stablehlo.constant dense<false> : tensor<i1>
  %end = stablehlo.constant dense<3.0> : tensor<8x2xf32>
  %step = stablehlo.constant dense<0.5> : tensor<8x2xf32>
  %0 = stablehlo.while(%a = %x) : tensor<8x2xf32>
   cond {
    %c = stablehlo.compare LT, %a, %end : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xi1>
    %any = stablehlo.reduce(%c init: %no) applies stablehlo.or across dimensions = [0, 1] : (tensor<8x2xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %any : tensor<i1>
  } do {
    %b = stablehlo.add %a, %step : tensor<8x2xf32>
    stablehlo.return %b : tensor<8x2xf32>
  }
  return %0 : tensor<8x2xf32> })"},
    {"branches_over_parts", 0,
     R"(func.func @main(%x: tensor<8x2xf32> {X2}, %p: tensor<i1>) -> (tensor<8x2xf32>, tensor<2xf32>) {
  %0:2 = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<8x2xf32>
    %c = stablehlo.constant dense<1.0> : tensor<2xf32>
    stablehlo.return %a, %c : tensor<8x2xf32>, tensor<2xf32>
  }, {
    %rows = stablehlo.iota dim = 0 : tensor<8x2xf32>
    %b = stablehlo.add %x, %rows : tensor<8x2xf32>
    %c = stablehlo.constant dense<2.0> : tensor<2xf32>
    stablehlo.return %b, %c : tensor<8x2xf32>, tensor<2xf32>
  }) : (tensor<i1>) -> (tensor<8x2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<8x2xf32>, tensor<2xf32> })"},
    {"results_where_they_are_wanted", 1,
     R"(func.func @main(%x: tensor<8x3xf32> {X2}, %y: tensor<8x3xf32>) -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x3xf32> {X2}) {
  %0 = stablehlo.negate %x : tensor<8x3xf32>
  %1 = stablehlo.negate %y : tensor<8x3xf32>
  return %0, %1 : tensor<8x3xf32>, tensor<8x3xf32> })"},
};

INSTANTIATE_TEST_SUITE_P(All, Partition, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Partitioning, PartsOfUnequalSizeAreRefused) {
  auto whole = read_spread(
      "func.func @main(%x: tensor<6xf32> {X1}) -> tensor<6xf32> { return %x : tensor<6xf32> }", 4);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  auto part = partition(*whole);
  ASSERT_FALSE(part.ok());
  EXPECT_THAT(part.error().to_string(), HasSubstr("no multiple of its (4) parts"));
}

TEST(Partitioning, OutputsStayWhereTheyCome) {
  auto whole = read_spread(
      "func.func @main(%x: tensor<8xf32> {X1}, %y: tensor<8xf32>) -> (tensor<8xf32>, "
      "tensor<8xf32>) {\n"
      "%0 = stablehlo.add %x, %y : tensor<8xf32>\n%1 = stablehlo.add %y, %y : tensor<8xf32>\n"
      "return %0, %1 : tensor<8xf32>, tensor<8xf32> }",
      4);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  auto part = partition(*whole);
  ASSERT_TRUE(part.ok()) << part.error().to_string();
  EXPECT_FALSE(part->outputs[0].is_whole());
  EXPECT_TRUE(part->outputs[1].is_whole());
}

}  // namespace
}  // namespace tuff
