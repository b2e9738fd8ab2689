#include "backend/driver_statistics.h"

#include <string_view>

namespace tuff {

namespace {

struct Row {
  std::optional<double> KernelResources::*field;
  std::string_view name;  // as a driver spells it
};

// RADV, ANV, NVK, turnip and honeykrisp of Mesa 25 and 26. Rows of one field add up: a driver
// that spills two kinds of registers counts them apart.
constexpr Row kRows[] = {
    {&KernelResources::registers, "VGPRs"},
    {&KernelResources::registers, "GRF registers"},
    {&KernelResources::registers, "Number of GPRs"},
    {&KernelResources::registers, "Registers used"},
    {&KernelResources::registers, "Register Count"},
    {&KernelResources::registers, "GPRs"},
    {&KernelResources::spills, "Spilled SGPRs"},
    {&KernelResources::spills, "Spilled VGPRs"},
    {&KernelResources::spills, "Spill Count"},
    {&KernelResources::spills, "Fill Count"},
    {&KernelResources::spills, "Spills to memory"},
    {&KernelResources::spills, "Fills from memory"},
    {&KernelResources::spills, "STP Count"},
    {&KernelResources::spills, "LDP Count"},
    {&KernelResources::spills, "Spills"},
    {&KernelResources::spills, "Fills"},
    {&KernelResources::scratch_bytes, "Scratch size"},
    {&KernelResources::scratch_bytes, "Scratch Memory Size"},
    {&KernelResources::scratch_bytes, "SLM size"},
    {&KernelResources::scratch_bytes, "Local Memory Size"},
    {&KernelResources::scratch_bytes, "Scratch"},
    {&KernelResources::shared_bytes, "LDS size"},
    {&KernelResources::shared_bytes, "Workgroup Memory Size"},
    {&KernelResources::shared_bytes, "Shared memory"},
    {&KernelResources::shared_bytes, "Shared Memory Size"},
    {&KernelResources::occupancy, "Subgroups per SIMD"},
    {&KernelResources::occupancy, "Max warps/SM"},
    {&KernelResources::occupancy, "Max Waves Per Core"},
    {&KernelResources::occupancy, "Occupancy"},
    {&KernelResources::code_bytes, "Code size"},
    {&KernelResources::code_bytes, "Code Size"},
    {&KernelResources::code_bytes, "Binary Size"},
    {&KernelResources::instructions, "Instructions"},
    {&KernelResources::instructions, "Instruction Count"},
    {&KernelResources::instructions, "Instruction count"},
};

}  // namespace

KernelResources resources_of(const std::vector<DriverStatistic>& statistics) {
  KernelResources resources;
  for (const DriverStatistic& statistic : statistics)
    for (const Row& row : kRows)
      if (row.name == statistic.name) {
        std::optional<double>& field = resources.*row.field;
        field = field.value_or(0) + statistic.value;
      }
  return resources;
}

}  // namespace tuff
