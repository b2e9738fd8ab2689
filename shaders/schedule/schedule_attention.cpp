#include <algorithm>

#include "shaders/schedule/schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

AttentionSchedule choose_attention_schedule(const Caps& caps, int64_t columns, int64_t inner_k) {
  AttentionSchedule s;
  s.lanes = std::min<int64_t>(preferred_lanes(caps), 64);
  s.columns = std::clamp<int64_t>(columns, 1, s.columns);
  s.wide_loads = caps.device_class == DeviceClass::kSoftwareRasteriser && caps.int64;
  if (s.wide_loads && inner_k % 2 == 0) s.k_unroll = 2;
  return s;
}

int64_t AttentionTiles::row_words() const {
  return std::max(2 * scores.k * scores.pitch(scores.rows),
                  scores.columns * values.pitch(values.rows));
}

int64_t AttentionTiles::line_words() const {
  int64_t partials = scores.rows / scores.run * lanes_across();
  return std::max(
      {scores.k * scores.pitch(scores.columns), values.k * values.pitch(values.columns), partials});
}

namespace {

// Tiles of scores, from the most work for each load to the least.
constexpr TileSchedule kScoreTiles[] = {{64, 64, 16, 4, 4}, {32, 64, 16, 4, 4}, {32, 128, 16, 4, 4},
                                        {32, 64, 16, 2, 4}, {16, 64, 16, 2, 4}, {16, 64, 16, 4, 4},
                                        {32, 32, 16, 4, 4}, {16, 32, 16, 2, 4}};

// The tiles of results that the same lanes have.
AttentionTiles with_values(TileSchedule scores, int64_t outs) {
  AttentionTiles tiles{scores, scores};
  int64_t across = tiles.lanes_across();
  tiles.values.lane_columns = power_of_two_at_least(std::max(ceil_div(outs, across), scores.run));
  tiles.values.columns = across * tiles.values.lane_columns;
  return tiles;
}

// Tiles of Q, K and V are loaded by all lanes, each the same number of words.
bool share_loads(const AttentionTiles& tiles) {
  auto even = [&](int64_t lines, const TileSchedule& s) {
    return s.k * lines / s.run % tiles.lanes() == 0 && tiles.lanes() % (lines / s.run) == 0;
  };
  return even(tiles.scores.rows, tiles.scores) && even(tiles.scores.columns, tiles.scores) &&
         even(tiles.values.columns, tiles.values);
}

bool takes_tiles(const Caps& caps, const AttentionSizes& sizes, const AttentionTiles& tiles) {
  const TileSchedule &scores = tiles.scores, &values = tiles.values;
  bool discrete = caps.device_class == DeviceClass::kDiscreteGpu;
  int64_t most_lanes = discrete ? 256 : 128;
  int64_t most_results = discrete && caps.lane_registers >= 256 ? 32 : 16;  // beside its scores
  int64_t blocks = ceil_div(sizes.columns, scores.columns);
  int64_t steps = (ceil_div(sizes.depth, scores.k) + 1) * (scores.k + 1) +
                  (scores.columns / values.k + 1) * (values.k + 1);
  bool too_tall = scores.rows > 16 && scores.rows >= 2 * sizes.rows;
  bool too_wide = scores.columns > 32 && scores.columns >= 2 * sizes.columns;
  return !too_tall && !too_wide && share_loads(tiles) &&
         tiles.lanes() <= std::min(caps.max_group_invocations, most_lanes) &&
         values.lane_rows * values.lane_columns <= most_results &&
         tiles.shared_bytes() <= caps.max_shared_bytes &&
         blocks * (steps + 1) <= caps.max_loop_iterations;
}

void share_columns(AttentionTiles& tiles, const AttentionSizes& sizes, int64_t enough) {
  constexpr int64_t kLeastBlocks = 2;  // that make up for the results' way through memory
  int64_t blocks = ceil_div(sizes.columns, tiles.scores.columns), groups = tiles.groups(sizes);
  int64_t parts = 2 * groups > enough ? 1 : std::min(2 * enough / groups, blocks / kLeastBlocks);
  tiles.blocks = ceil_div(blocks, std::max<int64_t>(parts, 1));
  tiles.parts = ceil_div(blocks, tiles.blocks);
}

}  // namespace

std::optional<AttentionTiles> choose_attention_tiles(const Caps& caps,
                                                     const AttentionSizes& sizes) {
  bool empty = sizes.batch * sizes.rows * sizes.columns * sizes.depth * sizes.outs == 0;
  if (!is_gpu(caps) || empty) return std::nullopt;
  int64_t enough = caps.device_class == DeviceClass::kDiscreteGpu ? 128 : 32;
  std::optional<AttentionTiles> chosen;
  for (TileSchedule scores : kScoreTiles) {
    scores.run = caps.int64 ? 2 : 1;
    AttentionTiles tiles = with_values(scores, sizes.outs);
    if (!takes_tiles(caps, sizes, tiles)) {
      scores.k /= 2;  // half the memory
      tiles = with_values(scores, sizes.outs);
    }
    if (!takes_tiles(caps, sizes, tiles)) continue;
    // Smaller tiles only for more workgroups.
    if (chosen && tiles.groups(sizes) <= chosen->groups(sizes)) continue;
    chosen = tiles;
    if (tiles.groups(sizes) >= enough) break;
  }
  if (chosen) share_columns(*chosen, sizes, enough);
  return chosen;
}

}  // namespace tuff
