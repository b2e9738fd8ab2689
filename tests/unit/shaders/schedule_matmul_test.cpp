// Which matmuls are split over k, by the device and the sizes.
#include <gtest/gtest.h>

#include "shaders/schedule.h"

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
  return choose_k_split(caps, sizes, choose_matmul_schedule(caps, sizes));
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

}  // namespace
}  // namespace tuff
