#include "frontend/report/profile_run.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "backend/cost.h"
#include "frontend/bench/machine.h"
#include "frontend/report/output_summary.h"
#include "frontend/session/check.h"
#include "frontend/session/measure.h"
#include "frontend/session/model.h"
#include "frontend/session/tuning.h"
#include "shaders/emit/emit_glsl.h"

namespace tuff {

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
  Profiler(const Session& session, const Graph& graph, const ProfileRequest& request,
           Profile& profile)
      : session_(session),
        graph_(graph),
        request_(request),
        timeline_(*session.options().timeline),
        profile_(profile) {}

  Status run(const Literals& arguments) {
    Literals first;
    TUFF_ASSIGN(LoadedModel model, run_first(arguments, first));
    for (int i = 0; i < kWarmUpRuns; ++i) TUFF_RETURN_IF_ERROR(run_timed(model, "warm-up"));
    profile_.timed_runs.clear();
    TUFF_RETURN_IF_ERROR(runs_in_turns(model));
    TUFF_ASSIGN(Literals last, download(model));
    profile_.repeatable = same_bits(first, last);
    describe_outputs(first);
    if (request_.check) TUFF_RETURN_IF_ERROR(check(arguments, first));
    return print_kernels();
  }

 private:
  Result<double> upload(LoadedModel& model, const Literals& arguments) {
    Stopwatch watch(&timeline_, "run", phase::kUpload);
    std::shared_ptr<void> activity = session_.options().hooks.begin("upload");
    TUFF_RETURN_IF_ERROR(model.set_arguments(arguments));
    return watch.stop("arguments to the device");
  }

  Result<Literals> download(LoadedModel& model) {
    Stopwatch watch(&timeline_, "run", phase::kDownload);
    TUFF_ASSIGN(Literals outputs, model.outputs());
    watch.stop("outputs to the host");
    return outputs;
  }

  Result<double> one_run(LoadedModel& model, const std::string& name, RunStats* stats,
                         double* start_us = nullptr) {
    const SessionHooks& hooks = session_.options().hooks;
    if (hooks.check) TUFF_RETURN_IF_ERROR(hooks.check());
    Stopwatch watch(&timeline_, "run", name);
    std::shared_ptr<void> activity = hooks.begin(name.c_str());
    if (start_us != nullptr) *start_us = timeline_.us_since_start(Timeline::Clock::now());
    TUFF_RETURN_IF_ERROR(model.run(stats));
    return watch.stop();
  }

  // As `tuff run` would: the first run in its phases, and the second.
  Result<LoadedModel> run_first(const Literals& arguments, Literals& outputs) {
    Timer timer;
    LoadOptions how;
    how.time_steps = true;
    TUFF_ASSIGN(LoadedModel model, session_.load(graph_, how));
    profile_.program = model.shared_program();
    profile_.compile = model.report();
    profile_.load = model.load_stats();
    double compile_ms = timer.ms();
    TUFF_ASSIGN(profile_.upload_ms, upload(model, arguments));
    RunStats first;
    TUFF_ASSIGN(double first_ms, one_run(model, "first run", &first));
    profile_.first_ms = compile_ms + first_ms;
    profile_.phases = first_run_phases(profile_.compile, profile_.load, first);
    TUFF_ASSIGN(outputs, download(model));
    TUFF_ASSIGN(profile_.second_ms, one_run(model, "second run", nullptr));
    return model;
  }

  // Plain and timed runs take turns, each going first every other time, so that both meet
  // the same machine. They are of one executable: the same memory, the same packed weights.
  Status runs_in_turns(LoadedModel& model) {
    bench::LoadMeter load;
    Timer timer;
    auto enough = [&](int64_t done) {
      if (request_.runs) return done >= *request_.runs;
      return done >= kMostRuns || (done >= kLeastRuns && timer.ms() >= kLeastMs);
    };
    for (int64_t i = 1; !enough(i - 1); ++i)
      for (bool timed : {i % 2 == 0, i % 2 != 0})
        TUFF_RETURN_IF_ERROR(timed ? run_timed(model, fmt::format("timed run {}", i))
                                   : run_plain(model, fmt::format("plain run {}", i)));
    profile_.others_cores = load.others_cores();
    return {};
  }

  Status run_plain(LoadedModel& model, const std::string& name) {
    TUFF_ASSIGN(double ms, one_run(model, name, nullptr));
    profile_.steady_ms.push_back(ms);
    return {};
  }

  Status run_timed(LoadedModel& model, const std::string& name) {
    TimedRun run;
    run.stats.time_steps = true;
    TUFF_ASSIGN(run.ms, one_run(model, name, &run.stats, &run.start_us));
    profile_.timed_runs.push_back(std::move(run));
    return {};
  }

  void describe_outputs(const Literals& outputs) {
    profile_.outputs = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i)
      profile_.outputs.push_back(json_of_output(profile_.program->output_names[i], outputs[i]));
  }

  Status check(const Literals& arguments, const Literals& got) {
    TUFF_ASSIGN(CheckReport report, check_outputs(graph_, arguments, got));
    Json outputs = Json::array();
    for (const Difference& d : report.outputs)
      outputs.push_back({{"max_abs", d.max_abs}, {"max_rel", d.max_rel}, {"within", d.within}});
    profile_.check = Json{{"against", "reference evaluator"},
                          {"tolerance", report.tolerance},
                          {"within", report.within},
                          {"outputs", std::move(outputs)}};
    return {};
  }

  Status print_kernels() {
    for (size_t i = 0; i < profile_.program->kernels.size(); ++i) {
      if (!profile_.gpu) {
        profile_.kernel_texts.push_back(profile_.program->kernel_keys[i]);
        continue;
      }
      TUFF_ASSIGN(GlslShader shader,
                  emit_glsl(profile_.program->kernels[i], session_.device().caps()));
      profile_.kernel_texts.push_back(std::move(shader.text));
    }
    return {};
  }

  const Session& session_;
  const Graph& graph_;
  const ProfileRequest& request_;
  Timeline& timeline_;
  Profile& profile_;
};

void describe_environment(const Session& session, Profile& profile) {
  profile.date = bench::date_now();
  profile.device = session.device().description();
  profile.why = session.choice().why;
  profile.gpu = session.choice().kind == DeviceSpec::Kind::kVulkan;
  bench::Machine machine = bench::describe_machine();
  profile.cpu = machine.cpu;
  profile.system = machine.system;
  profile.cores = machine.cores;
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (const char* value = std::getenv(name); value != nullptr && profile.gpu)
      profile.drivers = fmt::format("{}={}", name, value);
  if (auto cache = DiskCache::open_default()) profile.roof = load_roof(*cache, profile.device);
}

// One that does not tell is no error.
Status ask_driver(const DeviceChoice& choice, const Caps& caps, Profile& profile) {
  CompileOnDriverOptions options;
  options.cache = DiskCache::open_default();
  auto kernels = compile_on_driver(choice.index, *profile.program, caps, options);
  if (kernels) {
    profile.driver_kernels = std::move(*kernels);
    return {};
  }
  if (kernels.error().code != ErrorCode::kUnsupported) return kernels.take_error();
  profile.no_driver_kernels = kernels.error().message;
  return {};
}

}  // namespace

Result<Profile> profile_model(const DeviceChoice& choice, const ProfileRequest& request) {
  Profile profile;
  profile.model = request.model;
  Timeline timeline;
  std::shared_ptr<void> activity = request.session.hooks.begin("import");
  Stopwatch import(&timeline, "phase", phase::kImport);
  TUFF_ASSIGN(Model model, import_model(request.model, {request.shapes, request.inputs}));
  profile.import_ms = import.stop(request.model);
  activity.reset();
  activity = request.session.hooks.begin("arguments");
  Stopwatch values(&timeline, "phase", "arguments");
  TUFF_ASSIGN(ArgumentValues arguments,
              gather_arguments(model, {request.inputs, request.weights, true}));
  values.stop("read, or made up where no value is given");
  activity.reset();
  if (request.seeded) request.seeded(arguments);
  profile.precision = matmul_precision(model.graph);
  profile.seeded = arguments.seeded_weights;
  profile.seeded.insert(profile.seeded.end(), arguments.seeded_inputs.begin(),
                        arguments.seeded_inputs.end());

  SessionOptions options = request.session;
  options.timeline = &timeline;
  options.code = model.code;
  Stopwatch open(&timeline, "phase", "open device");
  TUFF_ASSIGN(Session session, Session::open(choice, std::move(options)));
  open.stop(session.device().description());
  if (request.tune_s) {
    TUFF_ASSIGN(TuneReport report, tune_model(session, model.graph, *request.tune_s));
    if (request.tuned) request.tuned(report);
  }
  describe_environment(session, profile);
  Profiler profiler(session, model.graph, request, profile);
  TUFF_RETURN_IF_ERROR(profiler.run(arguments.values));
  if (request.driver && profile.gpu)
    TUFF_RETURN_IF_ERROR(ask_driver(choice, session.device().caps(), profile));
  profile.spans = timeline.spans();
  return profile;
}

}  // namespace tuff
