#include <algorithm>

#include "shaders/schedule/schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

int64_t MatrixTileSchedule::groups(const MatmulSizes& sizes) const {
  return sizes.batch * ceil_div(sizes.m, tile_rows()) * ceil_div(sizes.n, tile_columns());
}

int64_t MatrixTileSchedule::shared_bytes() const {
  auto words = [this](int64_t lines) {
    return std::max(lines * pitch(lines, true), depth * pitch(lines, false));
  };
  int64_t sums = subgroups() * m * n * 4;
  return 2 * 4 * (words(tile_rows()) + words(tile_columns())) + sums;
}

namespace {

struct Arrangement {
  int64_t rows, columns, down, across;
};

// Tiles of a workgroup and its subgroups, from the most work for each load to the least.
constexpr Arrangement kArrangements[] = {
    {128, 128, 4, 2}, {128, 128, 2, 2}, {128, 64, 2, 2}, {64, 128, 2, 2}, {64, 64, 4, 2},
    {64, 64, 2, 2},   {32, 64, 1, 2},   {32, 64, 2, 2},  {32, 32, 1, 2},  {32, 32, 2, 2}};

// Words of both operands' tiles share out evenly among the lanes, however they lie in memory.
bool shares_out(const MatrixTileSchedule& s) {
  for (int64_t lines : {s.tile_rows(), s.tile_columns()})
    for (int64_t side : {lines, s.depth}) {
      int64_t words = side / s.per_word;
      bool whole = side % (4 * s.per_word) == 0;  // matrices begin at multiples of 16 bytes
      if (!whole || s.lanes() % words != 0 || lines * s.depth / s.per_word % s.lanes() != 0)
        return false;
    }
  return true;
}

std::optional<MatrixTileSchedule> arrange(const Arrangement& tile, const MatrixShape& shape,
                                          const Caps& caps) {
  constexpr int64_t kMostLanes = 256;
  constexpr int64_t kMostSums = 64;  // of a lane; they stand in registers
  constexpr int64_t kDepth = 32;
  auto [rows, columns, down, across] = tile;
  if (rows % (down * shape.m) != 0 || columns % (across * shape.n) != 0) return std::nullopt;
  MatrixTileSchedule s;
  s.m = shape.m;
  s.n = shape.n;
  s.k = shape.k;
  s.per_word = 4 / dtype_size(shape.element);
  s.subgroup = caps.subgroup_size;
  s.down = down;
  s.across = across;
  s.rows = rows / (down * shape.m);
  s.columns = columns / (across * shape.n);
  s.depth = ceil_div(kDepth, shape.k) * shape.k;
  bool fits = s.lanes() <= std::min(kMostLanes, caps.max_group_invocations) &&
              rows * columns <= kMostSums * s.lanes() && s.shared_bytes() <= caps.max_shared_bytes;
  bool even = shape.m * shape.n % s.subgroup == 0 && shares_out(s);
  return fits && even ? std::optional(s) : std::nullopt;
}

}  // namespace

std::vector<MatrixTileSchedule> matrix_tiles(const Caps& caps, const MatmulSizes& sizes,
                                             DType element, DType sum) {
  constexpr int64_t kLeast = 32;  // rows, columns and steps that keep matrices mostly full
  std::vector<MatrixTileSchedule> tiles;
  // A software device computes matrices slower than anything else.
  if (!is_gpu(caps)) return tiles;
  if (std::min({sizes.m, sizes.n, sizes.all_k()}) < kLeast) return tiles;
  if (2 * sizes.all_k() > caps.max_loop_iterations) return tiles;
  for (const MatrixShape& shape : caps.matrix_shapes) {
    if (shape.element != element || shape.sum != sum) continue;
    for (const Arrangement& tile : kArrangements) {
      bool too_large = (tile.rows > kLeast && tile.rows >= 2 * sizes.m) ||
                       (tile.columns > kLeast && tile.columns >= 2 * sizes.n);
      if (too_large) continue;
      if (auto schedule = arrange(tile, shape, caps)) tiles.push_back(*schedule);
    }
  }
  return tiles;
}

// Of the first shape that can be laid out, the largest tile that keeps the device busy.
std::optional<MatrixTileSchedule> choose_matrix_schedule(const Caps& caps, const MatmulSizes& sizes,
                                                         DType element, DType sum) {
  constexpr int64_t kPart = 512;  // k may be split in parts of so many steps
  int64_t enough = caps.device_class == DeviceClass::kDiscreteGpu ? 128 : 32;
  int64_t parts = std::max<int64_t>(sizes.all_k() / kPart, 1);
  std::optional<MatrixTileSchedule> chosen;
  for (const MatrixTileSchedule& tile : matrix_tiles(caps, sizes, element, sum)) {
    if (chosen && (tile.m != chosen->m || tile.n != chosen->n || tile.k != chosen->k)) break;
    chosen = tile;
    if (tile.groups(sizes) * parts >= enough) break;
  }
  return chosen;
}

}  // namespace tuff
