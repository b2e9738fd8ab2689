#include "backend/vulkan/self_test/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "backend/vulkan/pipelines/parallel.h"

namespace tuff {

namespace {

// Raise it when probes are added or changed, or when kernels begin to rely on more.
constexpr int kSelfTestFormat = 4;
constexpr const char* kSelfTestKind = "selftest";

// What a device can do without. `lower` turns it off, or one degree down; false if it is off
// as it is.
struct Capability {
  const char* name;
  const char* sentence;  // of a quirk; {} is the loop limit
  bool (*lower)(Caps& caps);
};

bool turn_off_matrices(Caps& caps) { return !std::exchange(caps.matrix_shapes, {}).empty(); }

template <bool Caps::*flag>
bool turn_off(Caps& caps) {
  return std::exchange(caps.*flag, false);
}

// Kernels take doubles apart as 64-bit integers.
bool turn_off_int64(Caps& caps) {
  caps.float64 = caps.float64 && !caps.int64;
  return std::exchange(caps.int64, false);
}

// Drivers that stop loops were seen to do so after 65,535 iterations. Below the least of
// these a device is not worth using.
bool lower_loop_limit(Caps& caps) {
  for (int64_t limit : {65535, 32767, 16383, 8191})
    if (limit < caps.max_loop_iterations) {
      caps.max_loop_iterations = limit;
      return true;
    }
  return false;
}

constexpr Capability kCapabilities[] = {
    {"subgroup_shuffle",
     "Lanes that read each other's registers get wrong values; they go through shared memory.",
     turn_off<&Caps::subgroup_shuffle>},
    {"int64",
     "64-bit integers come out wrong; they go as pairs of 32 bits, f64 goes to the CPU, and loads "
     "are narrow.",
     turn_off_int64},
    {"float64", "64-bit floats come out wrong; they are left to the CPU.",
     turn_off<&Caps::float64>},
    {"storage_16bit", "16-bit elements come out wrong; they take 32 bits on the device.",
     turn_off<&Caps::storage_16bit>},
    {"storage_8bit", "8-bit elements come out wrong; they take 32 bits on the device.",
     turn_off<&Caps::storage_8bit>},
    {"cooperative_matrix",
     "Matrices that subgroups hold together come out wrong; matrix products go without them.",
     turn_off_matrices},
    {"native_division", "Division and square root round wrong; kernels repair them.",
     turn_off<&Caps::native_division>},
    {"fused_multiply_add", "fma rounds twice; kernels repair quotients by integers.",
     turn_off<&Caps::fused_multiply_add>},
    {"native_f16_widen", "Conversions from f16 lose denormals; kernels do them by integers.",
     turn_off<&Caps::native_f16_widen>},
    {"native_f16_narrow", "Conversions to f16 round wrong; kernels do them by integers.",
     turn_off<&Caps::native_f16_narrow>},
    {"long_loops", "Long loops give wrong results; kernels keep to {} iterations.",
     lower_loop_limit},
};

const Capability* find_capability(std::string_view name) {
  auto it = std::find_if(std::begin(kCapabilities), std::end(kCapabilities),
                         [&](const Capability& capability) { return capability.name == name; });
  return it == std::end(kCapabilities) ? nullptr : it;
}

// What one row says of a device with these capabilities; empty where nothing is wrong, or
// nothing is asked.
Result<std::string> run_row(const ProbeRow& row, const Caps& caps, const RunProbe& run) {
  std::optional<Probe> probe = row.make(caps);
  if (!probe) return std::string();
  return run(*probe);
}

struct Fault {
  const ProbeRow* row = nullptr;
  std::string what;
};

// The first row that comes out wrong; all are run at once.
Result<std::optional<Fault>> find_fault(const Caps& caps, const RunProbe& run) {
  const std::vector<ProbeRow>& rows = probe_rows();
  std::vector<std::string> wrong(rows.size());
  TUFF_RETURN_IF_ERROR(parallel_for(rows.size(), [&](size_t i) -> Status {
    TUFF_ASSIGN(wrong[i], run_row(rows[i], caps, run));
    return {};
  }));
  for (size_t i = 0; i < rows.size(); ++i)
    if (!wrong[i].empty()) return std::optional(Fault{&rows[i], wrong[i]});
  return std::optional<Fault>();
}

// Lowers one suspect, or else all of them, until the row comes out right. False, and nothing
// lowered, if it never does.
Result<bool> mend(const ProbeRow& row, const RunProbe& run, Caps& caps,
                  std::vector<std::string>& off) {
  Caps all = caps;
  std::vector<std::string> all_off = off;
  for (const char* name : row.suspects) {
    const Capability* suspect = find_capability(name);
    Caps trial = caps;
    std::vector<std::string> trial_off = off;
    while (suspect->lower(trial)) {
      trial_off.push_back(name);
      TUFF_ASSIGN(std::string wrong, run_row(row, trial, run));
      if (!wrong.empty()) continue;
      caps = trial;
      off = trial_off;
      return true;
    }
    while (suspect->lower(all)) all_off.push_back(name);
  }
  if (row.suspects.size() < 2) return false;
  TUFF_ASSIGN(std::string wrong, run_row(row, all, run));
  if (!wrong.empty()) return false;
  caps = all;
  off = all_off;
  return true;
}

std::string verdict_key(const DeviceSnapshot& s) {
  return fmt::format("tuff {} format {}\n{}", TUFF_VERSION, kSelfTestFormat, driver_identity(s));
}

// Where no cache keeps them, the process does.
struct KnownVerdicts {
  std::mutex mutex;
  std::map<std::string, SelfTestVerdict> by_key;
};
KnownVerdicts& known_verdicts() {
  static KnownVerdicts known;
  return known;
}

}  // namespace

// With less to rely on, kernels change; so all rows are run again after each change.
Result<SelfTestVerdict> judge_device(const Caps& claimed, const RunProbe& run) {
  SelfTestVerdict verdict;
  Caps caps = claimed;
  while (true) {
    TUFF_ASSIGN(std::optional<Fault> fault, find_fault(caps, run));
    if (!fault) return verdict;
    TUFF_ASSIGN(bool mended, mend(*fault->row, run, caps, verdict.off));
    if (mended) continue;
    verdict.failure = fmt::format("it computes {} wrong (the problem {}: {})", fault->row->computes,
                                  fault->row->name, fault->what);
    std::replace(verdict.failure.begin(), verdict.failure.end(), '\n', ' ');
    return verdict;
  }
}

Status apply_verdict(const SelfTestVerdict& verdict, const DeviceSnapshot& snapshot,
                     DevicePlan& plan) {
  if (!verdict.failure.empty())
    return Error{ErrorCode::kNoDevice,
                 fmt::format("The Vulkan device ({}) cannot be used: {}. Update its driver, or use "
                             "the device cpu; `tuff cache clear` has it tested again.",
                             snapshot.properties.deviceName, verdict.failure),
                 ""};
  for (const std::string& name : verdict.off) find_capability(name)->lower(plan.caps);
  for (const std::string& name : std::set(verdict.off.begin(), verdict.off.end()))
    plan.quirks.push_back(
        {"self_test_" + name,
         fmt::format(fmt::runtime(find_capability(name)->sentence), plan.caps.max_loop_iterations),
         ""});
  return {};
}

std::string print_verdict(const SelfTestVerdict& verdict) {
  std::string text;
  for (const std::string& name : verdict.off) text += "off " + name + "\n";
  if (!verdict.failure.empty()) text += "failure " + verdict.failure + "\n";
  return text + "end\n";
}

std::optional<SelfTestVerdict> parse_verdict(const std::string& text) {
  SelfTestVerdict verdict;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "end")
      return print_verdict(verdict) == text ? std::optional(verdict) : std::nullopt;
    size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    std::string word = line.substr(0, space), rest = line.substr(space + 1);
    if (word == "off" && find_capability(rest) != nullptr)
      verdict.off.push_back(rest);
    else if (word == "failure")
      verdict.failure = rest;
    else
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<SelfTestVerdict> find_verdict(DiskCache* cache, const DeviceSnapshot& snapshot) {
  std::string key = verdict_key(snapshot);
  if (cache == nullptr) {
    KnownVerdicts& known = known_verdicts();
    std::lock_guard lock(known.mutex);
    auto it = known.by_key.find(key);
    return it == known.by_key.end() ? std::nullopt : std::optional(it->second);
  }
  auto bytes = cache->get(kSelfTestKind, key);
  return bytes ? parse_verdict(std::string(bytes->begin(), bytes->end())) : std::nullopt;
}

void keep_verdict(DiskCache* cache, const DeviceSnapshot& snapshot,
                  const SelfTestVerdict& verdict) {
  std::string key = verdict_key(snapshot), text = print_verdict(verdict);
  if (cache == nullptr) {
    KnownVerdicts& known = known_verdicts();
    std::lock_guard lock(known.mutex);
    known.by_key[key] = verdict;
  } else {
    cache->put(kSelfTestKind, key, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
}

}  // namespace tuff
