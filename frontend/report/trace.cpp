// The trace event format: https://ui.perfetto.dev and chrome://tracing read it. Complete
// events ("X") of one thread nest or follow each other.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "frontend/report/profile.h"
#include "frontend/report/step_words.h"
#include "ir/op.h"

namespace tuff {

namespace {

constexpr int kHost = 1, kDevice = 2;  // "processes" of the trace

Json named(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Json complete(int process, int thread, const std::string& name, const std::string& category,
              double start_us, double end_us, Json args) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"pid", process},
          {"tid", thread},
          {"ts", start_us},
          {"dur", std::max(0.0, end_us - start_us)},
          {"args", std::move(args)}};
}

// Workers are started anew for every phase, so their spans are laid on the fewest rows
// on which none overlaps another.
class WorkerRows {
 public:
  int row_of(const Span& span) {
    for (size_t row = 0; row < busy_until_us_.size(); ++row)
      if (busy_until_us_[row] <= span.start_us) return take(row, span);
    busy_until_us_.push_back(0);
    return take(busy_until_us_.size() - 1, span);
  }
  int count() const { return static_cast<int>(busy_until_us_.size()); }

 private:
  int take(size_t row, const Span& span) {
    busy_until_us_[row] = span.end_us;
    return static_cast<int>(row) + 1;
  }
  std::vector<double> busy_until_us_;
};

void add_host_spans(const Profile& profile, Json& events) {
  std::vector<Span> spans = profile.spans;
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start_us != b.start_us ? a.start_us < b.start_us : a.end_us > b.end_us;
  });
  WorkerRows rows;
  for (const Span& span : spans) {
    bool phase = span.category == "phase" || span.category == "run";
    std::string name = phase ? span.name : span.category + " " + span.name;
    Json args = Json::object();
    if (!span.detail.empty()) args["what"] = span.detail;
    events.push_back(complete(kHost, span.on_caller ? 0 : rows.row_of(span), name, span.category,
                              span.start_us, span.end_us, std::move(args)));
  }
  for (int row = 1; row <= rows.count(); ++row)
    events.push_back(named("thread_name", kHost, row, fmt::format("compile worker {}", row)));
}

Json step_args(const Step& step) {
  Json args = {{"label", step.label},
               {"ops", fmt::format("{}", fmt::join(step.ops, " "))},
               {"shapes", shapes_of(step)},
               {"gflop", step.cost.flops / 1e9},
               {"read_bytes", step.cost.read_bytes},
               {"written_bytes", step.cost.written_bytes}};
  if (step.kind == Step::Kind::kDispatch) args["kernel"] = step.kernel;
  return args;
}

// A step's place in the profile's list of steps.
using StepNumbers = std::unordered_map<const Step*, size_t>;

StepNumbers numbers_of(const Program& program) {
  StepNumbers numbers;
  for_each_step(program.steps, [&](const Step& step, int) {
    if (!is_control(step.kind)) numbers.emplace(&step, numbers.size());
  });
  return numbers;
}

void add_device_steps(const TimedRun& run, const StepNumbers& numbers, Json& events) {
  for (const StepTime& time : run.stats.steps) {
    const Step& step = *time.step;
    std::string name = step.label.substr(0, step.label.find(" ("));
    Json args = step_args(step);
    if (auto it = numbers.find(&step); it != numbers.end()) args["step"] = it->second;
    events.push_back(complete(kDevice, 0, name, "step", run.start_us + time.start_us,
                              run.start_us + time.end_us, std::move(args)));
  }
}

}  // namespace

Json chrome_trace(const Profile& profile) {
  Json events = Json::array();
  events.push_back(named("process_name", kHost, 0, "host"));
  events.push_back(named("thread_name", kHost, 0, "main thread"));
  events.push_back(named("process_name", kDevice, 0, profile.device));
  events.push_back(named("thread_name", kDevice, 0, profile.gpu ? "compute queue" : "steps"));
  add_host_spans(profile, events);
  const StepNumbers numbers = numbers_of(*profile.program);
  for (const TimedRun& run : profile.timed_runs) add_device_steps(run, numbers, events);
  return {{"traceEvents", std::move(events)},
          {"displayTimeUnit", "ms"},
          {"otherData",
           {{"model", profile.model}, {"device", profile.device}, {"date", profile.date}}}};
}

}  // namespace tuff
