#include "frontend/bench/own_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "backend/cost.h"
#include "backend/storage_convert.h"
#include "frontend/session/arguments.h"
#include "frontend/session/measure.h"
#include "frontend/session/model.h"
#include "frontend/weights/file.h"
#include "frontend/weights/npy.h"

namespace tuff::bench {

namespace {

// Milliseconds since the last call, for times that have no gap between them.
class Laps {
 public:
  double lap() {
    double now = total_.ms();
    return now - std::exchange(last_, now);
  }
  double total_ms() const { return total_.ms(); }

 private:
  Timer total_;
  double last_ = 0;
};

// The phase of bench/FORMAT.md that a phase of a first run is part of.
const char* group_of(const std::string& phase) {
  static const std::map<std::string, const char*> kGroups = {
      {phase::kLower, "codegen"}, {phase::kPlan, "codegen"},        {phase::kEmit, "codegen"},
      {phase::kGlsl, "glsl"},     {phase::kPipelines, "pipelines"}, {phase::kPrepare, "load"},
      {phase::kRecord, "load"},   {phase::kExecute, "execute"}};
  auto group = kGroups.find(phase);
  return group == kGroups.end() ? "passes" : group->second;  // those go by their own names
}

void add_to(Json& phases, const char* name, double ms) {
  if (ms > 0) phases[name] = phases.value(name, 0.0) + ms;
}

const char* origin_word(KernelLoad::Origin origin) {
  if (origin == KernelLoad::Origin::kMemory) return "memory";
  return origin == KernelLoad::Origin::kDisk ? "disk" : "compiled";
}

// One entry per kernel, under the label of the first step that runs it.
Json kernel_times(const Program& program, const LoadStats& load) {
  std::map<uint32_t, std::string> labels;
  for_each_step(program.steps, [&](const Step& step, int) {
    if (step.kind == Step::Kind::kDispatch) labels.emplace(step.kernel, step.label);
  });
  Json times = Json::array();
  for (uint32_t i = 0; i < load.by_kernel.size(); ++i) {
    const KernelLoad& kernel = load.by_kernel[i];
    times.push_back({{"kernel", labels.contains(i) ? labels[i] : fmt::format("kernel {}", i)},
                     {"ms", kernel.emit_ms + kernel.glsl_ms + kernel.pipeline_ms},
                     {"cache", origin_word(kernel.origin)}});
  }
  return times;
}

}  // namespace

Json OwnWorker::greeting() const {
  return {{"versions", {{"tuff", TUFF_VERSION}}},
          {"device", session_.device().description()},
          {"precision", "f32"}};
}

Result<Json> OwnWorker::answer(const Json& request) {
  std::string what = request.value("do", "");
  if (what == "load") return load(request.value("bundle", ""));
  if (what == "first") return first();
  if (what == "burst") return burst(request.value("ms", 0.0));
  if (what == "outputs") return write_outputs(request.value("directory", ""));
  return Error{ErrorCode::kUsage, fmt::format("There is no request ({}).", what), ""};
}

// Values of the bundle's arguments go to the device; importing it belongs to the first run.
Result<Json> OwnWorker::load(const std::string& bundle) {
  loaded_.reset();
  arguments_.clear(), outputs_.clear();
  TUFF_ASSIGN(bundle_, bundled_model(bundle));
  TUFF_ASSIGN(model_, import_model(bundle_.path, {{}, bundle_.inputs}));
  TUFF_ASSIGN(carried_, read_carried(bundle + "/workload.json"));
  TUFF_ASSIGN(ArgumentValues values, gather_arguments(model_, {bundle_.inputs, "", false}));
  for (const Literal& value : values.values) {
    auto stored = std::make_shared<const Literal>(to_storage(value, session_.device().caps()));
    TUFF_ASSIGN(BufferPtr buffer, place(std::move(stored), is_carried(arguments_.size())));
    arguments_.push_back(std::move(buffer));
  }
  return Json{{"precision", matmul_precision(model_.graph)}};
}

bool OwnWorker::is_carried(size_t argument) const {
  return std::any_of(carried_.begin(), carried_.end(),
                     [&](const Carried& pair) { return pair.argument == argument; });
}

// As a run of the model itself has them: where they lie, if the device reads the host's memory
// and nothing is written there.
Result<BufferPtr> OwnWorker::place(std::shared_ptr<const Literal> stored, bool is_written) {
  Device& device = session_.device();
  const std::span<const std::byte> bytes(stored->bytes(),
                                         static_cast<size_t>(stored->size_bytes()));
  BufferPtr buffer;
  if (!is_written) {
    TUFF_ASSIGN(buffer, device.wrap(bytes, stored));
    if (buffer) return buffer;
  }
  TUFF_ASSIGN(buffer, device.allocate(stored->size_bytes()));
  if (!bytes.empty()) TUFF_RETURN_IF_ERROR(device.write(*buffer, 0, bytes));
  return buffer;
}

// The outputs of a run that are arguments of the next.
Result<std::vector<OwnWorker::Carried>> OwnWorker::read_carried(const std::string& path) {
  TUFF_ASSIGN(std::string text, read_file(path));
  std::vector<Carried> carried;
  Json workload = Json::parse(text, nullptr, false);
  if (workload.is_object() && workload.contains("carried"))
    for (const Json& pair : workload["carried"]) carried.push_back({pair[0], pair[1]});
  return carried;
}

Result<Json> OwnWorker::first() {
  loaded_.reset(), outputs_.clear();
  CompileReport compiled;
  RunStats run;
  Laps laps;
  TUFF_ASSIGN(model_, import_model(bundle_.path, {{}, bundle_.inputs}));
  Json phases = {{"import", laps.lap()}};
  TUFF_ASSIGN(auto program, session_.compile(model_.graph, &compiled));
  double compile_ms = laps.lap();
  TUFF_ASSIGN(loaded_, session_.device().load(program, {}));
  TUFF_RETURN_IF_ERROR(allocate_outputs(*program));
  double load_ms = laps.lap();
  TUFF_RETURN_IF_ERROR(one_run(&run));
  double run_ms = laps.lap(), first_ms = laps.total_ms();
  TUFF_RETURN_IF_ERROR(one_run(nullptr));
  double second_ms = laps.lap();
  const LoadStats& load = loaded_->stats();
  for (const PhaseTime& phase : first_run_phases(compiled, load, run))
    add_to(phases, group_of(phase.name), phase.ms);
  // What lies between the measured stretches belongs to the walk around them.
  for (const PhaseTime& stop : compiled.stops) compile_ms -= stop.ms;
  add_to(phases, "passes", compile_ms);
  add_to(phases, "load",
         load_ms - load.emit_ms - load.glsl_ms - load.pipeline_ms - load.prepare_ms);
  add_to(phases, "execute", run_ms - run.wall_ms);
  // Drivers finish compiling when a pipeline is first used.
  if (session_.choice().kind == DeviceSpec::Kind::kVulkan) {
    double execute = phases["execute"], driver = std::max(0.0, execute - second_ms);
    phases["driver_first_dispatch"] = driver;
    phases["execute"] = execute - driver;
  }
  return Json{{"first_ms", first_ms},
              {"second_ms", second_ms},
              {"phases", std::move(phases)},
              {"kernel_ms", kernel_times(*program, load)},
              {"kernels", compiled.kernels},
              {"kernels_compiled", compiled.kernels - load.memory_hits - load.disk_hits},
              {"kernels_reused", load.memory_hits + load.disk_hits},
              {"dispatches", run.dispatches},
              {"peak_device_bytes", compiled.peak_bytes() + kept_bytes(compiled)}};
}

// Outputs that the plan lays over donated arguments lie there, if they are carried.
Status OwnWorker::allocate_outputs(const Program& program) {
  types_.clear();
  for (size_t i = 0; i < program.outputs.size(); ++i) types_.push_back(result_type(model_, i));
  outputs_.resize(types_.size());
  ran_ = false;
  for (Carried& pair : carried_) {
    pair.in_place = std::any_of(program.donations.begin(), program.donations.end(),
                                [&](const Donation& donation) {
                                  return donation.in_place && donation.argument == pair.argument &&
                                         donation.output == pair.output;
                                });
    if (pair.in_place) outputs_[pair.output] = arguments_[pair.argument];
  }
  for (size_t i = 0; i < types_.size(); ++i)
    if (!outputs_[i]) {
      TUFF_ASSIGN(outputs_[i], session_.device().allocate(
                                   stored_type(types_[i], session_.device().caps()).size_bytes()));
    }
  return {};
}

// Carried outputs in memory of their own take turns with their arguments.
Status OwnWorker::one_run(RunStats* stats) {
  for (const Carried& pair : carried_)
    if (ran_ && !pair.in_place) std::swap(arguments_[pair.argument], outputs_[pair.output]);
  ran_ = true;
  return session_.device().run(*loaded_, arguments_, outputs_, stats);
}

// What the plan's peak leaves out because its arguments could be used up, where they are not.
int64_t OwnWorker::kept_bytes(const CompileReport& compiled) const {
  return carried_.empty() ? compiled.in_place_bytes : 0;
}

// Runs until `ms` have passed, at least once.
Result<Json> OwnWorker::burst(double ms) {
  TUFF_RETURN_IF_ERROR(check_loaded());
  std::vector<double> samples;
  Laps laps;
  do {
    TUFF_RETURN_IF_ERROR(one_run(nullptr));
    samples.push_back(laps.lap());
  } while (laps.total_ms() < ms);
  return Json{{"ms", samples}};
}

Result<Json> OwnWorker::write_outputs(const std::string& directory) {
  TUFF_RETURN_IF_ERROR(check_loaded());
  std::vector<Literal> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Literal stored(stored_type(types_[i], session_.device().caps()));
    if (stored.size_bytes() > 0)
      TUFF_RETURN_IF_ERROR(session_.device().read(
          *outputs_[i], 0, {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
    results.push_back(from_storage(stored, types_[i]));
  }
  results = user_results(model_, std::move(results));
  for (size_t i = 0; i < results.size(); ++i)
    TUFF_RETURN_IF_ERROR(write_npy(fmt::format("{}/out{}.npy", directory, i), results[i]));
  return Json::object();
}

Status OwnWorker::check_loaded() const {
  if (loaded_) return {};
  return Error{ErrorCode::kUsage, "There is no first run yet.", ""};
}

}  // namespace tuff::bench
