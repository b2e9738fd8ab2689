// Tiles of a matrix product in shared memory, on GPUs: which there are, and which one takes the
// least time by an estimate.
#include <algorithm>
#include <cmath>

#include "shaders/schedule/schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

int64_t TileSchedule::groups(const MatmulSizes& sizes) const {
  return sizes.batch * ceil_div(sizes.m, rows) * ceil_div(sizes.n, columns);
}

// Fitted to the live registers that Intel's compiler (ANV 25.0.7) tells of matmuls and
// convolutions: 88 to 189, of which this is mostly less than 8 off. It takes two for a value; those
// that have 256 for a lane (RADV, NVK) take one, and 32 more than values at most. Where k has
// several dimensions each load has an index and a guard of its own.
int64_t TileSchedule::registers(const Caps& caps, const MatmulSizes& sizes) const {
  constexpr int64_t kMany = 256, kAddresses = 16, kOfALoad = 3;
  bool several =
      std::count_if(sizes.k.begin(), sizes.k.end(), [](int64_t size) { return size > 1; }) > 1;
  int64_t values = lane_rows * lane_columns + lane_rows + lane_columns + lane_loads();
  int64_t of_values = caps.lane_registers < kMany ? 2 * values : values + kAddresses;
  return of_values + kAddresses + (several ? kOfALoad * lane_loads() : 0);
}

namespace {

constexpr TileSchedule kTiles[] = {{128, 128, 8, 8, 8}, {128, 64, 8, 8, 4}, {64, 128, 8, 8, 4},
                                   {64, 64, 16, 8, 8},  {64, 64, 8, 8, 8},  {64, 64, 16, 8, 4},
                                   {64, 64, 8, 8, 4},   {32, 64, 8, 8, 4},  {32, 64, 16, 4, 4},
                                   {32, 64, 8, 4, 4},   {32, 32, 16, 4, 4}, {32, 32, 8, 4, 4},
                                   {16, 64, 16, 4, 4}};

// Estimates, in multiply-adds of a wave.
class TileTime {
 public:
  TileTime(const Caps& caps, const MatmulSizes& sizes)
      : sizes_(sizes),
        shared_bytes_(static_cast<double>(caps.max_shared_bytes)),
        lanes_(static_cast<double>(enough_lanes(caps)) / 2) {
    // Chips that multiply matrices multiply and add twice as often as older ones.
    if (!caps.matrix_shapes.empty()) rate_ = 2;
    // Chips whose subgroups always have 64 lanes have four SIMDs a core (GCN), others two of 64
    // lanes, or as many lanes.
    bool four = caps.subgroup_size == 64 && !caps.asks_subgroup_size;
    if (four) lanes_ *= 2;
    core_lanes_ = four ? 256 : 128;
  }

  double of(const TileSchedule& tile, const std::optional<KSplit>& split) const {
    int64_t parts = split ? split->parts : 1;
    double groups = static_cast<double>(std::max<int64_t>(tile.groups(sizes_) * parts, 1));
    double waves = groups * static_cast<double>(tile.lanes()) / lanes_;
    double busy = std::min(1.0, std::min(waves, waves_held(tile)) * part_under_way(tile));
    double products = static_cast<double>(tile.groups(sizes_) * tile.rows * tile.columns) *
                      static_cast<double>(sizes_.all_k()) * with_spare_steps(split);
    double time = products / (lanes_ * busy * share(tile));
    return parts == 1 ? time : time + time_of_parts(parts);
  }

 private:
  // Steps that are walked for one that is there.
  double with_spare_steps(const std::optional<KSplit>& split) const {
    if (!split) return 1;
    return static_cast<double>(split->parts * split->length) /
           static_cast<double>(sizes_.k[split->dim]);
  }

  // That a SIMD can hold, if a core shares as much memory as a workgroup may.
  double waves_held(const TileSchedule& tile) const {
    double groups = std::floor(shared_bytes_ / static_cast<double>(tile.shared_bytes()));
    return groups * static_cast<double>(tile.lanes()) / core_lanes_;
  }

  // Of a wave's time, when each pair of tiles is waited for once.
  double part_under_way(const TileSchedule& tile) const {
    constexpr double kLatency = 175;  // 350 cycles
    double work = static_cast<double>(tile.k * tile.lane_rows * tile.lane_columns) / share(tile);
    return work / (work + kLatency * rate_);
  }

  // Of the time that multiplies and adds, once there are waves enough. Shared memory gives half a
  // word for each multiply-add of an older chip.
  double share(const TileSchedule& tile) const {
    constexpr double kOverhead = 5;  // instructions for each step of k (RDNA's: 4 to 6)
    auto sums = static_cast<double>(tile.lane_rows * tile.lane_columns);
    double words = static_cast<double>(tile.lane_rows + tile.lane_columns) +
                   static_cast<double>(tile.lane_loads()) / static_cast<double>(tile.k);
    words /= sums;
    return std::min(sums / (sums + kOverhead), 0.5 / (rate_ * words));
  }

  // Parts go through memory, and a kernel of its own adds them up.
  double time_of_parts(int64_t parts) const {
    constexpr double kKernel = 2000;       // 2 us
    constexpr double kResultOfAPart = 40;  // 8 bytes
    double results = static_cast<double>(sizes_.batch * sizes_.m * sizes_.n);
    return rate_ * (kKernel + results * static_cast<double>(parts) * kResultOfAPart / lanes_);
  }

  const MatmulSizes& sizes_;
  double shared_bytes_;
  double lanes_;       // of one wave a SIMD
  double core_lanes_;  // the same of a core
  double rate_ = 1;    // of multiply-adds; 1 is an older chip's
};

}  // namespace

std::span<const TileSchedule> all_tiles() { return kTiles; }

bool takes_tile(const Caps& caps, const MatmulSizes& sizes, const TileSchedule& tile) {
  bool too_large = (tile.rows > 16 && tile.rows >= 2 * sizes.m) ||
                   (tile.columns > 32 && tile.columns >= 2 * sizes.n);
  // A lane walks all steps, in loops of tile.k.
  return !too_large && tile.lanes() <= caps.max_group_invocations &&
         tile.shared_bytes() <= caps.max_shared_bytes &&
         tile.registers(caps, sizes) <= caps.lane_registers &&
         2 * sizes.all_k() <= caps.max_loop_iterations;
}

std::optional<TileChoice> choose_tile_schedule(const Caps& caps, const MatmulSizes& sizes,
                                               bool b_along_k) {
  constexpr int64_t kFewRows = 16;     // B is read once: nothing to share
  constexpr int64_t kLeastPart = 128;  // steps
  constexpr int64_t kMostParts = 32;
  constexpr double kClearly = 0.95;  // faster, to make up for more loads
  if (!is_gpu(caps)) return std::nullopt;
  if (sizes.m <= kFewRows && !b_along_k) return std::nullopt;
  TileTime time(caps, sizes);
  int64_t most_parts = std::clamp<int64_t>(sizes.all_k() / kLeastPart, 1, kMostParts);
  std::optional<TileChoice> chosen;
  double least = 0;
  for (TileSchedule tile : kTiles) {
    tile.run = caps.int64 ? 2 : 1;
    if (!takes_tile(caps, sizes, tile)) continue;
    for (int64_t parts = 1; parts <= most_parts; ++parts) {
      std::optional<KSplit> split = split_k(sizes, parts, tile.k);
      double estimate = time.of(tile, split);
      if (chosen && estimate >= kClearly * least) continue;
      chosen = {tile, split};
      least = estimate;
    }
  }
  return chosen;
}

}  // namespace tuff
