#include "frontend/pjrt/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/pjrt/log.h"
#include "frontend/pjrt/spread.h"
#include "frontend/session/model.h"
#include "frontend/session/session.h"

namespace tuff::pjrt {

namespace {

constexpr std::string_view kMemoryKind = "device";

// Of a run, loops counted as often as they go round; infinite where that is not known.
struct Work {
  double steps = 0, flops = 0, bytes = 0;

  void add(const Steps& block, double times) {
    for (const Step& step : block) {
      if (step.kind == Step::Kind::kWhile && !step.trip_count) times = INFINITY;
      steps += times;
      flops += times * step.cost.flops;
      bytes += times * static_cast<double>(step.cost.read_bytes + step.cost.written_bytes);
      double rounds = step.trip_count ? static_cast<double>(*step.trip_count) : 1;
      for (const Steps& inner : step.blocks) add(inner, times * rounds);
    }
  }
};

// A processor does this much in less time than a thread is woken in (see kBriefMs); other devices
// are waited for in any case. A loop of unknown rounds is taken to be as long as it was the last
// time; where it is not, the caller waits in the call for what it would have waited for after it.
Compiled::Brevity brevity_of(const Program& program, const Caps& caps) {
  constexpr double kSteps = 16, kFlops = 2e5, kBytes = 1 << 17;
  if (!is_host(caps)) return Compiled::Brevity::kNever;
  Work work;
  work.add(program.steps, 1);
  bool brief = work.steps <= kSteps && work.flops <= kFlops && work.bytes <= kBytes;
  return brief ? Compiled::Brevity::kAlways : Compiled::Brevity::kAsMeasured;
}

Result<std::shared_ptr<const Compiled>> compiled_for(Runtime& runtime, Graph graph, uint64_t hash) {
  if (auto known = runtime.programs->find(graph, hash)) return known;
  Timer clock;
  auto compiled = std::make_shared<Compiled>();
  compiled->hash = hash;
  TUFF_ASSIGN(compiled->callbacks, retain_callbacks(graph));
  TUFF_ASSIGN(compiled->program,
              compile_model(graph, runtime.device->caps(), {}, &compiled->report));
  compiled->graph = std::make_shared<const Graph>(std::move(graph));
  compiled->brevity = brevity_of(*compiled->program, runtime.device->caps());
  log_compiled(*compiled, clock);
  // No other graph calls the same functions, which shall go with the executable.
  if (compiled->callbacks.empty()) runtime.programs->insert(compiled);
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

void describe_signature(ExecutableInfo* info) {
  for (const TensorType& type : info->outputs) {
    info->output_types.push_back(element_type(type.dtype));
    info->output_dims.insert(info->output_dims.end(), type.shape.begin(), type.shape.end());
    info->output_ranks.push_back(type.shape.size());
  }
  info->output_kinds.assign(info->outputs.size(), kMemoryKind.data());
  info->output_kind_sizes.assign(info->outputs.size(), kMemoryKind.size());
  info->parameter_kinds.assign(info->arguments.size(), kMemoryKind.data());
  info->parameter_kind_sizes.assign(info->arguments.size(), kMemoryKind.size());
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

// "flops" and "bytes accessed" are the names that JAX's other platforms use. A loop counts as
// often as it is known to run, else once; so does every branch.
struct Costs {
  double flops = 0, bytes = 0, steps = 0;

  void add(const Steps& block, double times) {
    for (const Step& step : block) {
      flops += times * step.cost.flops;
      for (const Range& range : step.bindings)
        bytes += times * static_cast<double>(range.size_bytes);
      if (!is_control(step.kind)) steps += times;
      double rounds = step.trip_count ? static_cast<double>(*step.trip_count) : 1;
      for (const Steps& inner : step.blocks) add(inner, times * rounds);
    }
  }
};

std::vector<NamedValue> costs_of(const ExecutableInfo& info) {
  Costs total;
  size_t kernels = 0;
  for (const auto& compiled : info.compiled) {
    if (!compiled) continue;
    total.add(compiled->program->steps, 1);
    kernels += compiled->program->kernels.size();
  }
  std::vector<NamedValue> costs{cost("flops", total.flops), cost("bytes accessed", total.bytes),
                                cost("steps", total.steps),
                                cost("kernels", static_cast<double>(kernels))};
  if (!info.spread) return costs;
  const SegmentedProgram& program = info.spread->program;
  costs.push_back(cost("collectives", static_cast<double>(program.num_collectives())));
  costs.push_back(cost("bytes exchanged", static_cast<double>(program.exchanged_bytes())));
  return costs;
}

// The devices of the assignment, by replica, then by partition. Without ids the first ones, of
// which a program for one device has this process's.
Result<std::vector<DeviceHandle*>> assigned_devices(const ClientHandle& client,
                                                    DeviceAssignment* assignment) {
  std::vector<int64_t>& ids = assignment->device_ids;
  int64_t wanted = assignment->num_replicas * assignment->num_partitions;
  if (ids.empty())
    for (int64_t id = 0; id < wanted; ++id)
      ids.push_back(wanted == 1 ? client.own_devices[0]->description.id : id);
  std::vector<DeviceHandle*> devices;
  for (int64_t id : ids) {
    TUFF_ASSIGN(DeviceHandle * device, client.device(id));
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      return Error{ErrorCode::kUsage,
                   fmt::format("The device assignment names the device ({}) twice.", id), ""};
    devices.push_back(device);
  }
  return devices;
}

// Those that are this process's, with their places.
Status take_own(const ClientHandle& client, const std::vector<DeviceHandle*>& devices,
                LoadedHandle* loaded) {
  for (size_t place = 0; place < devices.size(); ++place)
    if (devices[place]->runtime) {
      loaded->devices.push_back(devices[place]);
      loaded->places.push_back(place);
    }
  if (!loaded->devices.empty()) return {};
  return Error{ErrorCode::kUsage,
               fmt::format("None of the program's devices belongs to this process ({}); the first "
                           "is {}.",
                           client.process(), devices[0]->description.text),
               ""};
}

// The program that one device runs by itself.
Status load_alone(std::string_view source, LoadedHandle* loaded, ExecutableInfo* info) {
  TUFF_ASSIGN(Model model, import_bytes(source, "program"));
  Graph& graph = model.graph;
  info->name = graph.name;
  for (auto [argument, output] : graph.donations) info->donated.push_back(argument);
  for (size_t i = 0; i < graph.num_parameters(); ++i)
    info->arguments.push_back(argument_type(model, i));
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    info->outputs.push_back(result_type(model, i));
  TUFF_ASSIGN(auto program, load_graph(*loaded->devices[0]->runtime, std::move(graph)));
  info->compiled = {program->compiled};
  info->fingerprint = fmt::format("{:016x}", program->compiled->hash);
  auto on_device = std::make_shared<DeviceProgram>();
  on_device->segments.push_back(std::move(program));
  loaded->programs.push_back(std::move(on_device));
  return {};
}

}  // namespace

Result<std::shared_ptr<const Loaded>> load_graph(Runtime& runtime, Graph graph) {
  uint64_t hash = graph.hash();
  if (auto known = runtime.loaded.find(graph, hash)) return known;
  auto loaded = std::make_shared<Loaded>();
  loaded->device = runtime.device;
  TUFF_ASSIGN(loaded->compiled, compiled_for(runtime, std::move(graph), hash));
  Timer clock;
  TUFF_ASSIGN(loaded->loaded, runtime.device->load(loaded->compiled->program, {}));
  log_loaded(*loaded, clock);
  if (loaded->compiled->callbacks.empty()) runtime.loaded.insert(loaded);
  return std::shared_ptr<const Loaded>(std::move(loaded));
}

Result<LoadedHandle*> compile_source(ClientHandle* client, std::string_view source,
                                     DeviceAssignment assignment) {
  auto loaded = std::make_unique<LoadedHandle>();
  TUFF_ASSIGN(std::vector<DeviceHandle*> devices, assigned_devices(*client, &assignment));
  TUFF_RETURN_IF_ERROR(take_own(*client, devices, loaded.get()));
  auto info = std::make_shared<ExecutableInfo>();
  info->source = std::string(source);
  if (devices.size() == 1)
    TUFF_RETURN_IF_ERROR(load_alone(source, loaded.get(), info.get()));
  else
    TUFF_RETURN_IF_ERROR(load_spread(source, assignment, devices, loaded.get(), info.get()));
  describe_signature(info.get());
  info->costs = costs_of(*info);
  for (size_t place : loaded->places) {
    auto partitions = static_cast<size_t>(assignment.num_partitions);
    loaded->logical_ids.push_back(
        {static_cast<int32_t>(place / partitions), static_cast<int32_t>(place % partitions)});
  }
  loaded->assignment = assignment.serialize();
  info->assignment = std::move(assignment);
  loaded->info = std::move(info);
  return loaded.release();
}

}  // namespace tuff::pjrt
