#include "frontend/bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "frontend/bench/accuracy.h"
#include "frontend/bench/contender.h"
#include "frontend/bench/machine.h"
#include "frontend/bench/verdict.h"

namespace tuff::bench {

namespace {

constexpr size_t kLeastRounds = 3;
// A further worker may start beside the ones that wait if this many times the
// largest one's memory is free.
constexpr double kMemoryMargin = 1.5;

class Measurement {
 public:
  Measurement(const Settings& settings, const Bundle& bundle, std::string scratch,
              Json& environment, Json& result)
      : settings_(settings),
        bundle_(bundle),
        scratch_(std::move(scratch)),
        environment_(environment),
        result_(result) {
    result_.update(bundle.description);
    result_["against"] = settings.against;
    result_["systems"] = Json::array();
    for (const System& system : settings.systems)
      result_["systems"].push_back({{"system", system.name}});
  }

  Status run() {
    TUFF_RETURN_IF_ERROR(steady_states());
    tell_load();
    if (!settings_.modes.empty())
      for (size_t i = 0; i < settings_.systems.size(); ++i) TUFF_RETURN_IF_ERROR(other_modes(i));
    return {};
  }

 private:
  Json& entry(size_t i) { return result_["systems"][i]; }
  const System& system(size_t i) const { return settings_.systems[i]; }
  ContenderOptions options() const { return {settings_.timeout, settings_.interrupted, scratch_}; }

  Status check_interrupt() const {
    if (!settings_.interrupted()) return {};
    return Error{ErrorCode::kInterrupted, "The bench is interrupted.", ""};
  }

  // The system that ratios refer to comes first: its outputs are the reference.
  std::vector<size_t> start_order() const {
    std::vector<size_t> order;
    for (size_t i = 0; i < settings_.systems.size(); ++i) order.push_back(i);
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t i) { return system(i).name == settings_.against; });
    return order;
  }

  // As many systems at a time as memory allows, the baseline always among them, so
  // that every ratio is of samples from the same rounds.
  Status steady_states() {
    std::vector<size_t> order = start_order();
    std::unique_ptr<Contender> baseline;
    for (size_t next = 0; next < order.size();) {
      std::vector<std::unique_ptr<Contender>> others;
      while (next < order.size() && (others.empty() || memory_for_another())) {
        TUFF_RETURN_IF_ERROR(check_interrupt());
        size_t i = order[next++];
        std::unique_ptr<Contender> contender = cold_run(i);
        if (!contender) continue;
        if (system(i).name == settings_.against)
          baseline = std::move(contender);
        else
          others.push_back(std::move(contender));
      }
      TUFF_RETURN_IF_ERROR(bursts_of_all(baseline.get(), others));
    }
    if (baseline) baseline->end();
    return {};
  }

  bool memory_for_another() const {
    return static_cast<double>(available_bytes()) >
           kMemoryMargin * static_cast<double>(largest_bytes_);
  }

  // Cold first run and check of the outputs; null where the system is out.
  std::unique_ptr<Contender> cold_run(size_t i) {
    settings_.say(fmt::format("{}  {}  cold", result_.value("name", "?"), system(i).name));
    auto contender = std::make_unique<Contender>(system(i), entry(i), options());
    std::string caches = caches_of(i);
    Trouble trouble = contender->start(caches, DriverCache::kOff);
    if (!trouble) trouble = note_greeting(*contender);
    if (!trouble) trouble = contender->load(bundle_.directory);
    if (!trouble) trouble = contender->first_run("cold");
    if (!trouble) trouble = check_outputs(*contender);
    if (trouble) {
      contender->fail(*trouble);
      return nullptr;
    }
    largest_bytes_ = std::max(largest_bytes_, contender->worker().peak_bytes());
    contender->worker().pause();
    return contender;
  }

  std::string caches_of(size_t i) const { return fmt::format("{}/caches/{}", scratch_, i); }

  // Versions and devices are facts of the run as a whole. Unequal precision is no
  // comparison, so whoever comes with another one than the first is out.
  Trouble note_greeting(const Contender& contender) {
    const Json& greeting = contender.greeting();
    std::string name = contender.system().name, precision = greeting.value("precision", "unknown");
    if (greeting.contains("versions"))
      for (const auto& [package, version] : greeting["versions"].items())
        environment_["versions"][package] = version;
    if (greeting.contains("device")) environment_["devices"][name] = greeting["device"];
    if (precision_.empty()) precision_ = precision, precision_from_ = name;
    if (precision == precision_) return {};
    return TroubleText{"precision", "start",
                       fmt::format("It computes f32 matmuls in {}, and {} in {}.", precision,
                                   precision_from_, precision_)};
  }

  Trouble check_outputs(Contender& contender) {
    std::string directory = fmt::format("{}/outputs/{}", scratch_, contender.system().name);
    if (Trouble trouble = contender.write_outputs(directory)) return trouble;
    if (reference_.empty()) {
      reference_ = contender.system().name;
      result_["reference"] = reference_;
      return {};
    }
    double tolerance =
        settings_.tolerance.value_or(bundle_.description.value("tolerance", kTolerance));
    Result<Accuracy> accuracy = compare_output_files(
        directory, fmt::format("{}/outputs/{}", scratch_, reference_), tolerance);
    std::filesystem::remove_all(directory);
    if (!accuracy.ok()) return TroubleText{"wrong", "outputs", accuracy.error().to_string()};
    contender.entry()["accuracy"] = {{"max_rel_err", accuracy->max_rel_err},
                                     {"output", accuracy->output},
                                     {"tolerance", tolerance},
                                     {"against", reference_}};
    if (accuracy->within) return {};
    contender.entry().erase("runs");
    return TroubleText{
        "wrong", "outputs",
        fmt::format("Its output {} is {:.3g} off {}'s (relative to the largest value; {:.0e} is "
                    "allowed).",
                    accuracy->output, accuracy->max_rel_err, reference_, tolerance)};
  }

  // What was measured until an interrupt is written too, but nobody is waited for then.
  Status bursts_of_all(Contender* baseline, std::vector<std::unique_ptr<Contender>>& others) {
    Status status = run_rounds(baseline, others);
    for (auto& other : others) {
      if (!other->failed() && baseline && !baseline->failed())
        compare_steady(*other, *baseline, settings_.published, result_.value("name", ""));
      other->record();
      if (status.ok()) other->end();
    }
    if (baseline) baseline->record();
    return status;
  }

  Status run_rounds(Contender* baseline, std::vector<std::unique_ptr<Contender>>& others) {
    std::vector<Contender*> all;
    if (baseline) all.push_back(baseline);
    for (auto& other : others) all.push_back(other.get());
    for (Contender* contender : all) contender->begin_rounds();
    settings_.say(
        fmt::format("{}  steady state of {} systems", result_.value("name", "?"), all.size()));
    for (size_t round = 0; round < static_cast<size_t>(settings_.rounds); ++round)
      for (size_t k = 0; k < all.size(); ++k) {
        TUFF_RETURN_IF_ERROR(check_interrupt());
        // Another one begins each round: none has always the same predecessor's heat.
        burst(*all[(k + round) % all.size()], round);
      }
    return check_interrupt();
  }

  void burst(Contender& contender, size_t round) {
    if (contender.failed() || contender.rounds_ms() > limit_ms(round)) return;
    std::optional<double> load = contender.burst(settings_.burst);
    if (load) loads_.push_back(*load);
  }
  double limit_ms(size_t round) const {
    return round < kLeastRounds ? INFINITY : static_cast<double>(settings_.budget.count());
  }

  // Medians of the bursts: a single one may be hit by a passing process.
  void tell_load() {
    if (loads_.empty()) return;
    Summary load = summarize(loads_);
    result_["load"] = {{"median", load.median},
                       {"max", *std::max_element(loads_.begin(), loads_.end())}};
    if (load.median > kBusyCores)
      result_["warnings"].push_back(fmt::format(
          "The machine was busy: others kept {:.1f} cores busy in the median burst.", load.median));
  }

  // A second process, on the caches that the first one has filled.
  Status other_modes(size_t i) {
    TUFF_RETURN_IF_ERROR(check_interrupt());
    if (entry(i).contains("error")) return {};
    settings_.say(fmt::format("{}  {}  warm", result_.value("name", "?"), system(i).name));
    bool disk = settings_.modes.contains("warm-disk");
    if (disk && system(i).has_driver) fill_driver_cache(i);
    Contender contender(system(i), entry(i), options());
    Trouble trouble = contender.start(caches_of(i), DriverCache::kOn);
    if (!trouble) trouble = contender.load(bundle_.directory);
    if (!trouble) trouble = contender.first_run(disk ? "warm-disk" : "");
    if (!trouble && settings_.modes.contains("warm-process"))
      trouble = contender.first_run("warm-process");
    if (!trouble && settings_.modes.contains("new-shape") && !bundle_.other_shape.empty()) {
      trouble = contender.load(bundle_.other_shape);
      if (!trouble) trouble = contender.first_run("new-shape");
    }
    if (trouble && trouble->kind != kInterruptedKind)
      entry(i)["notes"].push_back(fmt::format("The modes after cold end early ({}, {}): {}",
                                              trouble->kind, trouble->stage, trouble->message));
    contender.end();
    std::filesystem::remove_all(caches_of(i));
    return check_interrupt();
  }

  // The driver's cache was off in the cold run, so it has to be filled by a run.
  void fill_driver_cache(size_t i) {
    Json unused = Json::object();
    Contender contender(system(i), unused, options());
    Trouble trouble = contender.start(caches_of(i), DriverCache::kOn);
    if (!trouble) trouble = contender.load(bundle_.directory);
    if (!trouble) trouble = contender.first_run("");
    contender.end();
  }

  const Settings& settings_;
  const Bundle& bundle_;
  const std::string scratch_;
  Json &environment_, &result_;
  std::string precision_, precision_from_, reference_;
  int64_t largest_bytes_ = 0;
  std::vector<double> loads_;
};

}  // namespace

Json describe_policy(const Settings& settings) {
  return {{"rounds", settings.rounds},
          {"burst_ms", settings.burst.count()},
          {"budget_ms", settings.budget.count()},
          {"timeout_s", static_cast<double>(settings.timeout.count()) / 1000},
          {"warmup",
           "the first and the second run; then the first run of each burst of three runs or more"},
          {"bootstrap", kResamples},
          {"seed", kSeed}};
}

Status measure(const Settings& settings, const Bundle& bundle, const std::string& scratch,
               Json& environment, Json& result) {
  return Measurement(settings, bundle, scratch, environment, result).run();
}

}  // namespace tuff::bench
