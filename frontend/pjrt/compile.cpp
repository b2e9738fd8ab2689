#include "frontend/pjrt/compile.h"

#include <fmt/format.h>

#include "frontend/pjrt/log.h"
#include "frontend/stablehlo/read.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kMemoryKind = "device";

Result<std::shared_ptr<const Compiled>> compiled_for(Runtime& runtime, Graph graph, uint64_t hash) {
  if (auto known = runtime.programs->find(graph, hash)) return known;
  LogClock clock;
  auto compiled = std::make_shared<Compiled>();
  compiled->hash = hash;
  TUFF_ASSIGN(compiled->program, compile(graph, runtime.device->caps(), {}, &compiled->report));
  compiled->graph = std::make_shared<const Graph>(std::move(graph));
  log_compiled(*compiled, clock);
  runtime.programs->insert(compiled);
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

Result<std::shared_ptr<const Loaded>> loaded_on(Runtime& runtime, Graph graph) {
  uint64_t hash = graph.hash();
  if (auto known = runtime.loaded.find(graph, hash)) return known;
  auto loaded = std::make_shared<Loaded>();
  loaded->device = runtime.device;
  TUFF_ASSIGN(loaded->compiled, compiled_for(runtime, std::move(graph), hash));
  LogClock clock;
  TUFF_ASSIGN(loaded->loaded, runtime.device->load(loaded->compiled->program, {}));
  log_loaded(*loaded, clock);
  runtime.loaded.insert(loaded);
  return std::shared_ptr<const Loaded>(std::move(loaded));
}

void describe_outputs(const Program& program, ExecutableInfo* info) {
  for (const TensorType& type : program.outputs) {
    info->output_types.push_back(element_type(type.dtype));
    info->output_dims.insert(info->output_dims.end(), type.shape.begin(), type.shape.end());
    info->output_ranks.push_back(type.shape.size());
  }
  info->output_kinds.assign(program.outputs.size(), kMemoryKind.data());
  info->output_kind_sizes.assign(program.outputs.size(), kMemoryKind.size());
  info->parameter_kinds.assign(program.arguments.size(), kMemoryKind.data());
  info->parameter_kind_sizes.assign(program.arguments.size(), kMemoryKind.size());
}

NamedValue cost(std::string_view name, double value) {
  NamedValue cost{};
  cost.struct_size = sizeof cost;
  cost.name = name.data();
  cost.name_size = name.size();
  cost.type = NamedValue::kFloat;
  cost.float_value = static_cast<float>(value);
  cost.value_size = 1;
  return cost;
}

// "bytes accessed" is the name that JAX's other platforms use. A loop counts as often as
// it is known to run, else once; so does every branch.
void add_costs(const Steps& block, double times, double& bytes, double& steps) {
  for (const Step& step : block) {
    for (const Range& range : step.bindings) bytes += times * static_cast<double>(range.size_bytes);
    if (!is_control(step.kind)) steps += times;
    double rounds = step.trip_count ? static_cast<double>(*step.trip_count) : 1;
    for (const Steps& inner : step.blocks) add_costs(inner, times * rounds, bytes, steps);
  }
}

std::vector<NamedValue> costs_of(const Program& program) {
  double bytes = 0, steps = 0;
  add_costs(program.steps, 1, bytes, steps);
  return {cost("bytes accessed", bytes), cost("steps", steps),
          cost("kernels", static_cast<double>(program.kernels.size()))};
}

// The devices of the assignment, by replica, then by partition.
Result<std::vector<DeviceHandle*>> assigned_devices(const ClientHandle& client,
                                                    DeviceAssignment* assignment) {
  std::vector<int64_t>& ids = assignment->device_ids;
  int64_t wanted = assignment->num_replicas * assignment->num_partitions;
  if (ids.empty())
    for (int64_t id = 0; id < wanted; ++id) ids.push_back(id);
  std::vector<DeviceHandle*> devices;
  for (int64_t id : ids) {
    TUFF_ASSIGN(DeviceHandle * device, client.device(id));
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

Result<LoadedHandle*> compile_source(ClientHandle* client, std::string_view source,
                                     DeviceAssignment assignment) {
  auto loaded = std::make_unique<LoadedHandle>();
  TUFF_ASSIGN(loaded->devices, assigned_devices(*client, &assignment));
  if (loaded->devices.size() != 1)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The program is for ({}) replicas of ({}) partitions; tuff runs a "
                             "program on one device only.",
                             assignment.num_replicas, assignment.num_partitions),
                 ""};
  TUFF_ASSIGN(Graph graph, read_stablehlo(source, "program"));
  auto info = std::make_shared<ExecutableInfo>();
  info->name = graph.name;
  info->source = std::string(source);
  for (auto [argument, output] : graph.donations) info->donated.push_back(argument);
  TUFF_ASSIGN(auto program, loaded_on(*loaded->devices[0]->runtime, std::move(graph)));
  info->compiled = program->compiled;
  info->fingerprint = fmt::format("{:016x}", info->compiled->hash);
  describe_outputs(*info->compiled->program, info.get());
  info->costs = costs_of(*info->compiled->program);
  loaded->programs.push_back(std::move(program));
  loaded->logical_ids.push_back({0, 0});
  loaded->assignment = assignment.serialize();
  info->assignment = std::move(assignment);
  loaded->info = std::move(info);
  return loaded.release();
}

}  // namespace tuff::pjrt
