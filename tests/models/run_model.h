// Running a bundle of tests/models on a device, for the model tests.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/executable.h"
#include "ir/graph.h"

namespace tuff {

struct LoadedModel {
  Graph graph;
  std::vector<Literal> arguments;
  std::vector<Literal> expected;
};

// Bundle tests/models/<name>: its graph, its inputs and seeded weights, and what
// JAX computed.
Result<LoadedModel> load_model(const std::string& name);

// "cpu" or "vulkan" (device 0, with a disk cache in `cache_dir` if one is given).
// Nothing where the machine has no Vulkan device, unless TUFF_TEST_REQUIRE_VULKAN is set.
Result<std::unique_ptr<Device>> open_device(const std::string& name,
                                            const std::string& cache_dir = {});
bool is_missing_device(const Error& error);

// Arguments that the model donates are used up by a run.
Result<Executable> compile_model(const LoadedModel& model, Device& device,
                                 const std::set<std::string>& disabled);

// max |got - expected| / max |expected| over all elements; infinity when NaNs or
// infinities stand in different places. Integers and booleans must be equal.
double scale_error(const Literal& got, const Literal& expected);

}  // namespace tuff
