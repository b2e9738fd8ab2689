// The least Vulkan that runs one compute shader over three buffers; the prelude's
// tests do not depend on the backend they underlie.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tuff::test {

class ComputeDevice {
 public:
  ComputeDevice();  // ready() is false where there is no device
  ~ComputeDevice();
  ComputeDevice(const ComputeDevice&) = delete;

  bool ready() const { return device_ != VK_NULL_HANDLE; }
  const std::string& name() const { return name_; }
  bool has_64_bits() const { return has_64_bits_; }

  // Dispatches the shader with bindings a, b (read) and the result, 64 invocations a
  // workgroup; a.size() == b.size() is a multiple of 64.
  std::vector<uint32_t> run(const std::vector<uint32_t>& spirv, const std::vector<uint32_t>& a,
                            const std::vector<uint32_t>& b);

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  std::string name_;
  bool has_64_bits_ = false;
};

}  // namespace tuff::test
