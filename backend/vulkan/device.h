// VulkanDevice: the Device interface over a Context.
#pragma once

#include <memory>
#include <string>

#include "backend/vulkan/program.h"
#include "backend/vulkan/vulkan.h"

namespace tuff {

class VulkanDevice final : public Device {
 public:
  static Result<std::unique_ptr<VulkanDevice>> create(int index, const VulkanOptions& options);
  static Result<std::unique_ptr<VulkanDevice>> adopt(const GivenDevice& given,
                                                     const VulkanOptions& options);

  const Caps& caps() const override { return context_->caps(); }
  std::string description() const override { return description_; }
  Result<BufferPtr> allocate(int64_t size_bytes) override;
  Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) override;
  Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) override;
  Result<KernelCode> kernel_code(const Program& program) override;
  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override;
  Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override;

  // See take_tuning.
  bool take_tuning(const Tuning& faster);

  Context& context() { return *context_; }
  MemoryPool& memory() { return *memory_; }
  ProgramServices services() { return {*context_, *memory_, *transfer_, *pipelines_, host_.get()}; }

 private:
  VulkanDevice() = default;
  // A device that was found, not opened yet.
  struct Found {
    std::shared_ptr<Instance> instance;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    DeviceSnapshot snapshot;
    std::string description;
    AdoptedDevice adopted;  // its device is null where tuff makes its own
  };
  static Result<std::unique_ptr<VulkanDevice>> open(Found found, const VulkanOptions& options);
  Result<const VulkanBuffer*> own(const Buffer& buffer) const;

  std::string description_;
  std::shared_ptr<Device> host_;      // may be null
  std::shared_ptr<DiskCache> cache_;  // may be null
  // In order of dependence: destroyed from the last to the first.
  std::unique_ptr<Context> context_;
  std::unique_ptr<MemoryPool> memory_;
  std::unique_ptr<Transfer> transfer_;
  std::unique_ptr<PipelineStore> pipelines_;
};

}  // namespace tuff
