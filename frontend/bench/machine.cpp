#include "frontend/bench/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

namespace tuff::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Of all threads of this process.
double own_cpu_ms() {
  return 1e3 * static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

// The text after "KEY...:" in a file of /proc; empty if there is none.
std::string proc_entry(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    size_t colon = line.find(':');
    size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

int64_t meminfo_bytes(const char* key) {
  return 1024 * std::atoll(proc_entry("/proc/meminfo", key).c_str());
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu = proc_entry("/proc/cpuinfo", "model name");
  machine.cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine.memory_bytes = meminfo_bytes("MemTotal");
  utsname names{};
  if (::uname(&names) == 0)
    machine.system = std::string(names.sysname) + " " + names.release + " " + names.machine;
  return machine;
}

int64_t available_bytes() { return meminfo_bytes("MemAvailable"); }

std::vector<int> allowed_cpus(int64_t threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (threads > 0 && static_cast<int64_t>(cpus.size()) > threads)
    cpus.resize(static_cast<size_t>(threads));
  return cpus;
}

std::string date_now() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

double machine_cpu_ms() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;  // "cpu"
  constexpr int kIdle = 3, kIoWait = 4, kSteal = 7;
  double busy = 0, ticks = 0;
  for (int field = 0; field <= kSteal && file >> ticks; ++field)
    if (field != kIdle && field != kIoWait) busy += ticks;
  return 1e3 * busy / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double others_load(double machine_ms, double own_ms, double elapsed_ms) {
  return elapsed_ms > 0 ? std::max(0.0, (machine_ms - own_ms) / elapsed_ms) : 0;
}

LoadMeter::LoadMeter()
    : machine_ms_(machine_cpu_ms()), own_ms_(own_cpu_ms()), start_(Clock::now()) {}

double LoadMeter::others_cores() const {
  double elapsed_ms = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  return others_load(machine_cpu_ms() - machine_ms_, own_cpu_ms() - own_ms_, elapsed_ms);
}

}  // namespace tuff::bench
