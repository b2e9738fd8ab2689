// What a benchmark says about its samples. All times are milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tuff::bench {

struct Summary {
  double median = 0, p90 = 0, p99 = 0, min = 0;
  int64_t n = 0;
};
// `samples` must not be empty.
Summary summarize(std::vector<double> samples);

// Samples by burst: samples of one burst share the machine's state, so bursts are
// what is resampled. Burst i of two systems was measured in the same round.
using Bursts = std::vector<std::vector<double>>;
std::vector<double> all_samples(const Bursts& bursts);

struct Interval {
  double value = 0, low = 0, high = 0;
};
inline constexpr int kResamples = 2000;
inline constexpr uint32_t kSeed = 1;
// median(a) / median(b) over the rounds both have (at least one), with the 95 %
// bootstrap interval over rounds. The same samples give the same interval.
Interval ratio_of_medians(const Bursts& a, const Bursts& b);

// A system's cost: the first run, and each further one.
struct RunCost {
  double first_ms = 0, steady_ms = 0;
};
// The least number of runs from which on `a` has cost no more than `b`, for good.
std::optional<int64_t> break_even(const RunCost& a, const RunCost& b);

}  // namespace tuff::bench
