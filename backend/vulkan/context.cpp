#include "backend/vulkan/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/vulkan/error.h"

namespace tuff {

namespace {

// A hardware device that is silent for so long hangs; a software one computes.
constexpr uint64_t kHangSeconds = 600;
// How often a wait that fails is tried again: for some seconds.
constexpr int kWaitTries = 200;
constexpr std::chrono::milliseconds kBetweenWaits{10};

uint64_t wait_timeout_ns(const Caps& caps) {
  return caps.device_class == DeviceClass::kSoftwareRasteriser ? UINT64_MAX
                                                               : kHangSeconds * 1'000'000'000;
}

}  // namespace

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<Instance> instance,
                                                 VkPhysicalDevice physical, DeviceSnapshot snapshot,
                                                 DevicePlan plan, AdoptedDevice adopted) {
  std::unique_ptr<Context> context(new Context);
  context->instance_ = std::move(instance);
  context->snapshot_ = std::move(snapshot);
  context->plan_ = std::move(plan);
  context->physical_ = physical;
  if (adopted.device == VK_NULL_HANDLE) {
    TUFF_RETURN_IF_ERROR(context->create_device(physical));
    return context;
  }
  context->device_ = adopted.device, context->queue_ = adopted.queue;
  context->adopted_ = std::move(adopted);
  TUFF_ASSIGN(context->table_, load_device_table(context->instance_->table(), context->device_));
  return context;
}

Status Context::create_device(VkPhysicalDevice physical) {
  auto on = [](bool value) { return value ? VK_TRUE : VK_FALSE; };
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .features = plan_.features};
  VkPhysicalDevice16BitStorageFeatures storage16{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
      .storageBuffer16BitAccess = on(plan_.storage_16bit)};
  VkPhysicalDevice8BitStorageFeatures storage8{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
      .storageBuffer8BitAccess = on(plan_.storage_8bit)};
  VkPhysicalDeviceShaderFloat16Int8Features small{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
      .shaderFloat16 = on(plan_.float16),
      .shaderInt8 = on(plan_.int8)};
  VkPhysicalDeviceBufferDeviceAddressFeatures address{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
      .bufferDeviceAddress = on(plan_.buffer_device_address)};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = on(plan_.cooperative_matrix)};
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
      .subgroupSizeControl = on(plan_.subgroup_sizes),
      .computeFullSubgroups = on(plan_.subgroup_sizes)};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pipelineExecutableInfo = on(plan_.pipeline_statistics)};
  // A structure is linked only where its feature is on: then the device knows it.
  auto link = [&features](bool used, auto& next) {
    if (used) next.pNext = std::exchange(features.pNext, &next);
  };
  link(plan_.storage_16bit, storage16);
  link(plan_.storage_8bit, storage8);
  link(plan_.float16 || plan_.int8, small);
  link(plan_.buffer_device_address, address);
  link(plan_.cooperative_matrix, matrix);
  link(plan_.subgroup_sizes, sizes);
  link(plan_.pipeline_statistics, executables);

  float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                .queueFamilyIndex = plan_.queue_family,
                                .queueCount = 1,
                                .pQueuePriorities = &priority};
  VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                          .pNext = &features,
                          .queueCreateInfoCount = 1,
                          .pQueueCreateInfos = &queue,
                          .enabledExtensionCount = static_cast<uint32_t>(plan_.extensions.size()),
                          .ppEnabledExtensionNames = plan_.extensions.data()};
  const InstanceTable& vk = instance_->table();
  TUFF_VK_RETURN_IF_ERROR(vk.CreateDevice(physical, &info, nullptr, &device_),
                          fmt::format("open the device ({})", plan_.caps.name));
  TUFF_ASSIGN(table_, load_device_table(vk, device_));
  table_.GetDeviceQueue(device_, plan_.queue_family, 0, &queue_);
  return {};
}

Context::~Context() {
  if (table_.DestroyDevice == nullptr) return;
  if (pending_) {  // the driver's threads go on, and so must what they belong to
    static auto& kept = *new std::vector<std::shared_ptr<Instance>>;
    static std::mutex& mutex = *new std::mutex;
    std::lock_guard lock(mutex);
    kept.push_back(instance_);
  }
  if (adopted_) return;  // all that was submitted has been waited for
  wait_idle();
  vk().DestroyDevice(device_, nullptr);
}

template <typename Use>
VkResult Context::with_queue(Use&& use) {
  std::lock_guard lock(queue_mutex_);
  bool shared = adopted_ && adopted_->lock && adopted_->unlock;
  if (shared) adopted_->lock();
  VkResult result = use();
  if (shared) adopted_->unlock();
  return result;
}

Result<VkCommandPool> Context::create_command_pool() {
  VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                               .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                               .queueFamilyIndex = plan_.queue_family};
  VkCommandPool pool = VK_NULL_HANDLE;
  TUFF_VK_RETURN_IF_ERROR(vk().CreateCommandPool(device_, &info, nullptr, &pool),
                          "create a command pool");
  return pool;
}

Result<VkCommandBuffer> Context::allocate_command_buffer(VkCommandPool pool) {
  VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                   .commandPool = pool,
                                   .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                   .commandBufferCount = 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  TUFF_VK_RETURN_IF_ERROR(vk().AllocateCommandBuffers(device_, &info, &commands),
                          "allocate a command buffer");
  return commands;
}

Result<VkFence> Context::create_fence() {
  VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence = VK_NULL_HANDLE;
  TUFF_VK_RETURN_IF_ERROR(vk().CreateFence(device_, &info, nullptr, &fence), "create a fence");
  return fence;
}

Status Context::submit(VkCommandBuffer commands, VkFence fence) {
  if (lost_) return vk_error(VK_ERROR_DEVICE_LOST, "use the device, which was lost before");
  if (fence != VK_NULL_HANDLE)
    TUFF_VK_RETURN_IF_ERROR(vk().ResetFences(device_, 1, &fence), "reset a fence");
  VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                      .commandBufferCount = 1,
                      .pCommandBuffers = &commands};
  VkResult result = with_queue([&] { return vk().QueueSubmit(queue_, 1, &submit, fence); });
  if (result != VK_SUCCESS) return lost(result, "submit commands");
  return {};
}

Status Context::submit_semaphores(std::span<const SemaphoreValue> wait,
                                  std::span<const SemaphoreValue> signal) {
  if (lost_) return vk_error(VK_ERROR_DEVICE_LOST, "use the device, which was lost before");
  std::vector<VkSemaphore> waits, signals;
  std::vector<uint64_t> wait_values, signal_values;
  for (const SemaphoreValue& one : wait)
    waits.push_back(one.semaphore), wait_values.push_back(one.value);
  for (const SemaphoreValue& one : signal)
    signals.push_back(one.semaphore), signal_values.push_back(one.value);
  std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo values{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = static_cast<uint32_t>(wait_values.size()),
      .pWaitSemaphoreValues = wait_values.data(),
      .signalSemaphoreValueCount = static_cast<uint32_t>(signal_values.size()),
      .pSignalSemaphoreValues = signal_values.data()};
  VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                      .pNext = snapshot_.timeline_semaphore ? &values : nullptr,
                      .waitSemaphoreCount = static_cast<uint32_t>(waits.size()),
                      .pWaitSemaphores = waits.data(),
                      .pWaitDstStageMask = stages.data(),
                      .signalSemaphoreCount = static_cast<uint32_t>(signals.size()),
                      .pSignalSemaphores = signals.data()};
  VkResult result =
      with_queue([&] { return vk().QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE); });
  if (result != VK_SUCCESS) return lost(result, "submit semaphores");
  return {};
}

Status Context::wait(VkFence fence) {
  VkResult result = wait_for(fence);
  if (result != VK_SUCCESS) return lost(result, "finish the commands");
  return {};
}

Status Context::submit_and_wait(VkCommandBuffer commands, VkFence fence) {
  TUFF_RETURN_IF_ERROR(submit(commands, fence));
  return wait(fence);
}

void Context::wait_idle() {
  if (!lost_) with_queue([&] { return vk().QueueWaitIdle(queue_); });
}

std::optional<uint64_t> Context::free_bytes(uint32_t heap) const {
  MemoryState memory = read_memory(*instance_, physical_, snapshot_);
  if (heap >= memory.budget.size() || memory.budget[heap] == 0) return std::nullopt;
  return memory.budget[heap] - std::min(memory.budget[heap], memory.usage[heap]);
}

// A wait that fails, for want of memory say, has not waited: the commands still run.
VkResult Context::wait_for(VkFence fence) {
  for (int tries = 1;; ++tries) {
    VkResult result = vk().WaitForFences(device_, 1, &fence, VK_TRUE, wait_timeout_ns(plan_.caps));
    if (result == VK_TIMEOUT || (result < 0 && tries == kWaitTries)) pending_ = true;
    if (result >= 0 || result == VK_ERROR_DEVICE_LOST || pending_) return result;
    std::this_thread::sleep_for(kBetweenWaits);
  }
}

// Nothing on a device whose commands may still run can be trusted or reused: the same as a
// lost device.
Status Context::lost(VkResult result, const char* phrase) {
  if (result == VK_ERROR_DEVICE_LOST || pending_) lost_ = true;
  if (result == VK_TIMEOUT)
    return Error{
        ErrorCode::kDeviceLost,
        fmt::format("The device ({}) does not finish its work within {} seconds; it hangs. "
                    "Start the process again.",
                    plan_.caps.name, kHangSeconds),
        ""};
  if (pending_ && result != VK_ERROR_DEVICE_LOST)
    return Error{ErrorCode::kDeviceLost,
                 fmt::format("{} It is not known when the device ({}) is done, so it is not used "
                             "again. Start the process again.",
                             vk_error(result, phrase).message, plan_.caps.name),
                 ""};
  return vk_error(result, phrase);
}

}  // namespace tuff
