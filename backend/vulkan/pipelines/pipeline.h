// Pipelines of one device: GLSL -> SPIR-V (compiled, or from the disk cache) ->
// VkPipeline, each text once. Some that no program has any more are kept for the next one.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cache.h"
#include "backend/device.h"
#include "backend/vulkan/context.h"
#include "shaders/emit/emit_glsl.h"

namespace tuff {

// A compute pipeline with its layouts. Descriptor set 0 has num_descriptors
// storage buffers; null layout iff it has none.
class Pipeline {
 public:
  Pipeline(Context& context, const GlslShader& shader)
      : num_descriptors(shader.num_descriptors),
        num_addresses(shader.num_addresses),
        push_constant_bytes(shader.push_constant_bytes),
        subgroup_size(shader.subgroup_size),
        context_(context) {}
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // `spirv` must be valid. Thread-safe in `cache`.
  Status create(std::span<const uint32_t> spirv, VkPipelineCache cache);

  const uint32_t num_descriptors, num_addresses, push_constant_bytes, subgroup_size;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline handle = VK_NULL_HANDLE;

 private:
  Status create_layouts();
  Context& context_;
};
using PipelinePtr = std::shared_ptr<const Pipeline>;

// Thread-safe.
class PipelineStore {
 public:
  // Of those that no program has, the ones used last. A driver takes 10 to 400 KiB for one.
  static constexpr size_t kMaxUnused = 256;

  // `cache` may be null.
  static Result<std::unique_ptr<PipelineStore>> create(Context& context,
                                                       std::shared_ptr<DiskCache> cache);
  ~PipelineStore();

  // One pipeline per shader, made in parallel where the store has none yet.
  // Counts into stats; calls progress(done, total) as pipelines become ready.
  Result<std::vector<PipelinePtr>> pipelines(const std::vector<GlslShader>& shaders,
                                             const LoadOptions& options, LoadStats& stats);
  // What becomes of GLSL texts.
  Result<KernelCode> code(const std::vector<std::string>& texts);

 private:
  PipelineStore(Context& context, std::shared_ptr<DiskCache> cache)
      : context_(context), cache_(std::move(cache)) {}
  Status create_driver_cache();
  void save_driver_cache();
  // From `code`, which may be null, the disk or the compiler; valid in any case.
  Result<std::vector<uint32_t>> spirv(const std::string& text, const KernelCode* code, bool& found);
  PipelinePtr find(const std::string& text);
  // Drops what is unused too long. The lock is held.
  void drop_unused();

  struct Kept {
    PipelinePtr pipeline;
    uint64_t last_use = 0;  // a turn of `uses_`
  };

  Context& context_;
  std::shared_ptr<DiskCache> cache_;
  VkPipelineCache driver_cache_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::unordered_map<std::string, Kept> by_text_;
  uint64_t uses_ = 0;
  std::vector<uint8_t> saved_blob_;  // the driver cache as it lies on disk
};

}  // namespace tuff
