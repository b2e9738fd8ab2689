// The roof of the CPU device, and its place in the cache.
#include "backend/roof.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/cpu/device.h"

namespace tuff {
namespace {

TEST(Roof, IsMeasuredAndKept) {
  auto device = create_cpu_device();
  ASSERT_TRUE(device.ok());
  auto roof = measure_roof(**device, "2026-01-02T03:04:05Z");
  ASSERT_TRUE(roof.ok()) << roof.error().to_string();
  EXPECT_EQ(roof->device, (*device)->description());
  EXPECT_GT(roof->f32_gflops, 0.1);
  EXPECT_GT(roof->copy_gbps, 0.1);
  EXPECT_GT(roof->submit_us, 0);

  std::string directory = ::testing::TempDir() + "tuff_roof_test";
  std::filesystem::remove_all(directory);
  DiskCache cache(directory);
  EXPECT_FALSE(load_roof(cache, roof->device));
  store_roof(cache, *roof);
  auto kept = load_roof(cache, roof->device);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->date, roof->date);
  EXPECT_EQ(kept->f32_gflops, roof->f32_gflops);
  EXPECT_EQ(kept->submit_us, roof->submit_us);
  EXPECT_FALSE(load_roof(cache, "another device"));

  std::string text = "not a roof";
  cache.put("roof", "another device", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  EXPECT_FALSE(load_roof(cache, "another device"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tuff
