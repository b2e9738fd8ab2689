// Which tiles products have where the device multiplies matrices.
#include <gtest/gtest.h>

#include "shaders/schedule/schedule.h"

namespace tuff {
namespace {

Caps caps_of(DeviceClass device_class, int64_t subgroup, std::vector<MatrixShape> shapes) {
  Caps caps;
  caps.device_class = device_class;
  caps.subgroup_size = subgroup;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 48 << 10;
  caps.matrix_shapes = std::move(shapes);
  return caps;
}

const MatrixShape kF16{16, 16, 16}, kI8{16, 16, 32, DType::kI8, DType::kI32};

bool has_shape(const std::optional<MatrixTileSchedule>& s, const MatrixShape& shape) {
  return s && s->m == shape.m && s->n == shape.n && s->k == shape.k &&
         s->per_word == 4 / dtype_size(shape.element);
}

std::optional<MatrixTileSchedule> choose(const Caps& caps, const MatmulSizes& sizes) {
  return choose_matrix_schedule(caps, sizes, DType::kF16, DType::kF32);
}

TEST(MatrixTiles, AreLargeWhereThereIsEnoughWork) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu, 32, {kF16});
  auto large = choose(caps, {1, 4096, 4096, {4096}});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->tile_rows(), 128);
  EXPECT_EQ(large->tile_columns(), 128);
  EXPECT_EQ(large->lanes(), 256);
  auto small = choose(caps, {1, 256, 256, {256}});
  ASSERT_TRUE(small);
  EXPECT_LT(small->tile_rows() * small->tile_columns(), 64 * 64);
  auto flat = choose(caps, {1, 40, 8192, {4096}});
  ASSERT_TRUE(flat);
  EXPECT_LE(flat->tile_rows(), 64);
}

TEST(MatrixTiles, AreForGpusAndProblemsThatFillThem) {
  MatmulSizes sizes{1, 256, 256, {256}};
  EXPECT_TRUE(choose(caps_of(DeviceClass::kIntegratedGpu, 32, {kF16}), sizes));
  EXPECT_FALSE(choose(caps_of(DeviceClass::kSoftwareRasteriser, 8, {{8, 8, 8}}), sizes));
  EXPECT_FALSE(choose(caps_of(DeviceClass::kCpu, 1, {kF16}), sizes));
  Caps caps = caps_of(DeviceClass::kDiscreteGpu, 32, {kF16});
  EXPECT_FALSE(choose(caps, {1, 31, 256, {256}}));
  EXPECT_FALSE(choose(caps, {1, 256, 31, {256}}));
  EXPECT_FALSE(choose(caps, {1, 256, 256, {31}}));
  EXPECT_TRUE(choose(caps, {1, 256, 256, {31, 2}}));
  caps.max_loop_iterations = 300;
  EXPECT_FALSE(choose(caps, sizes));
}

TEST(MatrixTiles, KeepTheTypesOfTheProblem) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu, 32, {kF16, kI8});
  MatmulSizes sizes{1, 256, 256, {256}};
  EXPECT_TRUE(has_shape(choose(caps, sizes), kF16));
  EXPECT_TRUE(has_shape(choose_matrix_schedule(caps, sizes, DType::kI8, DType::kI32), kI8));
  EXPECT_FALSE(choose_matrix_schedule(caps, sizes, DType::kF32, DType::kF32));
  EXPECT_FALSE(choose_matrix_schedule(caps, sizes, DType::kBF16, DType::kF32));
  EXPECT_FALSE(choose_matrix_schedule(caps, sizes, DType::kU8, DType::kI32));
  EXPECT_FALSE(choose_matrix_schedule(caps, sizes, DType::kF16, DType::kF16));
}

TEST(MatrixTiles, TakeTheFirstShapeThatCanBeLaidOut) {
  MatrixShape odd{24, 24, 24}, other{16, 8, 16};
  MatmulSizes sizes{1, 256, 256, {256}};
  auto chosen = choose(caps_of(DeviceClass::kDiscreteGpu, 32, {odd, other, kF16}), sizes);
  EXPECT_TRUE(has_shape(chosen, other));
  EXPECT_FALSE(choose(caps_of(DeviceClass::kDiscreteGpu, 32, {odd}), sizes));
}

TEST(MatrixTiles, KeepTheLimitsOfTheDevice) {
  int chosen = 0;
  for (int64_t subgroup : {8, 16, 32, 64})
    for (const MatrixShape& shape : {kF16, MatrixShape{8, 8, 8}, MatrixShape{8, 16, 16},
                                     MatrixShape{16, 8, 8}, MatrixShape{16, 8, 16}})
      for (int64_t invocations : {64, 128, 256, 1024})
        for (int64_t shared : {8 << 10, 16 << 10, 32 << 10, 48 << 10})
          for (int64_t m : {32, 100, 1000})
            for (int64_t n : {40, 768}) {
              Caps caps = caps_of(DeviceClass::kDiscreteGpu, subgroup, {shape});
              caps.max_group_invocations = invocations;
              caps.max_shared_bytes = shared;
              auto s = choose(caps, {3, m, n, {99}});
              if (!s) continue;
              ++chosen;
              EXPECT_LE(s->lanes(), invocations);
              EXPECT_LE(s->shared_bytes(), shared);
              EXPECT_EQ(s->lanes() % subgroup, 0);
              EXPECT_EQ(s->depth % shape.k, 0);
              EXPECT_LE(s->rows * s->columns * shape.m * shape.n, 64 * subgroup);
            }
  EXPECT_GT(chosen, 200);
}

}  // namespace
}  // namespace tuff
