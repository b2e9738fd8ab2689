// Devices, buffers and semaphores of the application's own.
#include <fmt/format.h>

#include "backend/vulkan/device.h"
#include "backend/vulkan/instance/given.h"

namespace tuff {

namespace {

Error wrong_use(std::string sentence) { return {ErrorCode::kUsage, std::move(sentence), ""}; }

Status check_given(const GivenDevice& given) {
  const std::pair<const void*, const char*> needed[] = {{given.instance, "VkInstance"},
                                                        {given.physical_device, "VkPhysicalDevice"},
                                                        {given.device, "VkDevice"},
                                                        {given.queue, "VkQueue"},
                                                        {given.made_with, "VkDeviceCreateInfo"}};
  for (const auto& [handle, name] : needed)
    if (handle == nullptr)
      return wrong_use(fmt::format("A device of the application's own needs its ({}).", name));
  if (given.api_version < VK_API_VERSION_1_1)
    return wrong_use(
        fmt::format("The application's instance is made for Vulkan {}, and tuff needs 1.1 or "
                    "newer: apiVersion of its VkApplicationInfo.",
                    format_version(given.api_version)));
  return {};
}

// Non-dispatchable handles are pointers or numbers, as the machine has it.
template <typename Handle>
Handle handle_of(uint64_t number) {
  return (Handle)number;  // NOLINT: either kind of cast
}

Result<VulkanDevice*> vulkan_device(Device& device) {
  if (auto* own = dynamic_cast<VulkanDevice*>(&device)) return own;
  return wrong_use("The device is no Vulkan device.");
}

Result<std::vector<SemaphoreValue>> semaphores_of(std::span<const VulkanSemaphore> given,
                                                  const DeviceSnapshot& snapshot) {
  std::vector<SemaphoreValue> semaphores;
  for (const VulkanSemaphore& one : given) {
    if (one.handle == 0) return wrong_use("A semaphore is VK_NULL_HANDLE.");
    if (one.value != 0 && !snapshot.timeline_semaphore)
      return wrong_use(
          fmt::format("A semaphore has the value ({}), and the device was made without the feature "
                      "timelineSemaphore.",
                      one.value));
    semaphores.push_back({handle_of<VkSemaphore>(one.handle), one.value});
  }
  return semaphores;
}

}  // namespace

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::adopt(const GivenDevice& given,
                                                          const VulkanOptions& options) {
  TUFF_RETURN_IF_ERROR(check_given(given));
  Found found;
  TUFF_ASSIGN(
      found.instance,
      Instance::adopt(static_cast<VkInstance>(given.instance), given.api_version,
                      reinterpret_cast<PFN_vkGetInstanceProcAddr>(given.get_instance_proc_addr)));
  found.physical = static_cast<VkPhysicalDevice>(given.physical_device);
  TUFF_ASSIGN(found.snapshot, snapshot_device(*found.instance, found.physical));
  if (given.queue_family >= found.snapshot.queue_families.size())
    return wrong_use(fmt::format("The device ({}) has no queue family ({}).",
                                 found.snapshot.properties.deviceName, given.queue_family));
  narrow_to_given(*static_cast<const VkDeviceCreateInfo*>(given.made_with), given.queue_family,
                  found.snapshot);
  found.description = fmt::format("{}, of the application", found.snapshot.properties.deviceName);
  found.adopted = {static_cast<VkDevice>(given.device), static_cast<VkQueue>(given.queue),
                   given.lock, given.unlock};
  return open(std::move(found), options);
}

Result<std::unique_ptr<Device>> adopt_vulkan_device(const GivenDevice& given,
                                                    const VulkanOptions& options) {
  TUFF_ASSIGN(auto device, VulkanDevice::adopt(given, options));
  return std::unique_ptr<Device>(std::move(device));
}

Result<BufferPtr> wrap_vulkan_buffer(Device& device, uint64_t handle, int64_t offset_bytes,
                                     int64_t size_bytes, std::shared_ptr<const void> owner) {
  TUFF_ASSIGN(VulkanDevice * own, vulkan_device(device));
  int64_t alignment = own->caps().min_storage_offset_alignment;
  if (handle == 0) return wrong_use("The buffer is VK_NULL_HANDLE.");
  if (offset_bytes < 0 || offset_bytes % alignment != 0)
    return wrong_use(
        fmt::format("The offset ({}) is no multiple of the device's "
                    "minStorageBufferOffsetAlignment ({}).",
                    offset_bytes, alignment));
  return BufferPtr(VulkanBuffer::wrap(own->context(), own->memory(), handle_of<VkBuffer>(handle),
                                      offset_bytes, size_bytes, std::move(owner)));
}

VulkanPlace vulkan_place(const Buffer& buffer) {
  auto* own = dynamic_cast<const VulkanBuffer*>(&buffer);
  if (own == nullptr) return {};
  return {(uint64_t)own->handle(), own->offset_bytes()};  // NOLINT: see handle_of
}

Status submit_semaphores(Device& device, std::span<const VulkanSemaphore> wait,
                         std::span<const VulkanSemaphore> signal) {
  TUFF_ASSIGN(VulkanDevice * own, vulkan_device(device));
  Context& context = own->context();
  TUFF_ASSIGN(auto waits, semaphores_of(wait, context.snapshot()));
  TUFF_ASSIGN(auto signals, semaphores_of(signal, context.snapshot()));
  return context.submit_semaphores(waits, signals);
}

}  // namespace tuff
