#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

const TensorType kInt{DType::kI32, {}};

GraphPtr constant_region(int64_t value) {
  Graph g;
  g.set_outputs({add_constant(g, i32({}, {value}))});
  return std::make_shared<Graph>(std::move(g));
}

TEST(While, CountsUp) {
  // while (i < n) { i += 1; sum += i; } with n carried.
  Graph condition, body;
  for (Graph* g : {&condition, &body})
    for (int i = 0; i < 3; ++i) g->add_parameter(kInt);
  condition.set_outputs({add_op(condition, Op::kCompare, {{0, 0}, {2, 0}}, {DType::kBool, {}},
                                CompareAttrs{.comparison_direction = ComparisonDirection::kLt})});
  Value next = add_op(body, Op::kAdd, {{0, 0}, add_constant(body, i32({}, {1}))}, kInt);
  body.set_outputs({next, add_op(body, Op::kAdd, {{1, 0}, next}, kInt), {2, 0}});
  Node loop = node(
      Op::kWhile, {kInt, kInt, kInt}, {},
      {std::make_shared<Graph>(std::move(condition)), std::make_shared<Graph>(std::move(body))});
  auto results = run_all(loop, {i32({}, {0}), i32({}, {0}), i32({}, {10})});
  EXPECT_THAT(to_ints(results[1]), ElementsAre(55));
  EXPECT_THAT(to_ints(run_all(loop, {i32({}, {5}), i32({}, {7}), i32({}, {5})})[1]),
              ElementsAre(7));
}

TEST(Branches, IfAndCase) {
  Node branch = node(Op::kIf, {kInt}, {}, {constant_region(10), constant_region(11)});
  EXPECT_THAT(to_ints(run(branch, {ints(DType::kBool, {}, {1})})), ElementsAre(10));
  EXPECT_THAT(to_ints(run(branch, {ints(DType::kBool, {}, {0})})), ElementsAre(11));
  Node pick = node(Op::kCase, {kInt}, {}, {constant_region(10), constant_region(11)});
  for (auto [index, expected] : {std::pair{0, 10}, {1, 11}, {-1, 11}, {7, 11}})
    EXPECT_THAT(to_ints(run(pick, {i32({}, {index})})), ElementsAre(expected));
}

TEST(Branches, OperandsAfterThePredicateReachTheRegion) {
  Node branch =
      node(Op::kIf, {kInt}, {},
           {binary_region(Op::kAdd, DType::kI32), binary_region(Op::kMultiply, DType::kI32)});
  EXPECT_THAT(to_ints(run(branch, {ints(DType::kBool, {}, {0}), i32({}, {3}), i32({}, {4})})),
              ElementsAre(12));
}

TEST(Map, FusedAndHosted) {
  Node map = node(Op::kMap, {{DType::kI32, {2}}}, DimensionsAttrs{{0}},
                  {binary_region(Op::kMultiply, DType::kI32)});
  EXPECT_THAT(to_ints(run(map, {i32({2}, {2, 3}), i32({2}, {4, 5})})), ElementsAre(8, 15));
  Node fused = node(Op::kFused, {kInt}, {}, {binary_region(Op::kSubtract, DType::kI32)});
  EXPECT_THAT(to_ints(run(fused, {i32({}, {2}), i32({}, {5})})), ElementsAre(-3));
  Node hosted =
      node(Op::kHosted, {kInt}, HostedAttrs{"no kernel"}, {binary_region(Op::kAdd, DType::kI32)});
  EXPECT_THAT(to_ints(run(hosted, {i32({}, {2}), i32({}, {5})})), ElementsAre(7));
}

TEST(CustomCall, NamesItsTarget) {
  auto result = evaluate_node(
      node(Op::kCustomCall, {kInt}, CustomCallAttrs{.call_target_name = "lapack_x"}), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().message, testing::HasSubstr("lapack_x"));
}

TEST(Evaluate, WalksVisitsAndChecksArguments) {
  Graph g;
  Value x = g.add_parameter(kInt);
  Value two = add_constant(g, i32({}, {2}));
  Value product = add_op(g, Op::kMultiply, {x, two}, kInt);
  g.set_outputs({product, x});
  auto results = evaluate(g, {i32({}, {21})});
  ASSERT_TRUE(results.ok());
  EXPECT_THAT(to_ints((*results)[0]), ElementsAre(42));
  EXPECT_THAT(to_ints((*results)[1]), ElementsAre(21));
  std::vector<uint32_t> seen;
  auto all = evaluate_all(g, {i32({}, {1})}, [&](Value v, const Literal&) -> Status {
    seen.push_back(v.node);
    if (v == product) return Error{ErrorCode::kInterrupted, "Stop.", ""};
    return {};
  });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(evaluate(g, {}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(evaluate(g, {f32({}, {1})}).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace tuff::test
