// Drivers' own words for registers, spills and the like, as ours.
#include "backend/driver_statistics.h"

#include <gtest/gtest.h>

#include "backend/vulkan/driver_report.h"
#include "backend/vulkan/vulkan.h"

namespace tuff {
namespace {

TEST(DriverStatistics, RadvInOurWords) {
  KernelResources r = resources_of({{"VGPRs", "", 96},
                                    {"Spilled SGPRs", "", 2},
                                    {"Spilled VGPRs", "", 3},
                                    {"LDS size", "", 16896},
                                    {"Subgroups per SIMD", "", 8},
                                    {"Code size", "", 5720},
                                    {"Instructions", "", 900},
                                    {"Latency", "", 11713}});
  EXPECT_EQ(r.registers, 96);
  EXPECT_EQ(r.spills, 5) << "of both kinds of registers";
  EXPECT_EQ(r.shared_bytes, 16896);
  EXPECT_EQ(r.occupancy, 8);
  EXPECT_EQ(r.code_bytes, 5720);
  EXPECT_EQ(r.instructions, 900);
  EXPECT_EQ(r.scratch_bytes, std::nullopt) << "not told is not zero";
}

TEST(DriverStatistics, OtherDrivers) {
  EXPECT_EQ(resources_of({{"Spill Count", "", 1638}, {"Fill Count", "", 2}}).spills, 1640) << "ANV";
  EXPECT_EQ(resources_of({{"Number of GPRs", "", 128}}).registers, 128) << "NVK";
  EXPECT_EQ(resources_of({{"Max Waves Per Core", "", 8}}).occupancy, 8) << "turnip";
}

// A program without kernels: what is asked is only whether the driver tells.
TEST(CompileOnDriver, TellsOrSaysWhyNot) {
  auto kernels = compile_on_driver(0, Program(), Caps(), {});
  if (kernels.ok()) {
    EXPECT_TRUE(kernels->empty());
  } else if (kernels.error().code == ErrorCode::kNoDevice) {
    GTEST_SKIP() << "no Vulkan device: " << kernels.error().message;
  } else {
    EXPECT_EQ(kernels.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(kernels.error().message.find("VK_KHR_pipeline_executable_properties"),
              std::string::npos);
  }
}

TEST(CompileOnDriver, NoSuchDevice) {
  auto kernels = compile_on_driver(1000, Program(), Caps(), {});
  ASSERT_FALSE(kernels.ok());
  EXPECT_EQ(kernels.error().code, ErrorCode::kNoDevice);
}

}  // namespace
}  // namespace tuff
