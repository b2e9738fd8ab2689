#include "backend/vulkan/pipelines/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/vulkan/error.h"
#include "backend/vulkan/pipelines/compiler.h"
#include "backend/vulkan/pipelines/parallel.h"
#include "ir/support/hash.h"

namespace tuff {

Pipeline::~Pipeline() {
  const DeviceTable& vk = context_.vk();
  VkDevice device = context_.device();
  if (handle != VK_NULL_HANDLE) vk.DestroyPipeline(device, handle, nullptr);
  if (layout != VK_NULL_HANDLE) vk.DestroyPipelineLayout(device, layout, nullptr);
  if (set_layout != VK_NULL_HANDLE) vk.DestroyDescriptorSetLayout(device, set_layout, nullptr);
}

Status Pipeline::create_layouts() {
  const DeviceTable& vk = context_.vk();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < num_descriptors; ++i)
    bindings.push_back({.binding = i,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                        .pImmutableSamplers = nullptr});
  VkDescriptorSetLayoutCreateInfo set{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                      .bindingCount = num_descriptors,
                                      .pBindings = bindings.data()};
  if (num_descriptors > 0)
    TUFF_VK_RETURN_IF_ERROR(
        vk.CreateDescriptorSetLayout(context_.device(), &set, nullptr, &set_layout),
        "create a descriptor set layout");
  VkPushConstantRange push{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_constant_bytes};
  VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                  .setLayoutCount = num_descriptors > 0 ? 1u : 0u,
                                  .pSetLayouts = &set_layout,
                                  .pushConstantRangeCount = push_constant_bytes > 0 ? 1u : 0u,
                                  .pPushConstantRanges = &push};
  TUFF_VK_RETURN_IF_ERROR(vk.CreatePipelineLayout(context_.device(), &info, nullptr, &layout),
                          "create a pipeline layout");
  return {};
}

Status Pipeline::create(std::span<const uint32_t> spirv, VkPipelineCache cache) {
  const DeviceTable& vk = context_.vk();
  TUFF_RETURN_IF_ERROR(create_layouts());
  VkShaderModuleCreateInfo code{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                .codeSize = spirv.size_bytes(),
                                .pCode = spirv.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  TUFF_VK_RETURN_IF_ERROR(vk.CreateShaderModule(context_.device(), &code, nullptr, &module),
                          "create a shader module");
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = subgroup_size};
  VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = layout};
  if (context_.plan().pipeline_statistics)
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                 VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  if (subgroup_size != 0) {
    info.stage.pNext = &size;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  VkResult result = vk.CreateComputePipelines(context_.device(), cache, 1, &info, nullptr, &handle);
  vk.DestroyShaderModule(context_.device(), module, nullptr);
  TUFF_VK_RETURN_IF_ERROR(result, "create a compute pipeline");
  return {};
}

Result<std::unique_ptr<PipelineStore>> PipelineStore::create(Context& context,
                                                             std::shared_ptr<DiskCache> cache) {
  std::unique_ptr<PipelineStore> store(new PipelineStore(context, std::move(cache)));
  TUFF_RETURN_IF_ERROR(store->create_driver_cache());
  return store;
}

PipelineStore::~PipelineStore() {
  by_text_.clear();
  if (driver_cache_ != VK_NULL_HANDLE)
    context_.vk().DestroyPipelineCache(context_.device(), driver_cache_, nullptr);
}

Result<std::vector<uint32_t>> PipelineStore::spirv(const std::string& text, const KernelCode* code,
                                                   bool& found) {
  if (code != nullptr)
    if (auto it = code->find(sha256_hex(text)); it != code->end() && validate_spirv(it->second)) {
      found = true;
      return it->second;
    }
  std::string key = spirv_cache_key(text);
  found = false;
  if (cache_ != nullptr) {
    if (auto bytes = cache_->get("spirv", key); bytes && bytes->size() % 4 == 0) {
      std::vector<uint32_t> words(bytes->size() / 4);
      std::memcpy(words.data(), bytes->data(), bytes->size());
      // The digest says that it is what was written, not that it was right.
      if (validate_spirv(words)) {
        found = true;
        return words;
      }
    }
  }
  TUFF_ASSIGN(std::vector<uint32_t> words, compile_glsl(text));
  TUFF_RETURN_IF_ERROR(validate_spirv(words));
  if (cache_ != nullptr)
    cache_->put("spirv", key, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4});
  return words;
}

Result<KernelCode> PipelineStore::code(const std::vector<std::string>& texts) {
  std::vector<std::vector<uint32_t>> modules(texts.size());
  TUFF_RETURN_IF_ERROR(parallel_for(texts.size(), [&](size_t i) -> Status {
    bool found = false;
    TUFF_ASSIGN(modules[i], spirv(texts[i], nullptr, found));
    return {};
  }));
  KernelCode code;
  for (size_t i = 0; i < texts.size(); ++i) code.emplace(sha256_hex(texts[i]), modules[i]);
  return code;
}

PipelinePtr PipelineStore::find(const std::string& text) {
  std::lock_guard lock(mutex_);
  auto it = by_text_.find(text);
  if (it == by_text_.end()) return nullptr;
  it->second.last_use = ++uses_;
  return it->second.pipeline;
}

void PipelineStore::drop_unused() {
  std::vector<decltype(by_text_)::iterator> unused;
  for (auto it = by_text_.begin(); it != by_text_.end(); ++it)
    if (it->second.pipeline.use_count() == 1) unused.push_back(it);
  if (unused.size() <= kMaxUnused) return;
  auto kept = unused.end() - kMaxUnused;
  std::nth_element(unused.begin(), kept, unused.end(), [](const auto& a, const auto& b) {
    return a->second.last_use < b->second.last_use;
  });
  for (auto it = unused.begin(); it != kept; ++it) by_text_.erase(*it);
}

Result<std::vector<PipelinePtr>> PipelineStore::pipelines(const std::vector<GlslShader>& shaders,
                                                          const LoadOptions& options,
                                                          LoadStats& stats) {
  std::vector<PipelinePtr> made(shaders.size());
  std::vector<size_t> missing;  // first shader of each text that is not in memory
  stats.by_kernel.assign(shaders.size(), {KernelLoad::Origin::kMemory});
  std::unordered_map<std::string, size_t> first;
  for (size_t i = 0; i < shaders.size(); ++i) {
    if ((made[i] = find(shaders[i].text)) != nullptr)
      ++stats.memory_hits;
    else if (first.emplace(shaders[i].text, i).second)
      missing.push_back(i);
  }

  Stopwatch glsl(options.timeline, "phase", phase::kGlsl);
  std::vector<std::vector<uint32_t>> modules(missing.size());
  std::atomic<int64_t> from_disk{0};
  TUFF_RETURN_IF_ERROR(parallel_for(missing.size(), [&](size_t i) -> Status {
    Stopwatch one(options.timeline, phase::kGlsl, fmt::format("kernel {}", missing[i]));
    bool hit = false;
    TUFF_ASSIGN(modules[i], spirv(shaders[missing[i]].text, options.code.get(), hit));
    from_disk += hit ? 1 : 0;
    KernelLoad& load = stats.by_kernel[missing[i]];
    load.origin = hit ? KernelLoad::Origin::kDisk : KernelLoad::Origin::kMade;
    load.glsl_ms = one.stop(hit ? "SPIR-V from disk" : "compiled");
    return {};
  }));
  stats.disk_hits += from_disk;
  stats.glsl_compiled += static_cast<int64_t>(missing.size()) - from_disk;
  stats.glsl_ms += glsl.stop();

  Stopwatch all(options.timeline, "phase", phase::kPipelines);
  std::mutex progress_mutex;
  auto total = static_cast<int64_t>(shaders.size());
  auto done = total - static_cast<int64_t>(missing.size());
  TUFF_RETURN_IF_ERROR(parallel_for(missing.size(), [&](size_t i) -> Status {
    Stopwatch one(options.timeline, phase::kPipelines, fmt::format("kernel {}", missing[i]));
    auto pipeline = std::make_shared<Pipeline>(context_, shaders[missing[i]]);
    TUFF_RETURN_IF_ERROR(pipeline->create(modules[i], driver_cache_));
    made[missing[i]] = std::move(pipeline);
    stats.by_kernel[missing[i]].pipeline_ms = one.stop();
    std::lock_guard lock(progress_mutex);
    ++done;
    if (options.progress) options.progress(done, total);
    return {};
  }));

  for (size_t i = 0; i < shaders.size(); ++i)
    if (made[i] == nullptr) made[i] = made[first.at(shaders[i].text)];
  std::lock_guard lock(mutex_);
  for (size_t i : missing) by_text_.emplace(shaders[i].text, Kept{made[i], ++uses_});
  if (!missing.empty()) {
    drop_unused();
    save_driver_cache();
  }
  stats.pipeline_ms += all.stop();
  return made;
}

}  // namespace tuff
