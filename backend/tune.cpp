#include "backend/tune.h"

#include <algorithm>
#include <chrono>

#include "backend/compile.h"
#include "ir/evaluate/difference.h"
#include "ir/group/group_space.h"
#include "shaders/schedule/contraction_schedule.h"

namespace tuff {

namespace {

using Clock = std::chrono::steady_clock;

// As long as a schedule is only one of many, the fastest of a few runs measures it. Before it
// replaces the chosen one, the median of runs that take turns with that one's does.
constexpr int kQuickRuns = 3, kTurns = 7;
constexpr double kWorthMoreRuns = 1.25;  // times the best one's time, in the first run
constexpr double kQuickMargin = 0.98, kMargin = 0.95;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Group {
  GraphPtr region;
  int64_t runs = 0;
};
struct Problem {
  ContractionProblem what;
  std::vector<Group> groups;  // the one that runs most first
  TunedProblem report;
};

// Loops whose rounds nobody knows count as one.
void count_groups(const Program& program, const Steps& steps, int64_t times, const Caps& caps,
                  std::vector<Problem>& problems) {
  for (const Step& step : steps) {
    for (const Steps& block : step.blocks)
      count_groups(program, block, times * step.trip_count.value_or(1), caps, problems);
    if (step.kind != Step::Kind::kDispatch) continue;
    auto kind = parse_word<GroupKind>(program.kernels[step.kernel].family);
    if (!kind || !is_contraction(*kind)) continue;
    auto what = contraction_problem(*step.region, caps);
    if (!what) continue;
    auto problem = std::find_if(problems.begin(), problems.end(),
                                [&](const Problem& p) { return p.what == *what; });
    if (problem == problems.end()) problem = problems.insert(problem, {*what, {}, {}});
    auto group = std::find_if(problem->groups.begin(), problem->groups.end(),
                              [&](const Group& g) { return *g.region == *step.region; });
    if (group == problem->groups.end()) group = problem->groups.insert(group, {step.region, 0});
    group->runs += times;
    problem->report.runs += times;
  }
}

std::vector<Problem> find_problems(const Program& program, const Caps& caps) {
  std::vector<Problem> problems;
  count_groups(program, program.steps, 1, caps, problems);
  for (Problem& problem : problems) {
    std::stable_sort(problem.groups.begin(), problem.groups.end(),
                     [](const Group& a, const Group& b) { return a.runs > b.runs; });
    problem.report.problem = print_contraction_problem(problem.what);
  }
  return problems;
}

// The search for one problem's schedule.
class ProblemTuner {
 public:
  ProblemTuner(Device& device, Problem& problem, const TuneOptions& options,
               Clock::time_point start)
      : device_(device), problem_(problem), options_(options), start_(start) {
    chosen_ = choose_contraction_schedule(device.caps(), problem.what);
    problem.report.chosen = problem.report.best = print_contraction_schedule(chosen_);
  }

  // Time of the chosen schedule.
  Status measure_chosen() {
    double all_ms = 0;
    for (const Group& group : problem_.groups) {
      TUFF_ASSIGN(GroupTrial trial, load(group, chosen_));
      TUFF_ASSIGN(auto unused, trial.outputs());
      TUFF_ASSIGN(double ms, quick_ms(trial, 0));
      all_ms += ms * static_cast<double>(group.runs);
    }
    problem_.report.chosen_ms = problem_.report.best_ms = all_ms;
    return {};
  }

  // Walks from a schedule to the next that is better, as long as there is one.
  Status search(double until_s) {
    const Group& group = problem_.groups[0];
    TUFF_ASSIGN(GroupTrial reference, load(group, chosen_));
    TUFF_ASSIGN(expected_, reference.outputs());
    TUFF_ASSIGN(best_ms_, quick_ms(reference, 0));
    best_ = chosen_;
    std::vector<ContractionSchedule> tried{chosen_}, next = first_candidates();
    problem_.report.searched = true;
    for (size_t i = 0; i < next.size() && seconds_since(start_) < until_s;) {
      ContractionSchedule candidate = next[i++];
      if (std::find(tried.begin(), tried.end(), candidate) != tried.end()) continue;
      tried.push_back(candidate);
      TUFF_ASSIGN(bool better, try_schedule(group, candidate));
      if (!better) continue;
      next = vary_contraction_schedule(device_.caps(), problem_.what, best_);
      i = 0;
    }
    problem_.report.tried = static_cast<int64_t>(tried.size()) - 1;
    if (best_ != chosen_) TUFF_RETURN_IF_ERROR(decide());
    return {};
  }

 private:
  // What the rule would choose, where something measured goes before it.
  std::vector<ContractionSchedule> first_candidates() {
    Caps untuned = device_.caps();
    untuned.tuning = nullptr;
    auto found = vary_contraction_schedule(device_.caps(), problem_.what, chosen_);
    found.insert(found.begin(), choose_contraction_schedule(untuned, problem_.what));
    return found;
  }

  Result<GroupTrial> load(const Group& group, const ContractionSchedule& schedule) {
    if (options_.before_trial) TUFF_RETURN_IF_ERROR(options_.before_trial(seconds_since(start_)));
    Caps caps = device_.caps();
    caps.tuning = std::make_shared<const Tuning>(
        Tuning{{problem_.report.problem, print_contraction_schedule(schedule)}});
    return GroupTrial::create(device_, group.region, caps, options_.make_argument);
  }

  // The fastest of a few runs; of one, if that takes much longer than `best_ms` (0: none does).
  static Result<double> quick_ms(GroupTrial& trial, double best_ms) {
    TUFF_ASSIGN(double fastest, trial.run_ms());
    for (int run = 1; run < kQuickRuns; ++run) {
      if (best_ms > 0 && fastest > kWorthMoreRuns * best_ms) break;
      TUFF_ASSIGN(double ms, trial.run_ms());
      fastest = std::min(fastest, ms);
    }
    return fastest;
  }

  // Loads it and compares its numbers; nothing where it does not run or computes something else.
  Result<std::optional<GroupTrial>> load_right(const Group& group,
                                               const ContractionSchedule& schedule,
                                               const std::vector<Literal>& expected) {
    Result<GroupTrial> trial = load(group, schedule);
    Result<std::vector<Literal>> got =
        trial.ok() ? trial->outputs() : Result<std::vector<Literal>>(trial.error());
    if (!got.ok()) {
      bool ends_all =
          got.error().code == ErrorCode::kDeviceLost || got.error().code == ErrorCode::kInterrupted;
      if (ends_all) return got.take_error();
      return std::optional<GroupTrial>();
    }
    double tolerance = check_tolerance(*group.region);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (compare_outputs((*got)[i], expected[i], tolerance).within) continue;
      problem_.report.wrong.push_back(print_contraction_schedule(schedule));
      return std::optional<GroupTrial>();
    }
    return std::optional<GroupTrial>(std::move(*trial));
  }

  Result<bool> try_schedule(const Group& group, const ContractionSchedule& schedule) {
    Stopwatch load(nullptr, "", "");
    TUFF_ASSIGN(std::optional<GroupTrial> trial, load_right(group, schedule, expected_));
    if (!trial) return false;
    double load_ms = load.ms();
    TUFF_ASSIGN(double ms, quick_ms(*trial, best_ms_));
    if (options_.after_trial)
      options_.after_trial(
          {problem_.report.problem, print_contraction_schedule(schedule), load_ms, ms});
    if (ms >= kQuickMargin * best_ms_) return false;
    best_ = schedule;
    best_ms_ = ms;
    return true;
  }

  // The best and the chosen one take turns, in all groups.
  Status decide() {
    double chosen_ms = 0, best_ms = 0;
    for (const Group& group : problem_.groups) {
      TUFF_ASSIGN(GroupTrial chosen, load(group, chosen_));
      TUFF_ASSIGN(std::vector<Literal> expected, chosen.outputs());
      TUFF_ASSIGN(std::optional<GroupTrial> best, load_right(group, best_, expected));
      if (!best) return {};
      std::vector<double> chosen_runs, best_runs;
      for (int turn = 0; turn < kTurns; ++turn) {
        TUFF_ASSIGN(double one, chosen.run_ms());
        TUFF_ASSIGN(double other, best->run_ms());
        chosen_runs.push_back(one);
        best_runs.push_back(other);
      }
      chosen_ms += median(chosen_runs) * static_cast<double>(group.runs);
      best_ms += median(best_runs) * static_cast<double>(group.runs);
    }
    TunedProblem& report = problem_.report;
    report.chosen_ms = report.best_ms = chosen_ms;
    if (best_ms >= kMargin * chosen_ms) return {};
    report.best_ms = best_ms;
    report.best = print_contraction_schedule(best_);
    return {};
  }

  Device& device_;
  Problem& problem_;
  const TuneOptions& options_;
  Clock::time_point start_;
  ContractionSchedule chosen_, best_;
  double best_ms_ = 0;
  std::vector<Literal> expected_;
};

}  // namespace

Result<TuneReport> tune(Device& device, const Graph& graph, const TuneOptions& options) {
  Clock::time_point start = Clock::now();
  CompileOptions compile_options;
  compile_options.disabled = options.disabled;
  TUFF_ASSIGN(auto program, compile(graph, device.caps(), compile_options, nullptr));
  std::vector<Problem> problems = find_problems(*program, device.caps());
  double rest_ms = 0;
  for (Problem& problem : problems) {
    if (seconds_since(start) > options.budget_s) break;
    TUFF_RETURN_IF_ERROR(ProblemTuner(device, problem, options, start).measure_chosen());
    rest_ms += problem.report.chosen_ms;
  }
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return a.report.chosen_ms > b.report.chosen_ms;
  });
  TuneReport report;
  for (Problem& problem : problems) {
    double used_s = seconds_since(start), share = problem.report.chosen_ms / rest_ms;
    rest_ms -= problem.report.chosen_ms;
    if (used_s < options.budget_s)
      TUFF_RETURN_IF_ERROR(ProblemTuner(device, problem, options, start)
                               .search(used_s + share * (options.budget_s - used_s)));
    if (problem.report.best != problem.report.chosen)
      report.faster[problem.report.problem] = problem.report.best;
    report.problems.push_back(std::move(problem.report));
  }
  return report;
}

}  // namespace tuff
