#include "tests/models/run_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/vulkan/vulkan.h"
#include "frontend/session/arguments.h"
#include "frontend/session/model.h"
#include "frontend/weights/npy.h"

namespace tuff {

Result<LoadedModel> load_model(const std::string& name) {
  std::string dir = std::string(TUFF_TEST_DATA) + "/models/" + name;
  TUFF_ASSIGN(Model model, import_model(dir));
  ArgumentSources sources;
  for (const ModelArgument& argument : model.arguments)
    if (!argument.is_weight)
      sources.inputs.push_back(argument.name + "=" + dir + "/inputs/" + argument.name + ".npy");
  TUFF_ASSIGN(ArgumentValues values, gather_arguments(model, sources));
  LoadedModel loaded{std::move(model.graph), std::move(values.values), {}};
  for (size_t i = 0; i < loaded.graph.outputs().size(); ++i) {
    std::string file = dir + "/expected/out" + std::to_string(i) + ".npy";
    if (!std::filesystem::exists(file)) break;
    TUFF_ASSIGN(Literal value, read_npy(file, loaded.graph.type(loaded.graph.outputs()[i]).dtype));
    loaded.expected.push_back(std::move(value));
  }
  return loaded;
}

Result<std::unique_ptr<Device>> open_device(const std::string& name, const std::string& cache_dir) {
  if (name == "cpu") return create_cpu_device();
  VulkanOptions options;
  TUFF_ASSIGN(options.host, create_cpu_device());
  if (!cache_dir.empty()) options.cache = std::make_shared<DiskCache>(cache_dir);
  return create_vulkan_device(0, options);
}

bool is_missing_device(const Error& error) {
  return error.code == ErrorCode::kNoDevice && std::getenv("TUFF_TEST_REQUIRE_VULKAN") == nullptr;
}

Result<Executable> compile_model(const LoadedModel& model, Device& device,
                                 const std::set<std::string>& disabled) {
  CompileOptions options;
  options.disabled = disabled;
  TUFF_ASSIGN(auto program, compile(model.graph, device.caps(), options, nullptr));
  LoadOptions load_options;
  load_options.donate = true;
  return Executable::create(device, std::move(program), load_options);
}

double scale_error(const Literal& got, const Literal& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (got.type() != expected.type()) return kInfinity;
  double error = 0, scale = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    double x = got.get_double(i), y = expected.get_double(i);
    if (std::isnan(x) != std::isnan(y) || std::isinf(x) != std::isinf(y)) return kInfinity;
    if (!std::isfinite(y)) continue;
    error = std::max(error, std::fabs(x - y));
    scale = std::max(scale, std::fabs(y));
  }
  if (!is_float(got.type().dtype) && error > 0) return kInfinity;
  return scale > 0 ? error / scale : error;
}

}  // namespace tuff
