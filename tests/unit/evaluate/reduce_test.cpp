#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

TEST(Reduce, SingleOps) {
  Literal operand = i64({2, 3}, {0, 1, 2, 3, 4, 5});
  auto reduce = [&](Op op, Ints dims, Shape shape, int64_t init) {
    return to_ints(run(node(Op::kReduce, {{DType::kI64, shape}}, DimensionsAttrs{dims},
                            {binary_region(op, DType::kI64)}),
                       {operand, i64({}, {init})}));
  };
  EXPECT_THAT(reduce(Op::kAdd, {1}, {2}, 0), ElementsAre(3, 12));
  EXPECT_THAT(reduce(Op::kAdd, {0}, {3}, 10), ElementsAre(13, 15, 17));
  EXPECT_THAT(reduce(Op::kAdd, {0, 1}, {}, 0), ElementsAre(15));
  EXPECT_THAT(reduce(Op::kMaximum, {0}, {3}, INT64_MIN), ElementsAre(3, 4, 5));
  EXPECT_THAT(reduce(Op::kXor, {1}, {2}, 0), ElementsAre(3, 2));
  EXPECT_THAT(reduce(Op::kAdd, {}, {2, 3}, 1), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Reduce, EmptyAxisGivesTheInit) {
  Node reduce = node(Op::kReduce, {{DType::kF32, {2}}}, DimensionsAttrs{{1}},
                     {binary_region(Op::kMaximum, DType::kF32)});
  EXPECT_THAT(to_doubles(run(reduce, {f32({2, 0}, {}), f32({}, {-kInf})})),
              ElementsAre(-kInf, -kInf));
}

TEST(Reduce, SixteenBitSumsRoundOnce) {
  Node reduce = node(Op::kReduce, {{DType::kBF16, {}}}, DimensionsAttrs{{0}},
                     {binary_region(Op::kAdd, DType::kBF16)});
  Literal ones = Literal::splat({DType::kBF16, {1000}}, 1);
  EXPECT_THAT(to_doubles(run(reduce, {ones, Literal::scalar(DType::kBF16, 0)})), ElementsAre(1000));
}

TEST(Reduce, BooleanAndOr) {
  Literal operand = ints(DType::kBool, {2, 2}, {1, 1, 0, 1});
  auto reduce = [&](Op op, int64_t init) {
    return to_ints(run(node(Op::kReduce, {{DType::kBool, {2}}}, DimensionsAttrs{{1}},
                            {binary_region(op, DType::kBool)}),
                       {operand, ints(DType::kBool, {}, {init})}));
  };
  EXPECT_THAT(reduce(Op::kAnd, 1), ElementsAre(1, 0));
  EXPECT_THAT(reduce(Op::kOr, 0), ElementsAre(1, 1));
}

// The argmax of JAX: (value, index) pairs, the first of equals.
GraphPtr argmax_region() {
  Graph g;
  for (DType d : {DType::kF32, DType::kI32, DType::kF32, DType::kI32}) g.add_parameter({d, {}});
  TensorType boolean{DType::kBool, {}};
  Value greater = add_op(g, Op::kCompare, {{0, 0}, {2, 0}}, boolean,
                         CompareAttrs{.comparison_direction = ComparisonDirection::kGt});
  Value equal = add_op(g, Op::kCompare, {{0, 0}, {2, 0}}, boolean,
                       CompareAttrs{.comparison_direction = ComparisonDirection::kEq});
  Value lower = add_op(g, Op::kCompare, {{1, 0}, {3, 0}}, boolean,
                       CompareAttrs{.comparison_direction = ComparisonDirection::kLt});
  Value tie = add_op(g, Op::kAnd, {equal, lower}, boolean);
  Value first = add_op(g, Op::kOr, {greater, tie}, boolean);
  Value value = add_op(g, Op::kSelect, {greater, {0, 0}, {2, 0}}, {DType::kF32, {}});
  Value index = add_op(g, Op::kSelect, {first, {1, 0}, {3, 0}}, {DType::kI32, {}});
  g.set_outputs({value, index});
  return std::make_shared<Graph>(std::move(g));
}

TEST(Reduce, TwoOperandsWithAnyRegion) {
  Node reduce = node(Op::kReduce, {{DType::kF32, {2}}, {DType::kI32, {2}}}, DimensionsAttrs{{1}},
                     {argmax_region()});
  auto results = run_all(reduce, {f32({2, 3}, {1, 5, 5, 7, -1, 3}), i32({2, 3}, {0, 1, 2, 0, 1, 2}),
                                  f32({}, {-kInf}), i32({}, {0})});
  EXPECT_THAT(to_doubles(results[0]), ElementsAre(5, 7));
  EXPECT_THAT(to_ints(results[1]), ElementsAre(1, 0));
}

TEST(Reduce, RegionsThatAreNotScalarStepsAreWalked) {
  // a + reshape(reshape(b)): the reshape makes it a graph walk.
  Graph g;
  Value a = g.add_parameter({DType::kI32, {}}), b = g.add_parameter({DType::kI32, {}});
  Value row = add_op(g, Op::kReshape, {b}, {DType::kI32, {1}});
  Value back = add_op(g, Op::kReshape, {row}, {DType::kI32, {}});
  g.set_outputs({add_op(g, Op::kAdd, {a, back}, {DType::kI32, {}})});
  Node reduce = node(Op::kReduce, {{DType::kI32, {}}}, DimensionsAttrs{{0}},
                     {std::make_shared<Graph>(std::move(g))});
  EXPECT_THAT(to_ints(run(reduce, {i32({3}, {1, 2, 3}), i32({}, {0})})), ElementsAre(6));
}

TEST(ReduceWindow, SpecExample) {
  Node window = node(Op::kReduceWindow, {{DType::kI64, {2, 2}}},
                     WindowAttrs{.window_dimensions = {2, 1},
                                 .window_strides = {4, 1},
                                 .base_dilations = {2, 1},
                                 .window_dilations = {3, 1},
                                 .padding = {2, 1, 0, 0}},
                     {binary_region(Op::kAdd, DType::kI64)});
  EXPECT_THAT(to_ints(run(window, {i64({3, 2}, {1, 2, 3, 4, 5, 6}), i64({}, {0})})),
              ElementsAre(0, 0, 3, 4));
}

TEST(ReduceWindow, MaxPoolAndCumulativeSum) {
  Node pool = node(Op::kReduceWindow, {{DType::kF32, {2}}},
                   WindowAttrs{.window_dimensions = {2}, .window_strides = {2}},
                   {binary_region(Op::kMaximum, DType::kF32)});
  EXPECT_THAT(to_doubles(run(pool, {f32({4}, {1, 3, -2, -5}), f32({}, {-kInf})})),
              ElementsAre(3, -2));
  Node sum = node(Op::kReduceWindow, {{DType::kF32, {4}}},
                  WindowAttrs{.window_dimensions = {4}, .padding = {3, 0}},
                  {binary_region(Op::kAdd, DType::kF32)});
  EXPECT_THAT(to_doubles(run(sum, {f32({4}, {1, 2, 3, 4}), f32({}, {0})})),
              ElementsAre(1, 3, 6, 10));
}

TEST(SelectAndScatter, SpecExample) {
  Node op = node(
      Op::kSelectAndScatter, {{DType::kI64, {4, 2}}},
      WindowAttrs{.window_dimensions = {3, 1}, .window_strides = {2, 1}, .padding = {0, 1, 0, 0}},
      {compare_region(ComparisonDirection::kGe, {DType::kI64, DType::kI64}, CompareType::kSigned),
       binary_region(Op::kAdd, DType::kI64)});
  Literal operand = i64({4, 2}, {1, 5, 2, 5, 3, 6, 4, 4}), source = i64({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(to_ints(run(op, {operand, source, i64({}, {0})})),
              ElementsAre(0, 0, 0, 0, 5, 14, 7, 0));
}

}  // namespace
}  // namespace tuff::test
