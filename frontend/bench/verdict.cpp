#include "frontend/bench/verdict.h"

#include <fmt/format.h>

#include <cmath>

namespace tuff::bench {

namespace {

constexpr double kFarOff = 0.25;  // of the published ratio

double cold_ms(const Json& entry) { return entry["runs"][0].value("first_ms", 0.0); }

void compare_with_published(Json& entry, const Json& published, const std::string& workload,
                            double ratio) {
  std::string system = entry.value("system", "");
  if (!published.contains(workload) || !published[workload].contains(system)) return;
  double expected = published[workload][system];
  double off = ratio / expected - 1;
  if (std::fabs(off) <= kFarOff) return;
  entry["published"] = {
      {"ratio", expected},
      {"off", off},
      {"note", fmt::format("{:.2f} times JAX here, {:.2f} times published.", ratio, expected)}};
}

}  // namespace

void compare_steady(Contender& contender, Contender& baseline, const Json& published,
                    const std::string& workload) {
  if (contender.bursts().empty() || baseline.bursts().empty()) return;
  Json& entry = contender.entry();
  const std::string& against = baseline.system().name;
  Interval ratio = ratio_of_medians(contender.bursts(), baseline.bursts());
  entry["ratio"] = {
      {"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}, {"against", against}};
  RunCost own{cold_ms(entry), summarize(all_samples(contender.bursts())).median};
  RunCost other{cold_ms(baseline.entry()), summarize(all_samples(baseline.bursts())).median};
  if (other.first_ms > 0)
    entry["first_ratio"] = {{"value", own.first_ms / other.first_ms}, {"against", against}};
  if (std::optional<int64_t> runs = break_even(own, other))
    entry["break_even"] = {{"runs", *runs}, {"against", against}};
  if (against == "jax") compare_with_published(entry, published, workload, ratio.value);
}

}  // namespace tuff::bench
