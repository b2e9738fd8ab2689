// What a driver's compiler says of one kernel, in its own words and in ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tuff {

struct DriverStatistic {
  std::string name, description;  // the driver's words
  double value = 0;
};

// One kernel as the driver compiled it.
struct DriverKernel {
  uint32_t subgroup_size = 0;  // that the driver chose; 0: not told
  std::vector<DriverStatistic> statistics;
  std::string isa;  // the machine's instructions as text; empty: not shown
};

// The statistics that most drivers have under names of their own. Unset: not told.
struct KernelResources {
  std::optional<double> registers;      // a lane
  std::optional<double> spills;         // instructions or registers; 0 is what is wanted
  std::optional<double> scratch_bytes;  // memory that registers spill to, a lane
  std::optional<double> shared_bytes;   // a workgroup
  std::optional<double> occupancy;      // subgroups that fit a SIMD, or what the driver counts so
  std::optional<double> code_bytes;
  std::optional<double> instructions;
};

KernelResources resources_of(const std::vector<DriverStatistic>& statistics);

}  // namespace tuff
