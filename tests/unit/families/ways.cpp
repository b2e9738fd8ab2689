#include "tests/unit/families/ways.h"

#include <algorithm>
#include <ostream>

#include "backend/cpu/device.h"
#include "backend/vulkan/device.h"

namespace tuff::test {

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const std::vector<Way>& other_ways() {
  static const std::vector<Way> ways{
      {"discrete",
       [](Caps& caps) {
         caps.device_class = DeviceClass::kDiscreteGpu;
         caps.native_division = false;
       }},
      {"integrated", [](Caps& caps) { caps.device_class = DeviceClass::kIntegratedGpu; }},
      {"few_lanes",
       [](Caps& caps) {
         caps.device_class = DeviceClass::kDiscreteGpu;
         caps.max_group_invocations = 24;  // no power of two
       }},
      {"without_shuffles", [](Caps& caps) { caps.subgroup_shuffle = false; }},
      {"poor",
       [](Caps& caps) {
         caps.int64 = caps.float64 = caps.storage_8bit = caps.storage_16bit = false;
       }},
      {"short_loops", [](Caps& caps) { caps.max_loop_iterations = 2000; }}};
  return ways;
}

Result<std::unique_ptr<Device>> open_as(const Way& way) {
  VulkanOptions options;
  TUFF_ASSIGN(options.host, create_cpu_device());
  TUFF_ASSIGN(std::unique_ptr<VulkanDevice> device, VulkanDevice::create(0, options));
  DevicePlan plan = device->context().plan();
  way.change(plan.caps);
  device->context().narrow(std::move(plan));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace tuff::test
