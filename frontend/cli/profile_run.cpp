#include "frontend/cli/profile_run.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "backend/cost.h"
#include "frontend/bench/machine.h"
#include "frontend/cli/check.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/output_summary.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tuning.h"
#include "ir/evaluate/evaluate.h"
#include "shaders/emit/emit_glsl.h"

namespace tuff::cli {

namespace {

// Timed runs before those that count: weights are packed in the first one on the CPU.
constexpr int kWarmUpRuns = 1;
// Unless told otherwise: short runs are many, long ones few.
constexpr int64_t kLeastRuns = 5, kMostRuns = 50;
constexpr double kLeastMs = 1500;

using Literals = std::vector<Literal>;

bool same_bits(const Literals& a, const Literals& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].size_bytes() > 0 &&
        std::memcmp(a[i].bytes(), b[i].bytes(), static_cast<size_t>(a[i].size_bytes())) != 0)
      return false;
  return true;
}

class Profiler {
 public:
  Profiler(Device& device, const Graph& graph, const ProfileRequest& request, Timeline& timeline,
           Profile& profile)
      : device_(device), graph_(graph), request_(request), timeline_(timeline), profile_(profile) {}

  Status run(const Literals& arguments) {
    Literals first;
    TUFF_ASSIGN(Executable executable, run_first(arguments, first));
    for (int i = 0; i < kWarmUpRuns; ++i) TUFF_RETURN_IF_ERROR(run_timed(executable, "warm-up"));
    profile_.timed_runs.clear();
    TUFF_RETURN_IF_ERROR(runs_in_turns(executable));
    TUFF_ASSIGN(Literals last, download(executable));
    profile_.repeatable = same_bits(first, last);
    describe_outputs(first);
    if (request_.check) TUFF_RETURN_IF_ERROR(check(arguments, first));
    return print_kernels();
  }

 private:
  Result<Executable> load() {
    Progress progress("compile", "kernels", request_.quiet);
    LoadOptions options;
    options.time_steps = true;
    options.timeline = &timeline_;
    options.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
    return Executable::create(device_, profile_.program, options);
  }

  Result<double> upload(Executable& executable, const Literals& arguments) {
    Stopwatch watch(&timeline_, "run", phase::kUpload);
    for (uint32_t i = 0; i < arguments.size(); ++i)
      TUFF_RETURN_IF_ERROR(executable.set_argument(i, arguments[i]));
    return watch.stop("arguments to the device");
  }

  Result<Literals> download(Executable& executable) {
    Stopwatch watch(&timeline_, "run", phase::kDownload);
    Literals outputs;
    for (uint32_t i = 0; i < executable.program().outputs.size(); ++i) {
      TUFF_ASSIGN(Literal output, executable.output(i));
      outputs.push_back(std::move(output));
    }
    watch.stop("outputs to the host");
    return outputs;
  }

  Result<double> one_run(Executable& executable, const std::string& name, RunStats* stats) {
    TUFF_RETURN_IF_ERROR(check_interrupt());
    Stopwatch watch(&timeline_, "run", name);
    TUFF_RETURN_IF_ERROR(executable.run(stats));
    return watch.stop();
  }

  // As `tuff run` would: the first run in its phases, and the second.
  Result<Executable> run_first(const Literals& arguments, Literals& outputs) {
    Timer timer;
    TUFF_ASSIGN(profile_.program,
                compile_graph(graph_, device_.caps(), as_set(), &profile_.compile, &timeline_));
    TUFF_ASSIGN(Executable executable, load());
    profile_.load = executable.load_stats();
    double compile_ms = timer.ms();
    TUFF_ASSIGN(profile_.upload_ms, upload(executable, arguments));
    RunStats first;
    TUFF_ASSIGN(double first_ms, one_run(executable, "first run", &first));
    profile_.first_ms = compile_ms + first_ms;
    profile_.phases = first_run_phases(profile_.compile, profile_.load, first);
    TUFF_ASSIGN(outputs, download(executable));
    TUFF_ASSIGN(profile_.second_ms, one_run(executable, "second run", nullptr));
    return executable;
  }

  // Plain and timed runs take turns, each going first every other time, so that both meet
  // the same machine. They are of one executable: the same memory, the same packed weights.
  Status runs_in_turns(Executable& executable) {
    bench::LoadMeter load;
    Timer timer;
    auto enough = [&](int64_t done) {
      if (request_.runs) return done >= *request_.runs;
      return done >= kMostRuns || (done >= kLeastRuns && timer.ms() >= kLeastMs);
    };
    for (int64_t i = 1; !enough(i - 1); ++i)
      for (bool timed : {i % 2 == 0, i % 2 != 0})
        TUFF_RETURN_IF_ERROR(timed ? run_timed(executable, fmt::format("timed run {}", i))
                                   : run_plain(executable, fmt::format("plain run {}", i)));
    profile_.others_cores = load.others_cores();
    return {};
  }

  Status run_plain(Executable& executable, const std::string& name) {
    TUFF_ASSIGN(double ms, one_run(executable, name, nullptr));
    profile_.steady_ms.push_back(ms);
    return {};
  }

  Status run_timed(Executable& executable, const std::string& name) {
    TimedRun run;
    run.stats.time_steps = true;
    run.start_us = timeline_.us_since_start(Timeline::Clock::now());
    TUFF_RETURN_IF_ERROR(one_run(executable, name, &run.stats));
    run.end_us = timeline_.us_since_start(Timeline::Clock::now());
    profile_.timed_runs.push_back(std::move(run));
    return {};
  }

  void describe_outputs(const Literals& outputs) {
    profile_.outputs = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i)
      profile_.outputs.push_back(json_of_output(profile_.program->output_names[i], outputs[i]));
  }

  Status check(const Literals& arguments, const Literals& got) {
    TUFF_ASSIGN(Literals expected, evaluate(graph_, arguments));
    double tolerance = check_tolerance(graph_);
    Json outputs = Json::array();
    bool within = true;
    for (size_t i = 0; i < got.size(); ++i) {
      Difference d = compare_outputs(got[i], expected[i], tolerance);
      within = within && d.within;
      outputs.push_back({{"max_abs", d.max_abs}, {"max_rel", d.max_rel}, {"within", d.within}});
    }
    profile_.check = Json{{"against", "reference evaluator"},
                          {"tolerance", tolerance},
                          {"within", within},
                          {"outputs", std::move(outputs)}};
    return {};
  }

  Status print_kernels() {
    for (size_t i = 0; i < profile_.program->kernels.size(); ++i) {
      if (!profile_.gpu) {
        profile_.kernel_texts.push_back(profile_.program->kernel_keys[i]);
        continue;
      }
      TUFF_ASSIGN(GlslShader shader, emit_glsl(profile_.program->kernels[i], device_.caps()));
      profile_.kernel_texts.push_back(std::move(shader.text));
    }
    return {};
  }

  std::set<std::string> as_set() const {
    return {request_.disabled.begin(), request_.disabled.end()};
  }

  Device& device_;
  const Graph& graph_;
  const ProfileRequest& request_;
  Timeline& timeline_;
  Profile& profile_;
};

void describe_environment(const Device& device, const DeviceChoice& choice, Profile& profile) {
  profile.date = bench::date_now();
  profile.device = device.description();
  profile.why = choice.why;
  profile.gpu = choice.kind == DeviceSpec::Kind::kVulkan;
  bench::Machine machine = bench::describe_machine();
  profile.cpu = machine.cpu;
  profile.system = machine.system;
  profile.cores = machine.cores;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (const char* value = std::getenv(name); value != nullptr && profile.gpu)
      profile.drivers = fmt::format("{}={}", name, value);
  if (auto cache = DiskCache::open_default()) profile.roof = load_roof(*cache, profile.device);
}

}  // namespace

Result<Profile> profile_model(const DeviceChoice& choice, const ProfileRequest& request) {
  Profile profile;
  profile.model = request.model;
  Timeline timeline;
  Stopwatch import(&timeline, "phase", phase::kImport);
  TUFF_ASSIGN(Model model, import_model(request.model, {request.shapes, request.inputs}));
  TUFF_RETURN_IF_ERROR(check_interrupt());
  profile.import_ms = import.stop(request.model);
  Stopwatch values(&timeline, "phase", "arguments");
  TUFF_ASSIGN(ArgumentValues arguments,
              gather_arguments(model, {request.inputs, request.weights, true}));
  values.stop("read, or made up where no value is given");
  report_seeded(arguments);
  profile.precision = matmul_precision(model.graph);
  profile.seeded = arguments.seeded_weights;
  profile.seeded.insert(profile.seeded.end(), arguments.seeded_inputs.begin(),
                        arguments.seeded_inputs.end());

  Stopwatch open(&timeline, "phase", "open device");
  TUFF_ASSIGN(std::unique_ptr<Device> device, open_device(choice, {&timeline, print_warning}));
  open.stop(device->description());
  if (request.tune_s)
    TUFF_RETURN_IF_ERROR(tune_first(
        choice, device.get(), model.graph,
        {*request.tune_s, {request.disabled.begin(), request.disabled.end()}, request.quiet}));
  describe_environment(*device, choice, profile);
  Profiler profiler(*device, model.graph, request, timeline, profile);
  TUFF_RETURN_IF_ERROR(profiler.run(arguments.values));
  profile.spans = timeline.spans();
  return profile;
}

}  // namespace tuff::cli
