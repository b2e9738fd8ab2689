#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

TEST(DynamicSlice, ClampsStarts) {
  Literal operand = i32({4, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  Node slice = node(Op::kDynamicSlice, {{DType::kI32, {2, 2}}}, DynamicSliceAttrs{{2, 2}});
  EXPECT_THAT(to_ints(run(slice, {operand, i64({}, {-1}), i64({}, {3})})), ElementsAre(1, 1, 1, 1));
  // An unsigned start beyond int64 is far right, not negative.
  Literal huge = ints(DType::kU64, {}, {-1});
  EXPECT_THAT(to_ints(run(slice, {operand, ints(DType::kU64, {}, {0}), huge})),
              ElementsAre(1, 1, 1, 1));
}

TEST(DynamicUpdateSlice, SpecExample) {
  Literal operand = i32({4, 4}, {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  Node update = node(Op::kDynamicUpdateSlice, {operand.type()});
  EXPECT_THAT(
      to_ints(run(update, {operand, i32({2, 2}, {1, 1, 1, 1}), i64({}, {-1}), i64({}, {3})})),
      ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
}

Literal counting(Shape shape) {
  Ints values;
  for (int64_t i = 0; i < num_elements(shape); ++i) values.push_back(i + 1);
  return i32(shape, values);
}

TEST(Gather, SpecExampleWithBatchingDimensions) {
  Literal operand = counting({2, 3, 4, 2});
  Literal indices =
      i64({2, 2, 3, 2}, {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0});
  Node gather = node(Op::kGather, {{DType::kI32, {2, 2, 3, 2, 2}}},
                     GatherAttrs{.offset_dims = {3, 4},
                                 .collapsed_slice_dims = {1},
                                 .operand_batching_dims = {0},
                                 .start_indices_batching_dims = {1},
                                 .start_index_map = {2, 1},
                                 .index_vector_dim = 3,
                                 .slice_sizes = {1, 1, 2, 2}});
  EXPECT_THAT(to_ints(run(gather, {operand, indices})),
              ElementsAre(1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 33, 34, 35, 36, 35, 36, 37, 38,
                          41, 42, 43, 44, 1, 2, 3, 4, 13, 14, 15, 16, 21, 22, 23, 24, 43, 44, 45,
                          46, 33, 34, 35, 36, 27, 28, 29, 30));
}

TEST(Gather, EmbeddingRowsWithImplicitVectorDimension) {
  Node gather = node(Op::kGather, {{DType::kI32, {3, 2}}},
                     GatherAttrs{.offset_dims = {1},
                                 .collapsed_slice_dims = {0},
                                 .start_index_map = {0},
                                 .index_vector_dim = 1,
                                 .slice_sizes = {1, 2}});
  EXPECT_THAT(to_ints(run(gather, {counting({3, 2}), i32({3}, {2, 0, -7})})),
              ElementsAre(5, 6, 1, 2, 1, 2));
}

Node row_scatter(Shape shape, GraphPtr body) {
  return node(Op::kScatter, {{DType::kI32, shape}},
              ScatterAttrs{.update_window_dims = {1},
                           .inserted_window_dims = {0},
                           .scatter_dims_to_operand_dims = {0},
                           .index_vector_dim = 1},
              {body});
}

TEST(Scatter, AddsDuplicatesAndSkipsOutside) {
  Node scatter = row_scatter({3, 2}, binary_region(Op::kAdd, DType::kI32));
  Literal input = i32({3, 2}, {0, 0, 0, 0, 0, 0});
  Literal updates = i32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(to_ints(run(scatter, {input, i32({4}, {1, 1, 3, -1}), updates})),
              ElementsAre(0, 0, 4, 6, 0, 0));
}

TEST(Scatter, WindowPartlyOutsideKeepsTheInside) {
  // Window of two rows starting at row 2 of 3: the second row falls out.
  Node scatter = node(
      Op::kScatter, {{DType::kI32, {3}}},
      ScatterAttrs{
          .update_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 0},
      {binary_region(Op::kAdd, DType::kI32)});
  EXPECT_THAT(to_ints(run(scatter, {i32({3}, {1, 1, 1}), i32({1}, {2}), i32({2}, {5, 6})})),
              ElementsAre(1, 1, 6));
}

TEST(Scatter, SeveralInputsShareOneBody) {
  // body(a, b, ua, ub) = (a + ua, maximum(b, ub)).
  Graph body;
  for (int i = 0; i < 4; ++i) body.add_parameter({DType::kI32, {}});
  Value sum = add_op(body, Op::kAdd, {{0, 0}, {2, 0}}, {DType::kI32, {}});
  Value most = add_op(body, Op::kMaximum, {{1, 0}, {3, 0}}, {DType::kI32, {}});
  body.set_outputs({sum, most});
  Node scatter = node(
      Op::kScatter, {{DType::kI32, {2}}, {DType::kI32, {2}}},
      ScatterAttrs{
          .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1},
      {std::make_shared<Graph>(std::move(body))});
  auto results = run_all(scatter, {i32({2}, {1, 2}), i32({2}, {3, 4}), i32({3, 1}, {0, 1, 0}),
                                   i32({3}, {10, 20, 30}), i32({3}, {1, 9, 5})});
  EXPECT_THAT(to_ints(results[0]), ElementsAre(41, 22));
  EXPECT_THAT(to_ints(results[1]), ElementsAre(5, 9));
}

}  // namespace
}  // namespace tuff::test
