#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "backend/cost.h"
#include "frontend/report/driver_json.h"
#include "frontend/report/profile.h"
#include "frontend/report/step_words.h"
#include "ir/text/print.h"

namespace tuff {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Which part of a report's pie an operation is.
const char* category_of(Op op) {
  switch (op_category(op)) {
    case OpCategory::kContraction: return op == Op::kDotGeneral ? "matmul" : "convolution";
    case OpCategory::kElementwise: return "elementwise";
    case OpCategory::kReduction: return "reduction";
    case OpCategory::kWindow: return "window";
    case OpCategory::kScatter: return "scatter";
    case OpCategory::kSort: return "sort";
    case OpCategory::kLeaf:
    case OpCategory::kView:
    case OpCategory::kIndexing: return "data movement";
    default: return "other";
  }
}

const char* origin_name(KernelLoad::Origin origin) {
  switch (origin) {
    case KernelLoad::Origin::kMemory: return "memory";
    case KernelLoad::Origin::kDisk: return "disk";
    case KernelLoad::Origin::kMade: break;
  }
  return "compiled";
}

// Regions are equal in equal layers, so each text stands in the report once.
class Regions {
 public:
  int number(const GraphPtr& region) {
    auto [it, fresh] =
        by_text_.try_emplace(print(*region, {.locations = false, .elide_above_bytes = 64}),
                             static_cast<int>(list_.size()));
    if (fresh) list_.push_back(describe(*region, it->first));
    return it->second;
  }
  Json take() { return std::move(list_); }

 private:
  static Json describe(const Graph& region, const std::string& text) {
    Json nodes = Json::array(), outputs = Json::array();
    for (const Node& node : region.nodes()) {
      Json inputs = Json::array();
      for (Value v : node.operands) inputs.push_back(v.node);
      nodes.push_back({{"op", op_name(node.op)},
                       {"in", std::move(inputs)},
                       {"type", node.types[0].to_string()}});
    }
    for (Value v : region.outputs()) outputs.push_back(v.node);
    return {{"text", text},
            {"nodes", std::move(nodes)},
            {"outputs", std::move(outputs)},
            {"saved_bytes", fused_bytes(region)}};
  }

  std::map<std::string, int> by_text_;
  Json list_ = Json::array();
};

// Time of a step in the typical run, and how often it is executed in one.
struct StepRuns {
  double ms = 0;
  int64_t executions = 0;
};

// The typical one of many runs is the mean of the middle half of them. Unlike those of
// medians, the parts of a mean add up to the whole; unlike the mean of all, it is not moved
// by one that another process disturbed.
std::vector<size_t> middle_half(const std::vector<double>& ms) {
  std::vector<size_t> order(ms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ms[a] < ms[b]; });
  auto edge = static_cast<ptrdiff_t>(order.size() / 4);
  return {order.begin() + edge, order.end() - edge};
}

// The timed run that a profile shows.
class TypicalRun {
 public:
  explicit TypicalRun(const std::vector<TimedRun>& all) {
    std::vector<double> wall_ms;
    for (const TimedRun& run : all) wall_ms.push_back(run.stats.wall_ms);
    std::vector<size_t> middle = middle_half(wall_ms);
    for (size_t i : middle) add(all[i].stats, 1.0 / static_cast<double>(middle.size()));
    for (const StepTime& time : all.front().stats.steps) ++steps_[time.step].executions;
  }

  StepRuns of(const Step& step) const {
    auto it = steps_.find(&step);
    return it == steps_.end() ? StepRuns() : it->second;
  }
  double steps_ms() const { return steps_ms_; }
  // What passes outside of the steps: with them it is all of the run.
  Json outside() const {
    Json parts = Json::array();
    auto add = [&](const char* name, double ms, const char* what) {
      if (ms != 0) parts.push_back({{"name", name}, {"ms", ms}, {"what", what}});
    };
    add("submit and wait", wait_ms_, "from a submission until the host knows of its end");
    add("read back", readback_ms_, "predicates and indices that the host decides by");
    add("read timestamps", clock_ms_, "only in timed runs");
    add("host", wall_ms_ - steps_ms_ - wait_ms_ - readback_ms_ - clock_ms_,
        "from one step or submission to the next");
    return parts;
  }

 private:
  void add(const RunStats& run, double weight) {
    for (const StepTime& time : run.steps) {
      double ms = weight * 1e-3 * (time.end_us - time.start_us);
      steps_[time.step].ms += ms;
      steps_ms_ += ms;
    }
    wall_ms_ += weight * run.wall_ms;
    wait_ms_ += weight * run.wait_ms;
    readback_ms_ += weight * run.readback_ms;
    clock_ms_ += weight * run.clock_ms;
  }

  std::unordered_map<const Step*, StepRuns> steps_;
  double wall_ms_ = 0, steps_ms_ = 0, wait_ms_ = 0, readback_ms_ = 0, clock_ms_ = 0;
};

Json json_of_steps(const Profile& profile, const TypicalRun& typical, Json& regions_out) {
  Regions regions;
  Json steps = Json::array();
  const Graph* called = nullptr;  // the group whose library call came last
  for_each_step(profile.program->steps, [&](const Step& step, int) {
    if (is_control(step.kind)) return;
    StepRuns of = typical.of(step);
    bool call = step.kind == Step::Kind::kCall;
    if (call) called = step.region.get();
    bool after_call = !call && step.region && step.region.get() == called;
    bool host = step.kind == Step::Kind::kHost;
    bool joined = step.kind == Step::Kind::kDispatch && !step.region;
    Op op = step.region ? main_op(*step.region, after_call) : joined ? Op::kWhile : Op::kParameter;
    std::string name = host && !step.ops.empty() ? step.ops.front()
                       : op == Op::kParameter    ? "copy"
                                                 : op_name(op);
    Json json = {{"label", step.label},
                 {"op", name},
                 {"category", host ? "hosted" : category_of(op)},
                 {"ops", step.ops},
                 {"source", places_of(step)},
                 {"shapes", shapes_of(step)},
                 {"runs", of.executions},
                 {"ms", of.ms},
                 {"flops", step.cost.flops},
                 {"read_bytes", step.cost.read_bytes},
                 {"written_bytes", step.cost.written_bytes}};
    if (step.kind == Step::Kind::kDispatch) {
      json["kernel"] = step.kernel;
      json["workgroups"] = step.workgroups;
    } else {
      json["call"] = call_text(step);
    }
    if (host) json["host"] = true;
    if (step.region) json["region"] = regions.number(step.region);
    steps.push_back(std::move(json));
  });
  regions_out = regions.take();
  return steps;
}

Json json_of_kernels(const Profile& profile) {
  Json kernels = Json::array();
  for (size_t i = 0; i < profile.program->kernels.size(); ++i) {
    const KernelLoad load =
        i < profile.load.by_kernel.size() ? profile.load.by_kernel[i] : KernelLoad{};
    kernels.push_back({{"family", profile.program->kernels[i].family},
                       {"emit_ms", load.emit_ms},
                       {"glsl_ms", load.glsl_ms},
                       {"pipeline_ms", load.pipeline_ms},
                       {"origin", origin_name(load.origin)},
                       {"text", profile.kernel_texts[i]}});
    if (i < profile.driver_kernels.size())
      kernels.back()["driver"] =
          json_of_resources(resources_of(profile.driver_kernels[i].statistics));
  }
  return kernels;
}

Json json_of_memory(const CompileReport& report) {
  Json temporaries = Json::array();
  for (const Temporary& t : report.temporaries)
    temporaries.push_back({{"offset_bytes", t.offset_bytes},
                           {"size_bytes", t.size_bytes},
                           {"first", t.first},
                           {"last", t.last},
                           {"owner", t.owner}});
  return {{"arguments_bytes", report.arguments_bytes},
          {"outputs_bytes", report.outputs_bytes},
          {"constants_bytes", report.constants_bytes},
          {"arena_bytes", report.arena_bytes},
          {"liveness_bytes", report.liveness_bytes},
          {"peak_bytes", report.arguments_bytes + report.outputs_bytes + report.constants_bytes +
                             report.arena_bytes},
          {"owner", report.arena_owner},
          {"temporaries", std::move(temporaries)}};
}

// What the device has no kernel for.
Json json_of_hosted(const CompileReport& report) {
  Json hosted = Json::array();
  for (const CompileReport::Hosted& one : report.hosted)
    hosted.push_back(
        {{"ops", one.ops}, {"why", one.why}, {"where", one.where}, {"copied_bytes", one.bytes}});
  return hosted;
}

Json json_of_roof(const Roof& roof) {
  return {{"date", roof.date},
          {"f32_gflops", roof.f32_gflops},
          {"f16_gflops", roof.f16_gflops},
          {"copy_gbps", roof.copy_gbps},
          {"dispatch_us", roof.dispatch_us},
          {"submit_us", roof.submit_us}};
}

Json json_of_times(const std::vector<double>& ms) {
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  double typical = 0;
  std::vector<size_t> middle = middle_half(ms);
  for (size_t i : middle) typical += ms[i] / static_cast<double>(middle.size());
  return {{"median", median(ms)},
          {"typical", typical},
          {"min", sorted.empty() ? 0 : sorted.front()},
          {"n", ms.size()}};
}

}  // namespace

Json json_of_profile(const Profile& profile) {
  Json phases = Json::object(), regions;
  for (const PhaseTime& phase : profile.phases) phases[phase.name] = phase.ms;
  std::vector<double> timed_ms;
  for (const TimedRun& run : profile.timed_runs) timed_ms.push_back(run.stats.wall_ms);
  TypicalRun typical(profile.timed_runs);
  Json steps = json_of_steps(profile, typical, regions);
  Json json = {{"format", "tuff-profile-1"},
               {"environment",
                {{"date", profile.date},
                 {"command", profile.command},
                 {"device", profile.device},
                 {"why", profile.why},
                 {"gpu", profile.gpu},
                 {"cpu", profile.cpu},
                 {"cores", profile.cores},
                 {"system", profile.system},
                 {"load", profile.others_cores},
                 {"version", TUFF_VERSION},
                 {"precision", profile.precision}}},
               {"model", profile.model},
               {"ops", profile.compile.ops},
               {"seeded", profile.seeded},
               {"import_ms", profile.import_ms},
               {"upload_ms", profile.upload_ms},
               {"first_ms", profile.first_ms},
               {"phases_ms", std::move(phases)},
               {"second_ms", profile.second_ms},
               {"steady_ms", json_of_times(profile.steady_ms)},
               {"timed_ms", json_of_times(timed_ms)},
               {"steps_ms", typical.steps_ms()},
               {"outside", typical.outside()},
               {"glsl_compiled", profile.load.glsl_compiled},
               {"memory_hits", profile.load.memory_hits},
               {"disk_hits", profile.load.disk_hits},
               {"steps", std::move(steps)},
               {"regions", std::move(regions)},
               {"kernels", json_of_kernels(profile)},
               {"no_driver_kernels", profile.no_driver_kernels},
               {"hosted", json_of_hosted(profile.compile)},
               {"memory", json_of_memory(profile.compile)},
               {"outputs", profile.outputs},
               {"repeatable", profile.repeatable}};
  if (!profile.drivers.empty()) json["environment"]["drivers"] = profile.drivers;
  if (profile.roof) json["roof"] = json_of_roof(*profile.roof);
  if (profile.check) json["check"] = *profile.check;
  return json;
}

}  // namespace tuff
