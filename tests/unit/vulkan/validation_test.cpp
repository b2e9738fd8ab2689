// The messenger hears the validation layer: mistakes made on purpose are counted.
#include <cstdlib>

#include "tests/unit/vulkan/device_fixture.h"

namespace tuff {
namespace {

// Before the first instance is made.
const int kAsked = ::setenv("TUFF_VALIDATION", "1", 1);

std::unique_ptr<VulkanDevice> open_device() {
  auto device = VulkanDevice::create(0, {});
  return device ? std::move(device).value() : nullptr;
}

TEST(Validation, CountsAMistake) {
  ASSERT_EQ(kAsked, 0);
  auto device = open_device();
  if (device == nullptr) GTEST_SKIP() << "no Vulkan device or no validation layer";
  EXPECT_EQ(validation_errors(), 0);
  Context& context = device->context();
  VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                          .size = 0,
                          .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  VkBuffer buffer = VK_NULL_HANDLE;
  context.vk().CreateBuffer(context.device(), &info, nullptr, &buffer);
  EXPECT_GT(validation_errors(), 0);
  context.vk().DestroyBuffer(context.device(), buffer, nullptr);
}

TEST(Validation, CountsALeakWhenTheDeviceGoes) {
  auto device = open_device();
  if (device == nullptr) GTEST_SKIP() << "no Vulkan device or no validation layer";
  Context& context = device->context();
  auto fence = context.create_fence();
  ASSERT_TRUE(fence.ok());
  int64_t before = validation_errors();
  device.reset();
  EXPECT_GT(validation_errors(), before);
}

// A copy that reads what another copy writes, with no barrier between: what
// synchronization validation is for.
TEST(Validation, CountsAHazard) {
  auto device = open_device();
  if (device == nullptr) GTEST_SKIP() << "no Vulkan device or no validation layer";
  Context& context = device->context();
  const DeviceTable& vk = context.vk();
  auto buffer = VulkanBuffer::create(context, device->memory(), 256, MemoryUse::kDevice);
  auto other = VulkanBuffer::create(context, device->memory(), 256, MemoryUse::kDevice);
  VkCommandPool pool = *context.create_command_pool();
  VkCommandBuffer commands = *context.allocate_command_buffer(pool);
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkBufferCopy region{.size = 256};
  int64_t before = validation_errors();
  vk.BeginCommandBuffer(commands, &begin);
  vk.CmdCopyBuffer(commands, (*buffer)->handle(), (*other)->handle(), 1, &region);
  vk.CmdCopyBuffer(commands, (*other)->handle(), (*buffer)->handle(), 1, &region);
  vk.EndCommandBuffer(commands);
  EXPECT_GT(validation_errors(), before);
  vk.DestroyCommandPool(context.device(), pool, nullptr);
}

}  // namespace
}  // namespace tuff
