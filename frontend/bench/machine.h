// The machine a benchmark runs on, and what else it is doing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tuff::bench {

struct Machine {
  std::string cpu, system;  // "Intel(R) Xeon(R) ...", "Linux 6.1.0 x86_64"
  int64_t cores = 0, memory_bytes = 0;
};
Machine describe_machine();

// Memory that new processes may still take.
int64_t available_bytes();

// The processors this process may run on; the first `threads` of them (0: all).
std::vector<int> allowed_cpus(int64_t threads);

// UTC, "2026-11-21T20:00:00Z".
std::string date_now();

// CPU time of all processes together, now.
double machine_cpu_ms();

// How many cores others kept busy, from machine_cpu_ms() before and after and the
// CPU time that was ours. Ticks are coarse: spans below 100 ms say nothing.
double others_load(double machine_ms, double own_ms, double elapsed_ms);

// From here on, others' load is worth a warning.
inline constexpr double kBusyCores = 0.25;

// The same for work of this process itself, from the meter's construction on.
class LoadMeter {
 public:
  LoadMeter();
  double others_cores() const;

 private:
  double machine_ms_, own_ms_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tuff::bench
