#include "shaders/schedule.h"

#include <algorithm>

namespace tuff {

namespace {

int64_t power_of_two_at_least(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Lanes a device likes for independent work. A software rasteriser runs one
// subgroup per workgroup best; our CPU executor amortises each statement over a
// block; a GPU hides latency with several subgroups.
int64_t preferred_lanes(const Caps& caps) {
  switch (caps.device_class) {
    case DeviceClass::kCpu: return 512;
    case DeviceClass::kSoftwareRasteriser: return std::max<int64_t>(caps.subgroup_size, 4);
    case DeviceClass::kIntegratedGpu: return 64;
    case DeviceClass::kDiscreteGpu: return 128;
  }
  return 64;
}

}  // namespace

MapSchedule choose_map_schedule(const Caps& caps, int64_t elements) {
  int64_t lanes = preferred_lanes(caps);
  // One workgroup per 16 blocks of a subgroup keeps a software device's dispatch
  // cost down; a map has no loop, so more lanes is the way to bigger groups.
  if (caps.device_class == DeviceClass::kSoftwareRasteriser && elements > 65536) lanes *= 8;
  return {std::min(lanes, caps.max_group_invocations)};
}

int64_t choose_scan_chunk(const Caps& caps, int64_t rows, int64_t length) {
  constexpr int64_t kEnoughGroups = 16;
  bool busy = rows >= kEnoughGroups * preferred_lanes(caps);
  if (busy && length < caps.max_loop_iterations) return length;
  // A lane walks its chunk twice, and one lane all totals of a row.
  int64_t chunk = 8;
  while (2 * chunk * chunk < length) chunk *= 2;
  return std::min(chunk, length);
}

RowSchedule choose_row_schedule(const Caps& caps, int64_t rows, int64_t columns, int64_t passes,
                                bool last_is_reduced) {
  RowSchedule schedule;
  schedule.lanes = preferred_lanes(caps);
  bool walks_fit = passes * columns <= caps.max_loop_iterations;
  schedule.lanes_over_columns = last_is_reduced || rows == 1 || !walks_fit;
  if (schedule.lanes_over_columns) {
    // The loop limit of a driver bounds the iterations of one lane.
    int64_t needed = ceil_div(passes * columns, std::max<int64_t>(caps.max_loop_iterations, 1));
    schedule.lanes = std::max(schedule.lanes, power_of_two_at_least(needed));
  }
  schedule.lanes =
      std::min(schedule.lanes, power_of_two_at_least(caps.max_group_invocations + 1) / 2);
  return schedule;
}

MatmulSchedule choose_matmul_schedule(const Caps& caps, int64_t m, int64_t n, int64_t k) {
  MatmulSchedule schedule;
  schedule.lanes = preferred_lanes(caps);
  // 32 accumulators per lane: 8 x 4 on a software rasteriser (facts: 10-20
  // GFLOP/s), where registers are a cache line away; 8 x 2 elsewhere.
  schedule.tile_m = 8;
  schedule.tile_n = caps.device_class == DeviceClass::kSoftwareRasteriser ? 4 : 2;
  if (caps.device_class == DeviceClass::kCpu) schedule = {256, 4, 1, 1};
  schedule.lanes = std::min(schedule.lanes, caps.max_group_invocations);
  schedule.tile_m = std::clamp<int64_t>(m, 1, schedule.tile_m);
  schedule.tile_n = std::clamp<int64_t>(ceil_div(n, schedule.lanes), 1, schedule.tile_n);
  schedule.k_unroll = std::max<int64_t>(1, ceil_div(k, caps.max_loop_iterations));
  return schedule;
}

}  // namespace tuff
