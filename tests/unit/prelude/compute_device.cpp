#include "compute_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tuff::test {
namespace {

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: VkResult %d\n", what, result);
  std::abort();
}
#define CHECK_VK(call) check(call, #call)

}  // namespace

ComputeDevice::ComputeDevice() {
  const VkApplicationInfo app{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                              .pNext = nullptr,
                              .pApplicationName = "prelude_device_test",
                              .applicationVersion = 0,
                              .pEngineName = nullptr,
                              .engineVersion = 0,
                              .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &app;
  if (vkCreateInstance(&instance_info, nullptr, &instance_) != VK_SUCCESS) return;
  uint32_t count = 1;
  const VkResult found = vkEnumeratePhysicalDevices(instance_, &count, &physical_);
  if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || count == 0) return;
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical_, &properties);
  name_ = properties.deviceName;
  VkPhysicalDeviceFeatures features{}, wanted{};
  vkGetPhysicalDeviceFeatures(physical_, &features);
  has_64_bits_ = features.shaderInt64 && features.shaderFloat64;
  wanted.shaderInt64 = wanted.shaderFloat64 = has_64_bits_;

  std::vector<VkQueueFamilyProperties> families(16);
  uint32_t num_families = families.size();
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &num_families, families.data());
  while (family_ < num_families && !(families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
    ++family_;
  }
  if (family_ == num_families) return;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = family_;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{};
  device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  device_info.pEnabledFeatures = &wanted;
  if (vkCreateDevice(physical_, &device_info, nullptr, &device_) != VK_SUCCESS) return;
  vkGetDeviceQueue(device_, family_, 0, &queue_);
}

ComputeDevice::~ComputeDevice() {
  if (device_) vkDestroyDevice(device_, nullptr);
  if (instance_) vkDestroyInstance(instance_, nullptr);
}

std::vector<uint32_t> ComputeDevice::run(const std::vector<uint32_t>& spirv,
                                         const std::vector<uint32_t>& a,
                                         const std::vector<uint32_t>& b) {
  const VkDeviceSize bytes = a.size() * 4;
  VkPhysicalDeviceMemoryProperties memories;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memories);
  VkBuffer buffers[3];
  VkDeviceMemory memory[3];
  void* mapped[3];
  for (int i = 0; i < 3; ++i) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    CHECK_VK(vkCreateBuffer(device_, &info, nullptr, &buffers[i]));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device_, buffers[i], &needs);
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.allocationSize = needs.size;
    for (uint32_t type = memories.memoryTypeCount; type-- > 0;) {
      const bool fits = needs.memoryTypeBits >> type & 1;
      if (fits && (memories.memoryTypes[type].propertyFlags & wanted) == wanted) {
        allocate.memoryTypeIndex = type;
      }
    }
    CHECK_VK(vkAllocateMemory(device_, &allocate, nullptr, &memory[i]));
    CHECK_VK(vkBindBufferMemory(device_, buffers[i], memory[i], 0));
    CHECK_VK(vkMapMemory(device_, memory[i], 0, bytes, 0, &mapped[i]));
  }
  std::memcpy(mapped[0], a.data(), bytes);
  std::memcpy(mapped[1], b.data(), bytes);

  VkDescriptorSetLayoutBinding bindings[3]{};
  for (uint32_t i = 0; i < 3; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  VkDescriptorSetLayoutCreateInfo set_info{};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set_info.bindingCount = 3;
  set_info.pBindings = bindings;
  VkDescriptorSetLayout set_layout;
  CHECK_VK(vkCreateDescriptorSetLayout(device_, &set_info, nullptr, &set_layout));
  VkPipelineLayoutCreateInfo layout_info{};
  layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &set_layout;
  VkPipelineLayout layout;
  CHECK_VK(vkCreatePipelineLayout(device_, &layout_info, nullptr, &layout));
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = spirv.size() * 4;
  module_info.pCode = spirv.data();
  VkShaderModule module;
  CHECK_VK(vkCreateShaderModule(device_, &module_info, nullptr, &module));
  VkComputePipelineCreateInfo pipeline_info{};
  pipeline_info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline_info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline_info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline_info.stage.module = module;
  pipeline_info.stage.pName = "main";
  pipeline_info.layout = layout;
  VkPipeline pipeline;
  CHECK_VK(
      vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline));

  const VkDescriptorPoolSize pool_size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &pool_size;
  VkDescriptorPool pool;
  CHECK_VK(vkCreateDescriptorPool(device_, &pool_info, nullptr, &pool));
  VkDescriptorSetAllocateInfo set_allocate{};
  set_allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  set_allocate.descriptorPool = pool;
  set_allocate.descriptorSetCount = 1;
  set_allocate.pSetLayouts = &set_layout;
  VkDescriptorSet set;
  CHECK_VK(vkAllocateDescriptorSets(device_, &set_allocate, &set));
  VkDescriptorBufferInfo infos[3];
  VkWriteDescriptorSet writes[3]{};
  for (uint32_t i = 0; i < 3; ++i) {
    infos[i] = {buffers[i], 0, VK_WHOLE_SIZE};
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &infos[i];
  }
  vkUpdateDescriptorSets(device_, 3, writes, 0, nullptr);

  VkCommandPoolCreateInfo command_pool_info{};
  command_pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  command_pool_info.queueFamilyIndex = family_;
  VkCommandPool command_pool;
  CHECK_VK(vkCreateCommandPool(device_, &command_pool_info, nullptr, &command_pool));
  VkCommandBufferAllocateInfo command_info{};
  command_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  command_info.commandPool = command_pool;
  command_info.commandBufferCount = 1;
  VkCommandBuffer commands;
  CHECK_VK(vkAllocateCommandBuffers(device_, &command_info, &commands));
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  CHECK_VK(vkBeginCommandBuffer(commands, &begin));
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
  vkCmdDispatch(commands, static_cast<uint32_t>(a.size() / 64), 1, 1);
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       0, 1, &barrier, 0, nullptr, 0, nullptr);
  CHECK_VK(vkEndCommandBuffer(commands));
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  CHECK_VK(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE));
  CHECK_VK(vkQueueWaitIdle(queue_));

  std::vector<uint32_t> result(a.size());
  std::memcpy(result.data(), mapped[2], bytes);
  vkDestroyCommandPool(device_, command_pool, nullptr);
  vkDestroyDescriptorPool(device_, pool, nullptr);
  vkDestroyPipeline(device_, pipeline, nullptr);
  vkDestroyShaderModule(device_, module, nullptr);
  vkDestroyPipelineLayout(device_, layout, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout, nullptr);
  for (int i = 0; i < 3; ++i) {
    vkDestroyBuffer(device_, buffers[i], nullptr);
    vkFreeMemory(device_, memory[i], nullptr);
  }
  return result;
}

}  // namespace tuff::test
