// What TUFF_CPU_ISA and TUFF_CPU_CODE do.
#include "backend/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backend/cpu/device.h"

namespace tuff::test {
namespace {

Result<cpu::IsaLevel> chosen(const char* value) {
  setenv("TUFF_CPU_ISA", value, 1);
  Result<cpu::IsaLevel> level = cpu::chosen_isa_level();
  unsetenv("TUFF_CPU_ISA");
  return level;
}

TEST(CpuIsa, IsTheBestOrLimited) {
  const cpu::IsaLevel best = cpu::best_isa_level();
  EXPECT_EQ(cpu::chosen_isa_level().value(), best);
  EXPECT_EQ(chosen("").value(), best);
  EXPECT_EQ(chosen("amx").value(), best);
  EXPECT_EQ(chosen("avx512").value(), std::min(best, cpu::IsaLevel::kAvx512));
  EXPECT_EQ(chosen("avx2").value(), std::min(best, cpu::IsaLevel::kAvx2));
  EXPECT_EQ(chosen("baseline").value(), cpu::IsaLevel::kBaseline);
}

TEST(CpuIsa, RefusesWhatItDoesNotKnow) {
  Result<cpu::IsaLevel> level = chosen("sse9");
  ASSERT_FALSE(level.ok());
  EXPECT_NE(level.error().message.find("(sse9)"), std::string::npos);
  setenv("TUFF_CPU_ISA", "AVX512", 1);
  EXPECT_FALSE(create_cpu_device().ok());
  unsetenv("TUFF_CPU_ISA");
}

TEST(CpuIsa, TheDeviceTellsItsLevel) {
  setenv("TUFF_CPU_ISA", "baseline", 1);
  auto device = create_cpu_device();
  unsetenv("TUFF_CPU_ISA");
  ASSERT_TRUE(device.ok());
  EXPECT_NE((*device)->description().find("baseline"), std::string::npos);
}

TEST(CpuIsa, CodeIsNativeOrInterpreted) {
  for (const char* value : {"native", "interpreted", ""}) {
    setenv("TUFF_CPU_CODE", value, 1);
    EXPECT_TRUE(create_cpu_device().ok()) << value;
  }
  setenv("TUFF_CPU_CODE", "fast", 1);
  auto device = create_cpu_device();
  unsetenv("TUFF_CPU_CODE");
  ASSERT_FALSE(device.ok());
  EXPECT_NE(device.error().message.find("(fast)"), std::string::npos);
}

}  // namespace
}  // namespace tuff::test
