// The grammar of --device and TUFF_DEVICE. What a word means on a machine is tests/cli's.
#include "frontend/session/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using testing::HasSubstr;
using Kind = DeviceSpec::Kind;

TEST(DeviceGrammar, OneDevice) {
  EXPECT_EQ(parse_device("auto")->kind, Kind::kAuto);
  EXPECT_EQ(parse_device("cpu")->kind, Kind::kCpu);
  EXPECT_EQ(parse_device("reference")->kind, Kind::kReference);
  EXPECT_EQ(parse_device("vulkan")->index, -1);
  EXPECT_EQ(parse_device("vulkan:12")->index, 12);
}

TEST(DeviceGrammar, OtherWordsAreRefused) {
  for (const char* word : {"", "tpu", "vulkan:", "vulkan:-1", "vulkan:1x", "vulkan:99999999999",
                           "cpu,vulkan", "cpux2", "CPU"}) {
    auto spec = parse_device(word);
    ASSERT_FALSE(spec.ok()) << word;
    EXPECT_EQ(spec.error().code, ErrorCode::kUsage);
    EXPECT_THAT(spec.error().message, HasSubstr(std::string("(") + word + ") is not known"));
  }
}

TEST(DeviceGrammar, ListsOfLogicalDevices) {
  auto groups = parse_device_list("vulkan:0x8,cpu");
  ASSERT_TRUE(groups.ok()) << groups.error().to_string();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].spec.index, 0);
  EXPECT_EQ((*groups)[0].count, 8);
  EXPECT_EQ((*groups)[1].spec.kind, Kind::kCpu);
  EXPECT_EQ((*groups)[1].count, 1);
}

TEST(DeviceGrammar, ListsThatAreRefused) {
  for (const char* list : {"", "cpu,", "cpux", "reference", "tpux2"})
    EXPECT_THAT(parse_device_list(list).error().message, HasSubstr("is not known")) << list;
  for (const char* list : {"cpux0", "cpux65", "cpux99999999999"})
    EXPECT_THAT(parse_device_list(list).error().message, HasSubstr("N from 1 to 64")) << list;
}

}  // namespace
}  // namespace tuff
