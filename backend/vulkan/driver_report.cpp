#include "backend/vulkan/driver_report.h"

#include <fmt/format.h>

#include <string_view>

#include "backend/vulkan/error.h"
#include "backend/vulkan/instance/instance.h"
#include "backend/vulkan/pipelines/parallel.h"
#include "backend/vulkan/vulkan.h"

namespace tuff {

namespace {

double value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 == VK_TRUE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: return statistic.value.f64;
    default: return static_cast<double>(statistic.value.u64);
  }
}

Status read_statistics(Context& context, const VkPipelineExecutableInfoKHR& info,
                       DriverKernel& kernel) {
  const DeviceTable& vk = context.vk();
  uint32_t count = 0;
  TUFF_VK_RETURN_IF_ERROR(
      vk.GetPipelineExecutableStatisticsKHR(context.device(), &info, &count, nullptr),
      "ask for a pipeline's statistics");
  std::vector<VkPipelineExecutableStatisticKHR> rows(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  TUFF_VK_RETURN_IF_ERROR(
      vk.GetPipelineExecutableStatisticsKHR(context.device(), &info, &count, rows.data()),
      "ask for a pipeline's statistics");
  for (const VkPipelineExecutableStatisticKHR& row : rows)
    kernel.statistics.push_back({row.name, row.description, value_of(row)});
  return {};
}

// Drivers show several forms of a shader; the last one in text is the machine's.
Status read_isa(Context& context, const VkPipelineExecutableInfoKHR& info, DriverKernel& kernel) {
  const DeviceTable& vk = context.vk();
  uint32_t count = 0;
  TUFF_VK_RETURN_IF_ERROR(
      vk.GetPipelineExecutableInternalRepresentationsKHR(context.device(), &info, &count, nullptr),
      "ask for a pipeline's code");
  std::vector<VkPipelineExecutableInternalRepresentationKHR> forms(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR});
  if (count == 0) return {};
  TUFF_VK_RETURN_IF_ERROR(vk.GetPipelineExecutableInternalRepresentationsKHR(
                              context.device(), &info, &count, forms.data()),
                          "ask for a pipeline's code");
  std::vector<std::string> texts(count);
  for (uint32_t i = 0; i < count; ++i) {
    texts[i].resize(forms[i].dataSize);
    forms[i].pData = texts[i].data();
  }
  TUFF_VK_RETURN_IF_ERROR(vk.GetPipelineExecutableInternalRepresentationsKHR(
                              context.device(), &info, &count, forms.data()),
                          "ask for a pipeline's code");
  for (uint32_t i = 0; i < count; ++i)
    if (forms[i].isText == VK_TRUE) kernel.isa = texts[i].c_str();  // they end in a zero
  return {};
}

Result<std::unique_ptr<Context>> create_compiling_context(int index) {
  TUFF_ASSIGN(auto instance, Instance::acquire());
  TUFF_ASSIGN(VkPhysicalDevice physical, instance->physical_device(index));
  TUFF_ASSIGN(DeviceSnapshot snapshot, snapshot_device(*instance, physical));
  TUFF_ASSIGN(DevicePlan plan, plan_device(snapshot));
  if (!snapshot.pipeline_executable_info)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The driver of {} does not tell what its compiler makes of a kernel: "
                             "it has no {}.",
                             plan.caps.name, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME),
                 ""};
  plan.pipeline_statistics = true;
  plan.extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  return Context::create(instance, physical, snapshot, plan);
}

}  // namespace

Result<DriverKernel> read_driver_kernel(Context& context, const Pipeline& pipeline) {
  const DeviceTable& vk = context.vk();
  VkPipelineInfoKHR info{.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline.handle};
  // A compute pipeline is one executable; a driver that makes several says so of each.
  uint32_t count = 0;
  TUFF_VK_RETURN_IF_ERROR(
      vk.GetPipelineExecutablePropertiesKHR(context.device(), &info, &count, nullptr),
      "ask for a pipeline's executables");
  std::vector<VkPipelineExecutablePropertiesKHR> executables(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  TUFF_VK_RETURN_IF_ERROR(
      vk.GetPipelineExecutablePropertiesKHR(context.device(), &info, &count, executables.data()),
      "ask for a pipeline's executables");
  DriverKernel kernel;
  // Where the driver compiled for several widths, the last one is the widest.
  for (uint32_t i = 0; i < count; ++i) {
    kernel = {.subgroup_size = executables[i].subgroupSize, .statistics = {}, .isa = {}};
    VkPipelineExecutableInfoKHR one{.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                    .pipeline = pipeline.handle,
                                    .executableIndex = i};
    TUFF_RETURN_IF_ERROR(read_statistics(context, one, kernel));
    TUFF_RETURN_IF_ERROR(read_isa(context, one, kernel));
  }
  return kernel;
}

Result<std::vector<DriverKernel>> compile_on_driver(int index, const Program& program,
                                                    const Caps& caps,
                                                    const CompileOnDriverOptions& options) {
  TUFF_ASSIGN(std::unique_ptr<Context> context, create_compiling_context(index));
  TUFF_ASSIGN(auto store, PipelineStore::create(*context, options.cache));
  std::vector<GlslShader> shaders(program.kernels.size());
  TUFF_RETURN_IF_ERROR(parallel_for(shaders.size(), [&](size_t i) -> Status {
    TUFF_ASSIGN(shaders[i], emit_glsl(program.kernels[i], caps));
    return {};
  }));
  LoadOptions load;
  load.progress = options.progress;
  LoadStats stats;
  TUFF_ASSIGN(std::vector<PipelinePtr> pipelines, store->pipelines(shaders, load, stats));
  std::vector<DriverKernel> kernels;
  for (const PipelinePtr& pipeline : pipelines) {
    TUFF_ASSIGN(DriverKernel kernel, read_driver_kernel(*context, *pipeline));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace tuff
