// tuff bench compare: the same workloads and systems in two results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/bench/statistics.h"
#include "frontend/bench/worker.h"

namespace tuff::bench {

struct Compared {
  std::string workload, system;
  double a_ms = 0, b_ms = 0;  // steady medians
  Interval ratio;             // b / a; below 1: b is faster
  std::optional<double> first_ratio;
};

struct Comparison {
  std::vector<Compared> rows;
  std::vector<std::string> only_one;  // "gpt2_b2s64 jax": in one of the files only
};

// Reads results. Errors: kBadInput naming the file and what is wrong with it.
Result<Json> read_results(const std::string& path);

// Errors: kUsage for systems whose matmul precision differs.
Result<Comparison> compare_results(const Json& a, const Json& b);

// "1.05x" or "1.05", at least 0. Errors: kUsage.
Result<double> parse_factor(const std::string& text);

std::string comparison_table(const Comparison& comparison);
Json comparison_json(const Comparison& comparison);

// kTooSlow naming the rows of tuff's own systems (of all, if there are none of ours)
// that are slower than `factor`, the whole interval counted: noise is no regression.
Status check_regression(const Comparison& comparison, double factor);

}  // namespace tuff::bench
