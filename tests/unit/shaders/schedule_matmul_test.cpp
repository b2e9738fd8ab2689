// Which tiles matmuls have and which are split over k, by the device and the sizes.
#include <gtest/gtest.h>

#include "shaders/schedule/schedule.h"

namespace tuff {
namespace {

Caps caps_of(DeviceClass device_class) {
  Caps caps;
  caps.device_class = device_class;
  caps.subgroup_size = device_class == DeviceClass::kSoftwareRasteriser ? 8 : 32;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 48 << 10;
  return caps;
}

std::optional<KSplit> split_of(DeviceClass device_class, const MatmulSizes& sizes) {
  Caps caps = caps_of(device_class);
  MatmulSchedule schedule = choose_matmul_schedule(caps, sizes);
  return choose_k_split(caps, sizes, schedule.groups(sizes), schedule.k_unroll);
}

TEST(KSplit, FillsAGpuThatHasFewResults) {
  auto decode = split_of(DeviceClass::kDiscreteGpu, {1, 2, 768, {3072}});
  ASSERT_TRUE(decode);
  EXPECT_GE(decode->parts, 8);
  EXPECT_EQ(decode->parts * decode->length, 3072);
  EXPECT_TRUE(split_of(DeviceClass::kIntegratedGpu, {1, 2, 768, {3072}}));
}

TEST(KSplit, LeavesFullDevicesAndShortSumsAlone) {
  EXPECT_FALSE(split_of(DeviceClass::kDiscreteGpu, {1, 4096, 4096, {4096}}));
  EXPECT_FALSE(split_of(DeviceClass::kDiscreteGpu, {1, 4, 64, {64}}));
  EXPECT_FALSE(split_of(DeviceClass::kSoftwareRasteriser, {1, 2, 768, {3072}}));
  EXPECT_FALSE(split_of(DeviceClass::kDiscreteGpu, {1, 4, 4, {}}));
  EXPECT_FALSE(split_of(DeviceClass::kDiscreteGpu, {1, 4, 4, {0}}));
  EXPECT_FALSE(split_of(DeviceClass::kDiscreteGpu, {1, 0, 4, {4096}}));
}

// 50257 has no divisor that would do: the last part has some steps to spare.
TEST(KSplit, WalksLongSumsOfASoftwareDeviceInPanels) {
  auto split = split_of(DeviceClass::kSoftwareRasteriser, {1, 128, 768, {50257}});
  ASSERT_TRUE(split);
  EXPECT_LE(split->length, 4096);
  EXPECT_GE(split->parts * split->length, 50257);
  EXPECT_LT((split->parts - 1) * split->length, 50257);
}

TEST(KSplit, TakesTheLongestDimension) {
  auto split = split_of(DeviceClass::kDiscreteGpu, {1, 2, 64, {3, 3, 2048}});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->dim, 2u);
  EXPECT_EQ(split_of(DeviceClass::kDiscreteGpu, {1, 2, 64, {4096, 7}})->dim, 0u);
}

// A small weight makes up for a dear kernel only if many rows meet it.
TEST(Registers, GrowWithTheProducts) {
  Caps caps = caps_of(DeviceClass::kSoftwareRasteriser);
  auto rows = [&](const MatmulSizes& sizes) { return choose_matmul_schedule(caps, sizes).tile_m; };
  EXPECT_EQ(rows({1, 64, 384, {384}}), 4);
  EXPECT_EQ(rows({1, 256, 384, {384}}), 8);
  EXPECT_EQ(rows({1, 3136, 64, {3, 3, 64}}), 8);
  EXPECT_EQ(rows({1, 64, 768, {768}}), 16);
}

TEST(Tiles, AreLargeWhereThereIsEnoughWork) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  auto large = choose_tile_schedule(caps, {1, 4096, 4096, {4096}}, false);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->tile.rows, 128);
  EXPECT_EQ(large->tile.columns, 128);
  EXPECT_FALSE(large->split);
  auto small = choose_tile_schedule(caps, {1, 256, 256, {256}}, false);
  ASSERT_TRUE(small);
  EXPECT_LT(small->tile.rows * small->tile.columns, 64 * 64);
  // Many steps are split among workgroups.
  auto deep = choose_tile_schedule(caps, {1, 256, 256, {1 << 16}}, false);
  EXPECT_EQ(deep->tile.rows, 128);
  ASSERT_TRUE(deep->split);
  EXPECT_GE(deep->split->parts, 8);
}

// Chips that multiply matrices have more multiply-adds for each word of shared memory.
TEST(Tiles, HaveMoreSumsALaneWhereSharedMemoryIsSlower) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  auto sums = [&] {
    auto choice = choose_tile_schedule(caps, {1, 512, 512, {512}}, false);
    return choice ? choice->tile.lane_rows * choice->tile.lane_columns : 0;
  };
  int64_t before = sums();
  caps.matrix_shapes = {{16, 16, 16, DType::kF16, DType::kF32}};
  EXPECT_GT(sums(), before);
}

// Memory for few workgroups at once makes large ones better.
TEST(Tiles, LeaveMemoryForOtherWorkgroups) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  caps.cores = 96;
  caps.matrix_shapes = {{16, 16, 16, DType::kF16, DType::kF32}};
  auto lanes = [&](int64_t shared) {
    caps.max_shared_bytes = shared;
    auto choice = choose_tile_schedule(caps, {1, 3136, 256, {64}}, false);
    return choice ? choice->tile.lanes() : 0;
  };
  EXPECT_EQ(lanes(64 << 10), 64);
  EXPECT_EQ(lanes(20 << 10), 256);
}

// The last part may have steps to spare, and the estimate knows.
TEST(Tiles, KnowTheirPartsOfK) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  for (int64_t k : {1009, 3072, 4096, 5000}) {
    auto choice = choose_tile_schedule(caps, {1, 64, 64, {k}}, false);
    ASSERT_TRUE(choice && choice->split) << k;
    EXPECT_GE(choice->split->parts * choice->split->length, k);
    EXPECT_LT((choice->split->parts - 1) * choice->split->length, k);
    EXPECT_EQ(choice->split->length % choice->tile.k, 0);
  }
}

TEST(Tiles, AreOneWithoutResults) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  for (const MatmulSizes& sizes :
       {MatmulSizes{0, 64, 64, {64}}, {1, 64, 0, {64}}, {1, 64, 64, {0}}, {1, 64, 64, {}}})
    if (auto choice = choose_tile_schedule(caps, sizes, false)) {
      EXPECT_FALSE(choice->split);
    }
}

TEST(Tiles, KeepTheLimitsOfTheDevice) {
  for (DeviceClass device_class : {DeviceClass::kIntegratedGpu, DeviceClass::kDiscreteGpu})
    for (int64_t invocations : {64, 128, 256, 1024})
      for (int64_t shared : {8 << 10, 16 << 10, 32 << 10})
        for (bool words : {false, true})
          for (int64_t m : {1, 17, 64, 1000})
            for (int64_t n : {1, 40, 768}) {
              Caps caps = caps_of(device_class);
              caps.max_group_invocations = invocations;
              caps.max_shared_bytes = shared;
              caps.int64 = words;
              auto choice = choose_tile_schedule(caps, {3, m, n, {99}}, true);
              if (!choice) continue;
              EXPECT_LE(choice->tile.lanes(), invocations);
              EXPECT_LE(choice->tile.shared_bytes(), shared);
              EXPECT_EQ(choice->tile.run, words ? 2 : 1);
            }
}

// A convolution's loads keep their places, so that its tiles are smaller.
TEST(Tiles, KeepToTheRegistersOfALane) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  auto sums = [&](const MatmulSizes& sizes) {
    auto choice = choose_tile_schedule(caps, sizes, false);
    return choice ? choice->tile.lane_rows * choice->tile.lane_columns : 0;
  };
  MatmulSizes product{1, 4096, 4096, {4096}}, convolution{1, 4096, 4096, {3, 3, 512}};
  EXPECT_EQ(sums(product), 64);
  EXPECT_EQ(sums(convolution), 64);
  caps.lane_registers = 128;
  EXPECT_EQ(sums(product), 32);
  EXPECT_EQ(sums(convolution), 16);
  caps.lane_registers = 32;
  EXPECT_EQ(sums(product), 0);  // lanes load their own columns
}

TEST(Tiles, AreForGpusAndOperandsThatAreReadAgain) {
  MatmulSizes decode{1, 2, 768, {768}};
  EXPECT_FALSE(choose_tile_schedule(caps_of(DeviceClass::kCpu), {1, 256, 256, {256}}, false));
  EXPECT_FALSE(
      choose_tile_schedule(caps_of(DeviceClass::kSoftwareRasteriser), {1, 256, 256, {256}}, false));
  EXPECT_FALSE(choose_tile_schedule(caps_of(DeviceClass::kDiscreteGpu), decode, false));
  // Columns of B that lie along k are loaded along k.
  EXPECT_TRUE(choose_tile_schedule(caps_of(DeviceClass::kDiscreteGpu), decode, true));
}

}  // namespace
}  // namespace tuff
