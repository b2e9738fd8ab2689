#include "shaders/schedule/schedule.h"

#include <algorithm>

#include "shaders/schedule/schedule_rules.h"

namespace tuff {

namespace {

// Of a workgroup: a power of two.
int64_t most_lanes(const Caps& caps) {
  return power_of_two_at_least(caps.max_group_invocations + 1) / 2;
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

std::optional<RowSchedule> choose_row_schedule(const Caps& caps, int64_t rows, int64_t lane_rows,
                                               int64_t columns, int64_t passes,
                                               bool last_is_reduced) {
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
  schedule.lanes = std::min(schedule.lanes, most_lanes(caps));
  bool lanes_fit = passes * ceil_div(columns, schedule.lanes) <= caps.max_loop_iterations;
  if (schedule.lanes_over_columns && !lanes_fit) return std::nullopt;
  return schedule;
}

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

RowSplit split_long_rows(const Caps& caps, int64_t lane_rows, int64_t columns) {
  RowSplit split;
  split.lanes = preferred_lanes(caps);
  split.columns_at_once = std::max<int64_t>(1, most_lanes(caps) / lane_rows);
  int64_t steps = ceil_div(columns, split.columns_at_once);
  split.parts = ceil_div(steps, caps.max_loop_iterations);
  split.steps = ceil_div(steps, split.parts);
  return split;
}

}  // namespace tuff
