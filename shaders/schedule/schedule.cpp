#include "shaders/schedule/schedule.h"

#include <algorithm>
#include <numeric>

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

namespace {

// The longest run of a software device, whose lanes each take what tens of operations do.
int64_t run_of_software(int64_t line, int64_t most, int64_t operations) {
  constexpr int64_t kLongest = 16, kLeast = 4, kMostOperations = 256;
  int64_t run = kLongest;
  while (run >= kLeast && (line % run != 0 || run > most || operations * run > kMostOperations))
    run /= 2;
  return run >= kLeast ? run : 1;
}

// A software device walks all lanes on its few processors and takes for each what tens of
// operations do. Runs above eight gain nothing, but its compiler takes ten milliseconds for each
// element that is not part of a word: small maps, and more so those that words do not divide, are
// done before any run pays.
std::vector<MapRun> map_runs_of_software(const MapWork& work) {
  constexpr int64_t kLeast = 4, kMost = 8, kMostOfLines = 32, kMostOperations = 256;
  constexpr int64_t kEnoughRuns = 512, kEnoughElements = 65536, kRunsOfLine = 4;
  int64_t most = kMost;
  while (most >= kLeast &&
         (work.operations * most > kMostOperations || work.elements < most * kEnoughRuns))
    most /= 2;
  std::vector<MapRun> runs;
  if (most < kLeast) return runs;
  auto add_divisor = [&](int64_t run) {
    if (work.line % run == 0) runs.push_back({run, run});
  };
  add_divisor(most);
  // Of whole lines of the last dimension, so that lanes know where these end.
  const int64_t whole = std::lcm(work.inner, kLeast);
  if (whole <= kMostOfLines) add_divisor(whole);
  if (most > kLeast) add_divisor(kLeast);
  const bool divides = work.line % most == 0;
  if (!divides && work.elements >= kEnoughElements && work.line >= kRunsOfLine * most)
    runs.push_back({most, std::gcd(most, work.line)});
  return runs;
}

}  // namespace

// On GPUs only large maps: others have lanes to spare. Much work hides its loads by itself, and its
// code would grow.
std::vector<MapRun> map_runs(const Caps& caps, const MapWork& work) {
  constexpr int64_t kLeast = 4, kMost = 8, kMostOperations = 256;
  if (caps.device_class == DeviceClass::kSoftwareRasteriser) return map_runs_of_software(work);
  if (!is_gpu(caps)) return {};
  int64_t run = std::clamp<int64_t>(16 / work.bytes, kLeast, kMost);
  while (run >= kLeast && (work.line % run != 0 || work.operations * run > kMostOperations))
    run /= 2;
  if (run < kLeast || work.elements < run * enough_lanes(caps)) return {};
  return {{run, run}};
}

int64_t choose_own_run(const Caps& caps, int64_t elements, int64_t line, int64_t bytes) {
  if (caps.device_class != DeviceClass::kSoftwareRasteriser) return 1;
  for (const MapRun& run : map_runs(caps, {elements, line, line, bytes, 1}))
    if (line % run.run == 0) return run.run;
  return 1;
}

int64_t choose_walking_run(const Caps& caps, int64_t elements, int64_t line) {
  constexpr int64_t kEnoughGroups = 2;
  if (caps.device_class != DeviceClass::kSoftwareRasteriser) return 1;
  return run_of_software(line, elements / (kEnoughGroups * preferred_lanes(caps)), 1);
}

int64_t choose_scan_chunk(const Caps& caps, int64_t rows, int64_t length) {
  constexpr int64_t kEnoughGroups = 16;
  bool busy = rows >= kEnoughGroups * preferred_lanes(caps);
  if (busy && length < caps.max_loop_iterations) return length;
  // A lane walks its chunk twice, and one lane all totals of a row.
  int64_t chunk = 8;
  while (2 * chunk * chunk < length) chunk *= 2;
  // Our executor's lanes are at the same place of their chunks. A power of two apart these would
  // have a few sets of the cache between them.
  constexpr int64_t kLine = 16, kFarApart = 256;
  if (caps.device_class == DeviceClass::kCpu && chunk >= kFarApart) chunk += kLine;
  return std::min(chunk, length);
}

namespace {

// Short rows leave no lane of a GPU without a column, few rows get more lanes each.
void fit_lanes_to_columns(const Caps& caps, int64_t rows, int64_t columns, RowSchedule& s) {
  constexpr int64_t kRun = 4, kMostLanes = 512;
  if (columns % kRun == 0 && columns >= kRun * caps.subgroup_size) s.run = kRun;
  while (s.lanes > caps.subgroup_size && s.lanes / 2 * s.run >= columns) s.lanes /= 2;
  while (rows * s.lanes < enough_lanes(caps) && s.lanes < kMostLanes && s.lanes * s.run < columns)
    s.lanes *= 2;
}

void fit_runs_of_software(int64_t rows, int64_t lane_rows, int64_t columns, bool last_is_reduced,
                          const RowFolds& folds, RowSchedule& s) {
  constexpr int64_t kEnoughGroups = 2, kMostUnrolled = 32;
  if (s.lanes_over_columns) {
    if (last_is_reduced) s.run = run_of_software(columns, columns / s.lanes, folds.operations);
    return;
  }
  const int64_t times = s.unroll_columns ? std::max<int64_t>(columns, 1) : 1;
  const int64_t most = std::min(rows / (kEnoughGroups * s.lanes), kMostUnrolled / times);
  s.run = run_of_software(lane_rows, most, folds.operations * times);
}

// Whether our CPU executor walks short rows faster by lanes that own them, though what neighbouring
// lanes read lies a row apart. Measured, interpreted: lanes over the columns of a row take about
// 160 ns for it, most of which is the fold, and 500 where that is more than one operation; lanes
// that own rows take 0.8 ns for each of its elements, and for each column of a block of rows 60 ns
// to go on. As the processor's code a fold takes what a walk over 40 elements takes by lanes that
// own rows; 8 to 12 where each of its lanes has a column and all of them stay in registers. One
// fold of one operation takes half of the walk where each of its lanes has a column, unless rows
// are so many that their walks fill the memory's time.
// A software device takes for a workgroup and its fold what a lane does for tens of elements.
bool owns_short_rows(const Caps& caps, int64_t rows, int64_t columns, int64_t passes,
                     const RowFolds& folds) {
  constexpr int64_t kShortOfSoftware = 64, kGroupsOfSoftware = 2;
  if (caps.device_class == DeviceClass::kSoftwareRasteriser)
    return passes * columns <= kShortOfSoftware &&
           rows >= kGroupsOfSoftware * preferred_lanes(caps);
  if (caps.device_class != DeviceClass::kCpu || rows == 0) return false;
  constexpr int64_t kManyRows = 4096, kLeastColumns = 8, kMostColumns = 64;
  if (folds.native) {
    const bool all_have_columns =
        columns >= kLeastColumns && power_of_two_at_least(columns) == columns;
    const bool short_fold = folds.plain && folds.count == 1 && passes == 1;
    if (short_fold && all_have_columns && rows < kManyRows) return false;
    const bool in_registers = all_have_columns && columns <= kMostColumns;
    const int64_t fold_elements = !in_registers ? 40 : folds.plain ? 8 : 12;
    return passes * columns < fold_elements * folds.count;
  }
  constexpr double kElementNs = 0.8, kColumnNs = 60;
  const double fold_ns = folds.plain ? 160 : 500;
  auto block = static_cast<double>(std::min(rows, preferred_lanes(caps)));
  return static_cast<double>(columns) * (kElementNs + kColumnNs / block) < fold_ns;
}

}  // namespace

std::optional<RowSchedule> choose_row_schedule(const Caps& caps, int64_t rows, int64_t lane_rows,
                                               int64_t columns, int64_t passes,
                                               bool last_is_reduced, const RowFolds& folds) {
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
    // Lanes without a column still cost an executor that walks them one after another. As the
    // processor's code the fold at the end takes what a step of all lanes does.
    constexpr int64_t kSteps = 16, kFewest = 64;
    if (caps.device_class == DeviceClass::kCpu) {
      const int64_t most = power_of_two_at_least(columns);
      schedule.lanes = std::min(
          schedule.lanes, folds.native ? std::max(most / kSteps, std::min(most, kFewest)) : most);
    }
  }
  if (is_gpu(caps) && schedule.lanes_over_columns && last_is_reduced)
    fit_lanes_to_columns(caps, rows, columns, schedule);
  schedule.lanes = std::min(schedule.lanes, most_lanes(caps));
  if (schedule.lanes_over_columns && owns_short_rows(caps, rows, columns, passes, folds)) {
    schedule.lanes_over_columns = false;
    schedule.lanes_over_dims = true;
    schedule.lanes = preferred_lanes(caps);
  }
  // Few columns of a lane's own rows are added up two by two: fewer steps wait for each other.
  constexpr int64_t kFewColumns = 8, kMostUnrolled = 256;
  schedule.unroll_columns = !is_gpu(caps) && !schedule.lanes_over_columns &&
                            columns <= kFewColumns && columns * folds.operations <= kMostUnrolled;
  if (caps.device_class == DeviceClass::kSoftwareRasteriser)
    fit_runs_of_software(rows, lane_rows, columns, last_is_reduced, folds, schedule);
  // A block of few lanes takes as long as a full one; divisions in lanes take less than that.
  constexpr int64_t kFewLanes = 64;
  if (caps.device_class == DeviceClass::kCpu && !schedule.lanes_over_columns)
    schedule.lanes_over_dims |= lane_rows < kFewLanes && rows >= schedule.lanes;
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

namespace {

// Few long rows have more parts than a processor has cores, so that none of these waits long.
// The number is the same everywhere, and so are the sums' bits.
std::optional<RowParts> row_parts_of_processor(const Caps& caps, int64_t rows, int64_t columns,
                                               bool last_is_reduced) {
  constexpr int64_t kFewRows = 8, kLeastColumns = 1 << 16, kParts = 32;
  if (!last_is_reduced || rows == 0 || rows >= kFewRows || columns < kLeastColumns)
    return std::nullopt;
  RowParts s;
  s.down = preferred_lanes(caps);
  if (caps.device_class == DeviceClass::kSoftwareRasteriser)
    s.run = run_of_software(columns, columns, 1);
  const int64_t round = s.down * s.run, rounds = ceil_div(columns, round);
  int64_t parts = ceil_div(kParts, rows);
  parts = std::max(parts, ceil_div(rounds, std::max<int64_t>(1, caps.max_loop_iterations / 2)));
  s.length = ceil_div(rounds, parts) * round;
  s.parts = ceil_div(columns, s.length);
  return s;
}

}  // namespace

// A kernel of its own pays where a workgroup, or a lane, would walk long rows alone.
std::optional<RowParts> choose_row_parts(const Caps& caps, int64_t rows, int64_t lane_rows,
                                         int64_t columns, bool last_is_reduced) {
  constexpr int64_t kUsualLanes = 256, kFewRows = 8, kLongRow = 16384, kLongColumn = 512;
  constexpr int64_t kMostPartsOfALane = 32;  // which it combines one by one
  if (!is_gpu(caps)) return row_parts_of_processor(caps, rows, columns, last_is_reduced);
  if (rows == 0) return std::nullopt;
  RowParts s;
  const int64_t lanes = std::min(kUsualLanes, most_lanes(caps));
  bool beside = !last_is_reduced && lane_rows > kFewRows;
  s.across = beside ? std::min<int64_t>(lanes / 4, power_of_two_at_least(lane_rows)) : 1;
  s.down = lanes / s.across;
  s.run = beside ? 1 : 4;
  s.unroll = beside ? 8 : 2;
  int64_t blocks = rows / lane_rows * ceil_div(lane_rows, s.across);
  if (!beside) blocks = rows;
  int64_t lanes_now = beside ? rows : rows * preferred_lanes(caps);
  bool is_long = columns >= (beside ? kLongColumn : kLongRow);
  if (!is_long || 2 * lanes_now > enough_lanes(caps)) return std::nullopt;
  int64_t round = s.down * s.run * s.unroll, rounds = ceil_div(columns, round);
  int64_t most = std::min(beside ? kMostPartsOfALane : lanes, rounds);
  s.parts = std::clamp<int64_t>(2 * enough_lanes(caps) / lanes / blocks, 1, most);
  s.parts = std::max(s.parts, ceil_div(rounds, std::max<int64_t>(1, caps.max_loop_iterations / 2)));
  s.length = ceil_div(rounds, s.parts) * round;
  s.parts = ceil_div(columns, s.length);
  return s;
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
