#include "backend/vulkan/instance/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>

#include "backend/vulkan/error.h"

namespace tuff {

namespace {

// A pNext chain that links only what the device knows.
class Chain {
 public:
  explicit Chain(void* head) : last_(static_cast<VkBaseOutStructure*>(head)) {}
  template <typename T>
  void add_if(bool known, T& next) {
    if (!known) return;
    last_->pNext = reinterpret_cast<VkBaseOutStructure*>(&next);
    last_ = last_->pNext;
  }

 private:
  VkBaseOutStructure* last_;
};

bool core_or(const DeviceSnapshot& s, uint32_t version, const char* extension) {
  return s.api_version() >= version || s.has(extension);
}

Status read_extensions(const InstanceTable& vk, VkPhysicalDevice device, DeviceSnapshot& s) {
  uint32_t count = 0;
  TUFF_VK_RETURN_IF_ERROR(vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr),
                          "list the device's extensions");
  std::vector<VkExtensionProperties> extensions(count);
  TUFF_VK_RETURN_IF_ERROR(
      vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()),
      "list the device's extensions");
  for (const VkExtensionProperties& extension : extensions)
    s.extensions.insert(extension.extensionName);
  return {};
}

void read_properties(const InstanceTable& vk, VkPhysicalDevice device, DeviceSnapshot& s) {
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceIDProperties id{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties limits3{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceMaintenance4Properties limits4{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{.sType =
                                              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  Chain chain(&properties);
  chain.add_if(true, id);
  chain.add_if(true, limits3);
  chain.add_if(true, subgroup);
  chain.add_if(core_or(s, VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME), limits4);
  chain.add_if(core_or(s, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME), sizes);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME), driver);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME), floats);
  VkPhysicalDeviceShaderCoreProperties2AMD units{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM shader_cores{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
  chain.add_if(s.has(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME), units);
  chain.add_if(s.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME), multiprocessors);
  chain.add_if(s.has(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME), shader_cores);
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  bool has_pci = s.has(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  chain.add_if(has_pci, pci);
  vk.GetPhysicalDeviceProperties2(device, &properties);

  if (has_pci)
    s.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.pciDomain, pci.pciBus,
                                pci.pciDevice, pci.pciFunction);
  std::copy_n(id.deviceUUID, VK_UUID_SIZE, s.device_uuid.begin());
  std::copy_n(id.driverUUID, VK_UUID_SIZE, s.driver_uuid.begin());
  s.max_allocation_bytes = limits3.maxMemoryAllocationSize;
  s.max_buffer_bytes = limits4.maxBufferSize;
  s.subgroup_size = subgroup.subgroupSize;
  s.subgroup_operations = subgroup.supportedOperations;
  s.subgroup_stages = subgroup.supportedStages;
  // Each vendor tells its own.
  s.cores = std::max(
      {units.activeComputeUnitCount, multiprocessors.shaderSMCount, shader_cores.shaderCoreCount});
  s.min_subgroup_size = sizes.minSubgroupSize;
  s.max_subgroup_size = sizes.maxSubgroupSize;
  s.required_subgroup_size_stages = sizes.requiredSubgroupSizeStages;
  s.driver_id = driver.driverID;
  s.driver_name = driver.driverName;
  s.driver_info = driver.driverInfo;
  s.signed_zero_inf_nan_preserve_f32 = floats.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE;
}

void read_features(const InstanceTable& vk, VkPhysicalDevice device, DeviceSnapshot& s) {
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDevice16BitStorageFeatures storage16{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeatures storage8{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderFloat16Int8Features small{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDeviceBufferDeviceAddressFeatures address{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceVulkanMemoryModelFeatures model{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  Chain chain(&features);
  chain.add_if(true, storage16);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME), storage8);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME), small);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME),
               address);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME), timeline);
  chain.add_if(core_or(s, VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME), model);
  chain.add_if(core_or(s, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME), sizes);
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  chain.add_if(s.has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME), matrix);
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  chain.add_if(s.has(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME), executables);
  vk.GetPhysicalDeviceFeatures2(device, &features);

  s.features = features.features;
  s.storage_16bit = storage16.storageBuffer16BitAccess == VK_TRUE;
  s.storage_8bit = storage8.storageBuffer8BitAccess == VK_TRUE;
  s.float16 = small.shaderFloat16 == VK_TRUE;
  s.int8 = small.shaderInt8 == VK_TRUE;
  s.buffer_device_address = address.bufferDeviceAddress == VK_TRUE;
  s.timeline_semaphore = timeline.timelineSemaphore == VK_TRUE;
  s.vulkan_memory_model = model.vulkanMemoryModel == VK_TRUE;
  s.subgroup_size_control = sizes.subgroupSizeControl == VK_TRUE;
  s.full_subgroups = sizes.computeFullSubgroups == VK_TRUE;
  s.cooperative_matrix = matrix.cooperativeMatrix == VK_TRUE;
  s.pipeline_executable_info = executables.pipelineExecutableInfo == VK_TRUE;
}

void read_matrix_shapes(const InstanceTable& vk, VkPhysicalDevice device, DeviceSnapshot& s) {
  if (!s.cooperative_matrix || vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr)
    return;
  uint32_t count = 0;
  vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, nullptr);
  std::vector<VkCooperativeMatrixPropertiesKHR> rows(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, &count, rows.data());
  auto type = [](VkComponentTypeKHR value) { return static_cast<int32_t>(value); };
  for (const VkCooperativeMatrixPropertiesKHR& row : rows)
    s.cooperative_matrix_shapes.push_back({row.MSize, row.NSize, row.KSize, type(row.AType),
                                           type(row.BType), type(row.CType), type(row.ResultType),
                                           row.saturatingAccumulation == VK_TRUE,
                                           row.scope == VK_SCOPE_SUBGROUP_KHR});
}

}  // namespace

Result<DeviceSnapshot> snapshot_device(const Instance& instance, VkPhysicalDevice device) {
  const InstanceTable& vk = instance.table();
  DeviceSnapshot s;
  vk.GetPhysicalDeviceProperties(device, &s.properties);
  s.properties.apiVersion = std::min(s.properties.apiVersion, instance.api_version());
#if defined(__aarch64__)
  s.host_is_arm64 = true;
#endif
  if (s.properties.apiVersion < VK_API_VERSION_1_1) return s;
  TUFF_RETURN_IF_ERROR(read_extensions(vk, device, s));
  read_properties(vk, device, s);
  read_features(vk, device, s);
  read_matrix_shapes(vk, device, s);
  MemoryState memory = read_memory(instance, device, s);
  s.memory = memory.properties;
  s.heap_budget = std::move(memory.budget);
  s.heap_usage = std::move(memory.usage);
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  s.queue_families.resize(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, s.queue_families.data());
  return s;
}

MemoryState read_memory(const Instance& instance, VkPhysicalDevice device,
                        const DeviceSnapshot& s) {
  VkPhysicalDeviceMemoryProperties2 memory{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  bool has_budget = s.has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  Chain(&memory).add_if(has_budget, budget);
  instance.table().GetPhysicalDeviceMemoryProperties2(device, &memory);
  MemoryState state;
  state.properties = memory.memoryProperties;
  for (uint32_t heap = 0; has_budget && heap < state.properties.memoryHeapCount; ++heap) {
    state.budget.push_back(budget.heapBudget[heap]);
    state.usage.push_back(budget.heapUsage[heap]);
  }
  return state;
}

std::string driver_identity(const DeviceSnapshot& s) {
  auto hex = [](std::span<const uint8_t> bytes) {
    std::string text;
    for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
  };
  const VkPhysicalDeviceProperties& p = s.properties;
  return fmt::format("{} {:x} {:x} {:x}\n{}\n{}\n{} {}\n{} {}\nsubgroups {} {} {}{}", p.deviceName,
                     p.vendorID, p.deviceID, p.driverVersion, hex(p.pipelineCacheUUID),
                     hex(s.device_uuid), hex(s.driver_uuid), s.driver_name, s.driver_info,
                     format_version(p.apiVersion), s.subgroup_size, s.min_subgroup_size,
                     s.max_subgroup_size, s.given);
}

std::string format_version(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

}  // namespace tuff
