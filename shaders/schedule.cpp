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

RowSchedule choose_row_schedule(const Caps& caps, int64_t rows, int64_t lane_rows, int64_t columns,
                                int64_t passes, bool last_is_reduced) {
  // So few rows leave most lanes without one, and lie so near each other that lanes which
  // walk one of them still use most of what they fetch.
  constexpr int64_t kFewRows = 8;
  RowSchedule schedule;
  schedule.lanes = preferred_lanes(caps);
  bool walks_fit = passes * columns <= caps.max_loop_iterations;
  bool few = lane_rows <= std::min(kFewRows, schedule.lanes / 4) && columns >= schedule.lanes;
  schedule.lanes_over_columns = last_is_reduced || rows == 1 || few || !walks_fit;
  if (schedule.lanes_over_columns) {
    // The loop limit of a driver bounds the iterations of one lane.
    int64_t needed = ceil_div(passes * columns, std::max<int64_t>(caps.max_loop_iterations, 1));
    schedule.lanes = std::max(schedule.lanes, power_of_two_at_least(needed));
    // Lanes without a column still cost an executor that walks them one after another.
    if (caps.device_class == DeviceClass::kCpu)
      schedule.lanes = std::min(schedule.lanes, power_of_two_at_least(columns));
  }
  schedule.lanes =
      std::min(schedule.lanes, power_of_two_at_least(caps.max_group_invocations + 1) / 2);
  return schedule;
}

namespace {

// The largest divisor of n among [low, high]; else `high`.
int64_t divisor_or(int64_t n, int64_t low, int64_t high) {
  for (int64_t d = high; d >= std::max<int64_t>(low, 1); --d)
    if (n % d == 0) return d;
  return high;
}

}  // namespace

// Only for our CPU executor as yet.
std::optional<RowSplit> choose_row_split(const Caps& caps, int64_t rows, int64_t lane_rows,
                                         int64_t columns) {
  constexpr int64_t kEnoughGroups = 8, kParts = 32, kMinElements = 1 << 15, kMinColumns = 64;
  if (caps.device_class != DeviceClass::kCpu || columns < kMinColumns ||
      rows * columns < kMinElements)
    return std::nullopt;
  RowSplit split;
  split.lanes = preferred_lanes(caps);
  int64_t groups = rows / lane_rows * ceil_div(lane_rows, split.lanes);
  bool narrow = 2 * lane_rows <= split.lanes;  // most lanes have no row
  if (!narrow && groups >= kEnoughGroups) return std::nullopt;
  int64_t most = split.lanes / lane_rows;
  if (narrow) split.columns_at_once = divisor_or(columns, (most + 1) / 2, most);
  int64_t steps = ceil_div(columns, split.columns_at_once);
  int64_t parts = std::clamp<int64_t>(kParts / groups, 1, steps);
  split.parts = divisor_or(steps, (parts + 1) / 2, parts);
  split.steps = ceil_div(steps, split.parts);
  return split;
}

namespace {

// A load costs a software rasteriser as much as ten multiplications of a subgroup: it
// gathers lane by lane. So lanes share what they load, two elements a load, and the tile
// is as large as registers (16 rows x 4 columns, most of 32) and first runs allow: the
// driver takes a second and more to compile the epilogue of 64 results, which only much
// work makes up for.
MatmulSchedule software_matmul_schedule(const Caps& caps, int64_t m, int64_t n, int64_t k,
                                        int64_t inner_k) {
  constexpr int64_t kMuch = 1 << 18, kSome = 1 << 14;  // elements of B: not the batch's matter
  MatmulSchedule s;
  s.lanes = preferred_lanes(caps);
  s.share_rows = caps.subgroup_shuffle && s.lanes == caps.subgroup_size;
  s.wide_loads = caps.int64;
  int64_t work = n * k;
  s.tile_m = work < kSome ? 2 : work < kMuch ? 4 : s.share_rows ? 16 : 8;
  s.tile_n = 4;
  for (int64_t unroll : {4, 3, 2})
    if (s.k_unroll == 1 && inner_k % unroll == 0) s.k_unroll = unroll;
  s.tile_m = std::min(power_of_two_at_least(m), s.tile_m);  // few kernels for small batches
  int64_t columns = ceil_div(n, s.lanes);
  s.tile_n = columns >= 3 ? 4 : std::clamp<int64_t>(columns, 1, 2);
  return s;
}

// A tile of 16 rows x 8 steps of A stands in shared memory, an element or two a lane, and
// is read by all; columns of B are the lanes' own, so its loads are coalesced as they are.
MatmulSchedule gpu_matmul_schedule(const Caps& caps, int64_t m, int64_t n) {
  constexpr int64_t kRows = 16;
  MatmulSchedule s;
  s.lanes =
      std::min(preferred_lanes(caps), power_of_two_at_least(caps.max_group_invocations + 1) / 2);
  s.tile_m = std::min(power_of_two_at_least(m), kRows);
  s.tile_n = std::clamp<int64_t>(ceil_div(n, s.lanes), 1, 2);
  if (s.lanes < kRows || caps.max_shared_bytes < 8 * kRows * 8) return s;
  s.share_rows = true;
  s.k_unroll = 8;
  s.k_split = std::min(s.lanes / kRows, s.k_unroll);
  return s;
}

MatmulSchedule cpu_matmul_schedule(int64_t m) {
  return {.lanes = 256, .tile_m = std::clamp<int64_t>(m, 1, 4), .tile_n = 1};
}

}  // namespace

MatmulSchedule choose_matmul_schedule(const Caps& caps, int64_t m, int64_t n, int64_t k,
                                      int64_t inner_k) {
  MatmulSchedule s;
  switch (caps.device_class) {
    case DeviceClass::kCpu: s = cpu_matmul_schedule(m); break;
    case DeviceClass::kSoftwareRasteriser:
      s = software_matmul_schedule(caps, m, n, k, inner_k);
      break;
    case DeviceClass::kIntegratedGpu:
    case DeviceClass::kDiscreteGpu: s = gpu_matmul_schedule(caps, m, n); break;
  }
  int64_t least = std::max<int64_t>(1, ceil_div(k, caps.max_loop_iterations));
  s.k_unroll = std::max(s.k_unroll, ceil_div(least, s.k_split) * s.k_split);
  return s;
}

AttentionSchedule choose_attention_schedule(const Caps& caps, int64_t columns, int64_t inner_k) {
  AttentionSchedule s;
  s.lanes = std::min<int64_t>(preferred_lanes(caps), 64);
  s.columns = std::clamp<int64_t>(columns, 1, s.columns);
  s.wide_loads = caps.device_class == DeviceClass::kSoftwareRasteriser && caps.int64;
  if (s.wide_loads && inner_k % 2 == 0) s.k_unroll = 2;
  return s;
}

}  // namespace tuff
