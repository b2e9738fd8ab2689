#include "frontend/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/support/result.h"

namespace tuff::bench {

namespace {

// Linear between the neighbours; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q) {
  double position = q * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

// The median of the samples of the rounds drawn.
double median_of(const Bursts& bursts, const std::vector<size_t>& rounds) {
  std::vector<double> samples;
  for (size_t round : rounds)
    samples.insert(samples.end(), bursts[round].begin(), bursts[round].end());
  return median(std::move(samples));
}

}  // namespace

std::vector<double> all_samples(const Bursts& bursts) {
  std::vector<double> samples;
  for (const std::vector<double>& burst : bursts)
    samples.insert(samples.end(), burst.begin(), burst.end());
  return samples;
}

Summary summarize(std::vector<double> samples) {
  TUFF_CHECK(!samples.empty(), "a summary needs samples");
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.9), quantile(samples, 0.99), samples.front(),
          static_cast<int64_t>(samples.size())};
}

Interval ratio_of_medians(const Bursts& a, const Bursts& b) {
  size_t rounds = std::min(a.size(), b.size());
  TUFF_CHECK(rounds > 0, "a ratio needs a round that both systems ran in");
  std::vector<size_t> drawn(rounds);
  for (size_t i = 0; i < rounds; ++i) drawn[i] = i;
  Interval interval;
  interval.value = median_of(a, drawn) / median_of(b, drawn);
  std::minstd_rand random(kSeed);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    for (size_t& round : drawn) round = random() % rounds;
    ratios.push_back(median_of(a, drawn) / median_of(b, drawn));
  }
  std::sort(ratios.begin(), ratios.end());
  interval.low = quantile(ratios, 0.025);
  interval.high = quantile(ratios, 0.975);
  return interval;
}

std::optional<int64_t> break_even(const RunCost& a, const RunCost& b) {
  if (a.steady_ms > b.steady_ms) return std::nullopt;
  if (a.first_ms <= b.first_ms) return 1;
  double gain = b.steady_ms - a.steady_ms;
  if (gain <= 0) return std::nullopt;
  double runs = 1 + std::ceil((a.first_ms - b.first_ms) / gain);
  if (runs > 1e15) return std::nullopt;  // no difference that means anything
  return static_cast<int64_t>(runs);
}

}  // namespace tuff::bench
