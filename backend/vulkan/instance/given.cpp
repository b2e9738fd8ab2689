#include "backend/vulkan/instance/given.h"

#include <fmt/format.h>

#include <cstring>

namespace tuff {

namespace {

// The features that Vulkan's structures name, one by one or as a version's.
struct Given {
  VkPhysicalDeviceFeatures features{};
  bool storage_8bit = false, storage_16bit = false, float16 = false, int8 = false;
  bool buffer_device_address = false, timeline_semaphore = false, vulkan_memory_model = false;
  bool subgroup_size_control = false, full_subgroups = false;
  bool cooperative_matrix = false, pipeline_executable_info = false;
};

// Adds what one structure of the chain says.
void add(const VkBaseInStructure& base, Given& given) {
  const void* any = &base;
  switch (static_cast<uint32_t>(base.sType)) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
      given.features = static_cast<const VkPhysicalDeviceFeatures2*>(any)->features;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
      given.storage_16bit |=
          static_cast<const VkPhysicalDeviceVulkan11Features*>(any)->storageBuffer16BitAccess != 0;
      return;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
      const auto& on = *static_cast<const VkPhysicalDeviceVulkan12Features*>(any);
      given.storage_8bit |= on.storageBuffer8BitAccess != 0;
      given.float16 |= on.shaderFloat16 != 0;
      given.int8 |= on.shaderInt8 != 0;
      given.buffer_device_address |= on.bufferDeviceAddress != 0;
      given.timeline_semaphore |= on.timelineSemaphore != 0;
      given.vulkan_memory_model |= on.vulkanMemoryModel != 0;
      return;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
      const auto& on = *static_cast<const VkPhysicalDeviceVulkan13Features*>(any);
      given.subgroup_size_control |= on.subgroupSizeControl != 0;
      given.full_subgroups |= on.computeFullSubgroups != 0;
      return;
    }
#define TUFF_GIVEN(type_name, Structure, field, member)                               \
  case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type_name:                                 \
    given.member |= static_cast<const VkPhysicalDevice##Structure*>(any)->field != 0; \
    return;
      TUFF_GIVEN(16BIT_STORAGE_FEATURES, 16BitStorageFeatures, storageBuffer16BitAccess,
                 storage_16bit)
      TUFF_GIVEN(8BIT_STORAGE_FEATURES, 8BitStorageFeatures, storageBuffer8BitAccess, storage_8bit)
      TUFF_GIVEN(BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddressFeatures, bufferDeviceAddress,
                 buffer_device_address)
      TUFF_GIVEN(TIMELINE_SEMAPHORE_FEATURES, TimelineSemaphoreFeatures, timelineSemaphore,
                 timeline_semaphore)
      TUFF_GIVEN(VULKAN_MEMORY_MODEL_FEATURES, VulkanMemoryModelFeatures, vulkanMemoryModel,
                 vulkan_memory_model)
      TUFF_GIVEN(COOPERATIVE_MATRIX_FEATURES_KHR, CooperativeMatrixFeaturesKHR, cooperativeMatrix,
                 cooperative_matrix)
      TUFF_GIVEN(PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
                 PipelineExecutablePropertiesFeaturesKHR, pipelineExecutableInfo,
                 pipeline_executable_info)
#undef TUFF_GIVEN
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
      const auto& on = *static_cast<const VkPhysicalDeviceShaderFloat16Int8Features*>(any);
      given.float16 |= on.shaderFloat16 != 0;
      given.int8 |= on.shaderInt8 != 0;
      return;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
      const auto& on = *static_cast<const VkPhysicalDeviceSubgroupSizeControlFeatures*>(any);
      given.subgroup_size_control |= on.subgroupSizeControl != 0;
      given.full_subgroups |= on.computeFullSubgroups != 0;
      return;
    }
    default: return;
  }
}

Given read_chain(const VkDeviceCreateInfo& made_with) {
  Given given;
  if (made_with.pEnabledFeatures != nullptr) given.features = *made_with.pEnabledFeatures;
  const auto* next = static_cast<const VkBaseInStructure*>(made_with.pNext);
  for (; next != nullptr; next = next->pNext) add(*next, given);
  return given;
}

}  // namespace

void narrow_to_given(const VkDeviceCreateInfo& made_with, uint32_t queue_family,
                     DeviceSnapshot& s) {
  Given given = read_chain(made_with);
  constexpr size_t kFeatures = sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32);
  VkBool32 has[kFeatures], on[kFeatures];
  std::memcpy(has, &s.features, sizeof has);
  std::memcpy(on, &given.features, sizeof on);
  for (size_t i = 0; i < kFeatures; ++i) has[i] = has[i] && on[i] ? VK_TRUE : VK_FALSE;
  std::memcpy(&s.features, has, sizeof has);
  s.given = fmt::format("\ngiven {} {} {}", s.features.shaderInt64, s.features.shaderFloat64,
                        s.features.shaderInt16);
  auto narrow = [&s](bool& known, bool turned_on) {
    known = known && turned_on;
    s.given += known ? " 1" : " 0";
  };
  narrow(s.storage_8bit, given.storage_8bit);
  narrow(s.storage_16bit, given.storage_16bit);
  narrow(s.float16, given.float16);
  narrow(s.int8, given.int8);
  narrow(s.buffer_device_address, given.buffer_device_address);
  narrow(s.timeline_semaphore, given.timeline_semaphore);
  narrow(s.vulkan_memory_model, given.vulkan_memory_model);
  narrow(s.subgroup_size_control, given.subgroup_size_control);
  narrow(s.full_subgroups, given.full_subgroups);
  narrow(s.cooperative_matrix, given.cooperative_matrix);
  narrow(s.pipeline_executable_info, given.pipeline_executable_info);
  for (uint32_t i = 0; i < s.queue_families.size(); ++i)
    if (i != queue_family) s.queue_families[i].queueCount = 0;
}

}  // namespace tuff
