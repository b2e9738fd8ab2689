#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

TEST(Sort, SpecExampleOfTwoInputs) {
  Literal a = i64({2, 3}, {1, 2, 3, 3, 2, 1}), b = i64({2, 3}, {3, 2, 1, 1, 2, 3});
  Node sort = node(
      Op::kSort, {a.type(), b.type()}, SortAttrs{.dimension = 0, .is_stable = true},
      {compare_region(ComparisonDirection::kGt,
                      {DType::kI64, DType::kI64, DType::kI64, DType::kI64}, CompareType::kSigned)});
  auto results = run_all(sort, {a, b});
  EXPECT_THAT(to_ints(results[0]), ElementsAre(3, 2, 3, 1, 2, 1));
  EXPECT_THAT(to_ints(results[1]), ElementsAre(1, 2, 1, 3, 2, 3));
}

TEST(Sort, StableAndDegenerate) {
  Literal keys = i32({4}, {2, 1, 2, 1}), values = i32({4}, {0, 1, 2, 3});
  Node sort = node(Op::kSort, {keys.type(), values.type()}, SortAttrs{.dimension = -1},
                   {compare_region(ComparisonDirection::kLt,
                                   {DType::kI32, DType::kI32, DType::kI32, DType::kI32})});
  EXPECT_THAT(to_ints(run_all(sort, {keys, values})[1]), ElementsAre(1, 3, 0, 2));
  Node empty = node(Op::kSort, {{DType::kI32, {0}}}, SortAttrs{.dimension = 0},
                    {compare_region(ComparisonDirection::kLt, {DType::kI32, DType::kI32})});
  EXPECT_EQ(run(empty, {i32({0}, {})}).num_elements(), 0);
}

TEST(TopK, DescendingAndStable) {
  Node top = node(Op::kTopK, {{DType::kF32, {2, 2}}, {DType::kI32, {2, 2}}}, TopKAttrs{2});
  auto results = run_all(top, {f32({2, 3}, {1, 5, 5, 0, -1, 2})});
  EXPECT_THAT(to_doubles(results[0]), ElementsAre(5, 5, 2, 0));
  EXPECT_THAT(to_ints(results[1]), ElementsAre(1, 2, 2, 0));
}

}  // namespace
}  // namespace tuff::test
