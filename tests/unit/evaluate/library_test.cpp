// rng_bit_generator, batch norms, cholesky, triangular_solve.
#include <gmock/gmock.h>

#include "ir/evaluate/tolerances.h"
#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;

TEST(RngBitGenerator, ThreefryKnownAnswer) {
  // Random123's known answers for threefry2x32-20 with key and counter all zeros,
  // and all ones.
  Node rng = node(Op::kRngBitGenerator, {{DType::kU64, {2}}, {DType::kU32, {2}}},
                  RngBitGeneratorAttrs{RngAlgorithm::kThreeFry});
  auto zeros = run_all(rng, {ints(DType::kU64, {2}, {0, 0})});
  EXPECT_THAT(to_ints(zeros[1]), ElementsAre(0x6b200159, 0x99ba4efe));
  EXPECT_THAT(to_ints(zeros[0]), ElementsAre(0, 1));
  auto ones = run_all(rng, {ints(DType::kU64, {2}, {-1, -1})});
  EXPECT_THAT(to_ints(ones[1]), ElementsAre(0x1cb996fc, 0xbb002be7));
}

TEST(RngBitGenerator, PhiloxKnownAnswer) {
  // Random123's known answer for philox4x32-10 with key and counter all zeros.
  Node rng = node(Op::kRngBitGenerator, {{DType::kU64, {3}}, {DType::kU32, {4}}},
                  RngBitGeneratorAttrs{RngAlgorithm::kPhilox});
  auto results = run_all(rng, {ints(DType::kU64, {3}, {0, 0, 0})});
  EXPECT_THAT(to_ints(results[1]), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(to_ints(results[0]), ElementsAre(0, 1, 0));
}

TEST(BatchNorm, InferenceTrainingGradient) {
  Literal x = f32({2, 2, 2}, {1, 2, 3, 4, 3, 4, 1, 2});
  auto per_feature = [](double v) { return f32({2}, {v, v}); };
  auto with = [&](Op op, std::vector<TensorType> types) {
    return node(op, std::move(types), BatchNormAttrs{.epsilon = 0.0, .feature_index = 2});
  };
  TensorType feature{DType::kF32, {2}};
  Doubles expected{-1, -1, 1, 1, 1, 1, -1, -1};
  Literal mean = f32({2}, {2, 3}), variance = per_feature(1);
  EXPECT_EQ(to_doubles(run(with(Op::kBatchNormInference, {x.type()}),
                           {x, per_feature(1), per_feature(1), mean, variance})),
            (Doubles{0, 0, 2, 2, 2, 2, 0, 0}));
  auto training = run_all(with(Op::kBatchNormTraining, {x.type(), feature, feature}),
                          {x, per_feature(1), per_feature(0)});
  EXPECT_EQ(to_doubles(training[0]), expected);
  EXPECT_THAT(to_doubles(training[1]), ElementsAre(2, 3));
  EXPECT_THAT(to_doubles(training[2]), ElementsAre(1, 1));
  Literal grad = f32({2, 2, 2}, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1});
  auto gradient = run_all(with(Op::kBatchNormGrad, {x.type(), feature, feature}),
                          {x, per_feature(1), mean, variance, grad});
  for (double v : to_doubles(gradient[0])) EXPECT_NEAR(v, 0, tolerance("batch_norm_zero"));
  auto near = DoubleNear(0.4, tolerance("batch_norm_gradient"));
  EXPECT_THAT(to_doubles(gradient[2]), ElementsAre(near, near));
}

TEST(Cholesky, LowerAndUpper) {
  Literal a = f32({2, 2}, {4, 2, 2, 10});
  EXPECT_THAT(to_doubles(run(node(Op::kCholesky, {a.type()}, CholeskyAttrs{true}), {a})),
              ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(to_doubles(run(node(Op::kCholesky, {a.type()}, CholeskyAttrs{false}), {a})),
              ElementsAre(2, 1, 0, 3));
}

TEST(Cholesky, AMatrixThatIsNotPositiveDefiniteHasNoFactor) {
  for (float corner : {1.0f, 0.0f}) {
    Literal a = f32({2, 2}, {1, 1, 1, corner});
    EXPECT_THAT(to_doubles(run(node(Op::kCholesky, {a.type()}, CholeskyAttrs{true}), {a})),
                ElementsAre(IsNan(), 0, IsNan(), IsNan()));
  }
}

TEST(TriangularSolve, EveryOrientation) {
  // a = [2 0; 3 4] lower; its unused corner holds rubbish. x = [1 2; 3 4].
  Literal a = f32({2, 2}, {2, 99, 3, 4});
  auto solve = [&](bool left, Transpose transpose, bool unit, Doubles b) {
    return to_doubles(run(
        node(
            Op::kTriangularSolve, {{DType::kF32, {2, 2}}},
            TriangularSolveAttrs{
                .left_side = left, .lower = true, .unit_diagonal = unit, .transpose_a = transpose}),
        {a, f32({2, 2}, b)}));
  };
  EXPECT_THAT(solve(true, Transpose::kNoTranspose, false, {2, 4, 15, 22}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(solve(true, Transpose::kTranspose, false, {11, 16, 12, 16}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(solve(false, Transpose::kNoTranspose, false, {8, 8, 18, 16}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(solve(false, Transpose::kTranspose, false, {2, 11, 6, 25}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(solve(true, Transpose::kNoTranspose, true, {1, 2, 6, 10}), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace tuff::test
