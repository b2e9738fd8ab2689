// Contractions under the schedules of every class of device, run on the devices that are
// here, against the reference evaluator.
#include <gtest/gtest.h>

#include "backend/vulkan/vulkan.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/contractions.h"

namespace tuff {
namespace {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

using test::convolution, test::dot, test::transposed_dot;

struct Way {
  const char* name;
  const char* device;
  DeviceClass device_class;
};
constexpr Way kWays[] = {{"cpu", "cpu", DeviceClass::kCpu},
                         {"software_on_cpu", "cpu", DeviceClass::kSoftwareRasteriser},
                         {"discrete_on_cpu", "cpu", DeviceClass::kDiscreteGpu},
                         {"software", "vulkan", DeviceClass::kSoftwareRasteriser},
                         {"integrated", "vulkan", DeviceClass::kIntegratedGpu},
                         {"discrete", "vulkan", DeviceClass::kDiscreteGpu}};

// A software driver takes seconds to compile a GPU's tiles: those do the hard cases.
std::vector<std::string> cases_of(const Way& way) {
  std::vector<std::string> cases{dot("f32", 3, 5, 70, 12), dot("bf16", 1, 17, 33, 7),
                                 transposed_dot(21, 38, 14), convolution(7, 3, 18, 3, 2)};
  // Few results of long sums, which are split: evenly, with a rest, with an epilogue.
  for (const std::string& text :
       {dot("f32", 1, 2, 12, 33000), dot("f32", 2, 3, 5, 32771), dot("i32", 1, 1, 1, 40000),
        dot("f16", 1, 4, 9, 1030), dot("i1", 1, 2, 3, 600), transposed_dot(7, 19, 33001),
        convolution(3, 600, 5, 3, 1)})
    cases.push_back(text);
  bool gpu = way.device_class == DeviceClass::kDiscreteGpu ||
             way.device_class == DeviceClass::kIntegratedGpu;
  if (gpu && way.device == std::string("vulkan")) return cases;
  for (const std::string& text :
       {dot("f32", 1, 1, 1, 1), dot("f32", 2, 16, 32, 8), dot("f32", 1, 17, 33, 7),
        dot("f32", 1, 2, 300, 66), dot("f32", 1, 64, 2, 9), dot("f16", 1, 19, 34, 10),
        dot("i32", 2, 18, 20, 6), dot("f32", 1, 9, 10, 0), transposed_dot(3, 17, 5),
        convolution(6, 8, 33, 1, 1), convolution(5, 4, 6, 5, 1)})
    cases.push_back(text);
  return cases;
}

class ScheduleTest : public ::testing::TestWithParam<Way> {};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

TEST_P(ScheduleTest, AgreesWithEvaluator) {
  const Way& way = GetParam();
  auto device = open_device(way.device);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  Caps caps = (*device)->caps();
  caps.device_class = way.device_class;
  caps.library_calls = false;
  if (way.device == std::string("cpu")) {  // as lavapipe says of itself
    caps.max_group_invocations = 1024;
    caps.subgroup_size = 8;
    caps.subgroup_shuffle = true;
  }
  for (const std::string& text : cases_of(way)) test::expect_agreement(text, **device, caps);
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleTest, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tuff
