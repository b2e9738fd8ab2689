#include "frontend/bench/contender.h"

#include <fmt/format.h>

#include <filesystem>

#include "frontend/bench/machine.h"

namespace tuff::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEndTimeout{10000};
constexpr double kLeastMsForLoad = 100;
// In a burst of so many runs the first one, after a sleep, is not counted.
constexpr size_t kRunsWithWarmup = 3;

// Of a burst, evenly spread over it: models of microseconds run thousands of times.
constexpr size_t kSamplesKept = 200;

std::vector<double> thin(const std::vector<double>& samples) {
  if (samples.size() <= kSamplesKept) return samples;
  std::vector<double> kept;
  for (size_t i = 0; i < kSamplesKept; ++i)
    kept.push_back(samples[i * samples.size() / kSamplesKept]);
  return kept;
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

void Contender::fail(const TroubleText& trouble) {
  failed_ = true;
  worker_.reset();
  entry_["error"] = {
      {"kind", trouble.kind}, {"stage", trouble.stage}, {"message", trouble.message}};
}

Trouble Contender::ask(const char* stage, const Json& request, Json* value) {
  Answer answer = worker_->ask(request, options_.timeout);
  if (!answer.ok()) return TroubleText{answer.trouble, stage, answer.message};
  if (value) *value = std::move(answer.value);
  return {};
}

Trouble Contender::start(const std::string& caches, DriverCache driver) {
  Launch launch = with_caches(system_, caches, driver);
  launch.log_path = fmt::format("{}/{}.log", options_.scratch, system_.name);
  Clock::time_point begin = Clock::now();
  Result<std::unique_ptr<Worker>> worker = Worker::start(launch, options_.interrupted);
  if (!worker.ok()) return TroubleText{"failed", "start", worker.error().to_string()};
  worker_ = std::move(worker).value();
  Answer greeting = worker_->read_answer(options_.timeout);
  if (!greeting.ok()) return TroubleText{greeting.trouble, "start", greeting.message};
  start_ms_ = ms_since(begin);
  greeting_ = std::move(greeting.value);
  if (greeting_.contains("precision")) entry_["precision"] = greeting_["precision"];
  return {};
}

Trouble Contender::load(const std::string& bundle) {
  Clock::time_point begin = Clock::now();
  Json value;
  Trouble trouble = ask("load", {{"do", "load"}, {"bundle", bundle}}, &value);
  upload_ms_ = ms_since(begin);
  if (!trouble && value.contains("precision")) entry_["precision"] = value["precision"];
  return trouble;
}

Trouble Contender::first_run(const std::string& mode) {
  Json value;
  if (Trouble trouble = ask("first run", {{"do", "first"}}, &value)) return trouble;
  if (!value.is_object() || !value.contains("first_ms"))
    return TroubleText{"failed", "first run", "The worker does not tell its first run's time."};
  if (mode.empty()) return {};
  for (const char* key : {"notes", "peak_device_bytes"})
    if (value.contains(key)) entry_[key] = value[key], value.erase(key);
  Json run = {{"mode", mode}};
  run.update(value);
  // After the first load of a process there is nothing to start any more.
  if (mode == "cold" || mode == "warm-disk") run["start_ms"] = start_ms_;
  run["upload_ms"] = upload_ms_;
  entry_["runs"].push_back(std::move(run));
  return {};
}

Trouble Contender::write_outputs(const std::string& directory) {
  std::filesystem::create_directories(directory);
  return ask("outputs", {{"do", "outputs"}, {"directory", directory}}, nullptr);
}

std::optional<double> Contender::burst(std::chrono::milliseconds length) {
  worker_->resume();
  double machine = machine_cpu_ms(), own = worker_->cpu_ms();
  Clock::time_point begin = Clock::now();
  Json value;
  Trouble trouble = ask("steady", {{"do", "burst"}, {"ms", length.count()}}, &value);
  double elapsed = ms_since(begin);
  if (trouble) {
    // Bursts until an interrupt are results; those until a crash or a hang are not.
    if (trouble->kind != kInterruptedKind) fail(*trouble);
    return std::nullopt;
  }
  double load = others_load(machine_cpu_ms() - machine, worker_->cpu_ms() - own, elapsed);
  worker_->pause();
  rounds_ms_ += elapsed;
  std::vector<double> samples = value.value("ms", std::vector<double>());
  if (samples.empty()) {
    fail({"failed", "steady", "The worker's burst has no runs."});
    return std::nullopt;
  }
  if (samples.size() >= kRunsWithWarmup) samples.erase(samples.begin());
  samples = thin(samples);
  bursts_.push_back(samples);
  all_bursts_.push_back(std::move(samples));
  return elapsed < kLeastMsForLoad ? std::nullopt : std::optional(load);
}

void Contender::record() {
  if (failed_) return;
  if (!all_bursts_.empty()) {
    Summary summary = summarize(all_samples(all_bursts_));
    entry_["steady"] = {{"median", summary.median}, {"p90", summary.p90}, {"p99", summary.p99},
                        {"min", summary.min},       {"n", summary.n},     {"bursts", all_bursts_}};
  }
  entry_["peak_host_bytes"] = worker_->peak_bytes();
}

void Contender::end() {
  if (!worker_) return;
  worker_->resume();
  worker_->ask({{"do", "end"}}, kEndTimeout);
  worker_->read_answer(kEndTimeout);  // the end of the process: what it caches is written
  worker_.reset();
}

}  // namespace tuff::bench
