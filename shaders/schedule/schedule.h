// Schedules: how a family's loops are laid on a device. Plain data, chosen by a
// pure function over the device's Caps and the problem's sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/caps.h"

namespace tuff {

struct MapSchedule {
  int64_t lanes = 64;
};

struct RowSchedule {
  int64_t lanes = 64;
  // Lanes walk the reduced dimensions and are folded at the end; or else each lane
  // owns a row and walks its column alone: a row of the last kept dimension, or of as many of the
  // last ones as the lanes are enough for.
  bool lanes_over_columns = true;
  bool lanes_over_dims = false;
  bool unroll_columns = false;  // of lanes that own rows
  // Neighbours that a lane has: columns of which rows are made where lanes walk these, else rows.
  int64_t run = 1;
  // Reduced dimensions, the outermost, that a loop around the lanes' walks.
  size_t outer_dims = 0;
};

// Rows that are few and long in `parts` parts, each of `steps` steps of `columns_at_once`
// neighbouring columns; the last part may have steps to spare.
struct RowSplit {
  int64_t parts = 1, steps = 1, columns_at_once = 1;
  int64_t lanes = 64;  // for rows; where columns_at_once > 1 that many times a row's length
};

// Rows that `parts` workgroups share, each of `length` columns. Lanes beside each other have
// neighbouring rows, those below each other walk other columns, `unroll` times `run` at once; of
// one row there are neighbours in a run.
struct RowParts {
  int64_t parts = 1, length = 1;
  int64_t across = 1, down = 256;
  int64_t run = 1, unroll = 1;
  int64_t lanes() const { return across * down; }
};

// A batch of products of m x k by k x n.
struct MatmulSizes {
  int64_t batch = 1, m = 1, n = 1;
  std::vector<int64_t> k;  // contracted dimensions; the innermost is the last
  int64_t all_k() const;
  int64_t inner_k() const { return k.empty() ? 1 : k.back(); }
  bool operator==(const MatmulSizes&) const = default;
};

// A contraction in `parts` parts that are summed apart: of `length` steps of dimension `dim`
// of k each, of which the last part may have some to spare.
struct KSplit {
  size_t dim = 0;
  int64_t parts = 1, length = 1;
  bool operator==(const KSplit&) const = default;
};

// Each lane computes tile_m x tile_n results: tile_m rows and tile_n columns, so
// placed that loads of B are contiguous over lanes.
struct MatmulSchedule {
  int64_t groups(const MatmulSizes& sizes) const;

  int64_t lanes = 64;
  int64_t tile_m = 4, tile_n = 2;
  int64_t k_unroll = 1;
  // Lanes load parts of A and read them from each other (through shared memory, or
  // registers where a workgroup is a subgroup); else each lane loads every row.
  bool share_rows = false;
  int64_t k_split = 1;  // lanes that load one row, each other steps of k; divides k_unroll
  // Workgroups that follow each other have the same columns, else the same rows.
  bool rows_fastest = false;
  // Neighbouring columns, and steps of k, are loaded as one 64-bit word.
  bool wide_loads = false;

  bool operator==(const MatmulSchedule&) const = default;
};

// Tiles of both operands stand in shared memory, twice: while lanes multiply one pair of
// tiles, they load the next. A workgroup computes rows x columns results, `k` steps at a time,
// each lane lane_rows x lane_columns of them.
struct TileSchedule {
  int64_t rows = 64, columns = 64, k = 8;
  int64_t lane_rows = 4, lane_columns = 4;
  int64_t run = 1;  // neighbouring rows, or columns, of a lane: 2 go as one 64-bit word

  int64_t groups(const MatmulSizes& sizes) const;
  int64_t lanes() const { return rows / lane_rows * (columns / lane_columns); }
  // Words from one step of k to the next in the tile of an operand of so many rows or columns.
  // There are some to spare, so that lanes which write neighbouring steps meet different banks.
  int64_t pitch(int64_t lines) const { return lines / run + 32 / (run * k); }
  int64_t shared_bytes() const { return 2 * k * (pitch(rows) + pitch(columns)) * run * 4; }
  // Of both operands, that a lane loads for the next pair of tiles.
  int64_t lane_loads() const { return (rows + columns) * k / lanes(); }
  // About how many registers a lane's values take.
  int64_t registers(const Caps& caps, const MatmulSizes& sizes) const;

  bool operator==(const TileSchedule&) const = default;
};

// A tile, and how k is split for it.
struct TileChoice {
  TileSchedule tile;
  std::optional<KSplit> split;
};

// The same where subgroups multiply the tiles as matrices, m x k by k x n (Caps::matrix_shapes).
// A workgroup has down x across subgroups, each of rows x columns matrices of sums.
struct MatrixTileSchedule {
  int64_t m = 16, n = 16, k = 16;
  int64_t per_word = 2;   // elements in 32 bits
  int64_t subgroup = 32;  // lanes of one
  int64_t down = 2, across = 2;
  int64_t rows = 2, columns = 2;
  int64_t depth = 32;  // steps of k in a tile

  int64_t groups(const MatmulSizes& sizes) const;
  int64_t subgroups() const { return down * across; }
  int64_t lanes() const { return subgroups() * subgroup; }
  int64_t tile_rows() const { return down * rows * m; }
  int64_t tile_columns() const { return across * columns * n; }
  // Words from one line to the next in the tile of an operand of so many lines, or from step to
  // step. There are some to spare, so that lanes which read neighbours meet different banks.
  int64_t pitch(int64_t lines, bool along_k) const {
    return (along_k ? depth : lines) / per_word + 4;
  }
  int64_t shared_bytes() const;  // at most, however the operands lie in memory

  bool operator==(const MatrixTileSchedule&) const = default;
};

// One operand has few rows (the first, or the second if `swapped`), which all lanes of a workgroup
// multiply what they load by. The other's lines are read once. Lanes along k have lines together,
// run by run of `run` neighbouring steps; else each has a run of neighbouring lines, and lane rows
// below each other walk other steps.
struct StreamSchedule {
  bool swapped = false, along_k = false;
  int64_t rows = 1;
  int64_t run = 4;
  int64_t across = 4, down = 64;  // lanes beside and below each other; along k all are beside
  int64_t lines = 1;              // along k: that a lane has a part of
  int64_t unroll = 4;             // runs of k, or steps, that a lane loads at once

  int64_t lanes() const { return across * down; }
  int64_t lane_lines() const { return along_k ? lines : run; }
  int64_t group_lines() const { return along_k ? lines : across * run; }
  int64_t round_steps() const { return along_k ? across * run * unroll : down * unroll; }
  // Rows whose sums stand in shared memory together.
  int64_t shared_rows() const;
  int64_t groups(const MatmulSizes& sizes) const;

  bool operator==(const StreamSchedule&) const = default;
};

// A batch of softmax(Q K^T) V: rows x columns scores, each of `depth` products, and rows x outs
// results.
struct AttentionSizes {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1, outs = 1;
};

// Each lane has a row; the workgroup walks blocks of columns.
struct AttentionSchedule {
  int64_t lanes = 64;
  int64_t columns = 16;  // of a block: scores that a lane holds at once
  int64_t k_unroll = 1;
  bool wide_loads = false;
};

// A workgroup has a tile of rows and walks tiles of columns. Each lane holds some scores of
// lane_rows rows and, of the same rows, some results. Tiles of Q and K, then of the weights and V,
// stand in shared memory.
struct AttentionTiles {
  TileSchedule scores;  // rows x columns, `k` steps of the depth at a time
  TileSchedule values;  // rows x outs, `k` columns at a time
  // Rows that are too few to keep the device busy: so many workgroups share a tile of them, and
  // each walks `blocks` tiles of columns.
  int64_t parts = 1, blocks = 1;

  int64_t lanes() const { return scores.lanes(); }
  int64_t lanes_across() const { return scores.columns / scores.lane_columns; }
  int64_t groups(const AttentionSizes& sizes) const {
    return sizes.batch * ((sizes.rows + scores.rows - 1) / scores.rows) * parts;
  }
  // Words of memory: of two tiles of Q, or all weights; of one tile of K or V, or what the lanes
  // of a row tell each other.
  int64_t row_words() const;
  int64_t line_words() const;
  int64_t shared_bytes() const {
    return ((row_words() + 2 * line_words()) * scores.run + scores.rows) * 4;
  }
};

// How many elements of a row of `length` one lane of a scan walks.
int64_t choose_scan_chunk(const Caps& caps, int64_t rows, int64_t length);

MapSchedule choose_map_schedule(const Caps& caps, int64_t elements);
// A map of which lanes may have runs of neighbours.
struct MapWork {
  int64_t elements = 1;
  int64_t line = 1;        // so many of them are walked as one flat index
  int64_t inner = 1;       // the last dimension of a line
  int64_t bytes = 4;       // of the narrowest type
  int64_t operations = 1;  // that an element takes
};
// The neighbours that a lane has. Where they do not divide a line, its last run begins with the
// neighbours of another lane, which stores these; that is a multiple of `unit`.
struct MapRun {
  int64_t run = 1, unit = 1;
};
// Which runs are worth to be looked at, the best first.
std::vector<MapRun> map_runs(const Caps& caps, const MapWork& work);
// How many neighbours of a line each lane has of `elements` that need no more than their place.
int64_t choose_own_run(const Caps& caps, int64_t elements, int64_t line, int64_t bytes);
// The same where lanes then walk many steps each.
int64_t choose_walking_run(const Caps& caps, int64_t elements, int64_t line);
// How lanes' results become a row's.
struct RowFolds {
  int64_t count = 1;       // one after another
  int64_t operations = 1;  // that an element takes
  bool plain = true;       // each of one operation
  bool native = false;     // the kernel becomes code of the processor (Caps::native_lanes)
};
//   rows, columns: sizes of the kept and of the reduced dimensions
//   lane_rows: size of the last kept one, whose rows lanes may own
//   passes: how many times the kernel walks a row
//   last_is_reduced: the innermost dimension is reduced
// Nothing where a workgroup's loops over a row would be longer than the device runs them.
std::optional<RowSchedule> choose_row_schedule(const Caps& caps, int64_t rows, int64_t lane_rows,
                                               int64_t columns, int64_t passes,
                                               bool last_is_reduced, const RowFolds& folds = {});
// For rows that lanes own; nothing where splitting them does not pay.
std::optional<RowSplit> choose_row_split(const Caps& caps, int64_t rows, int64_t lane_rows,
                                         int64_t columns);
// Nothing where a workgroup, or lanes, had better have rows to themselves.
std::optional<RowParts> choose_row_parts(const Caps& caps, int64_t rows, int64_t lane_rows,
                                         int64_t columns, bool last_is_reduced);
// For rows that are too long for one workgroup: as few parts as the device's loops allow.
RowSplit split_long_rows(const Caps& caps, int64_t lane_rows, int64_t columns);
// inner_k: of the innermost dimension that the scores' dot contracts.
AttentionSchedule choose_attention_schedule(const Caps& caps, int64_t columns, int64_t inner_k);
// For GPUs; nothing where they share too little memory.
std::optional<AttentionTiles> choose_attention_tiles(const Caps& caps, const AttentionSizes& sizes);
MatmulSchedule choose_matmul_schedule(const Caps& caps, const MatmulSizes& sizes);
// For GPUs: nothing where lanes had better read B from memory, each its own columns. b_along_k:
// neighbouring steps of k, not columns, are neighbours in B's memory.
std::optional<TileChoice> choose_tile_schedule(const Caps& caps, const MatmulSizes& sizes,
                                               bool b_along_k);
// For GPUs that have matrices of these types, which are the problem's own: sums are no less
// precise than by lanes. Nothing for small problems.
std::optional<MatrixTileSchedule> choose_matrix_schedule(const Caps& caps, const MatmulSizes& sizes,
                                                         DType element, DType sum);
// Where k is long, and either the results are too few to keep the device busy, or the columns
// of B that a workgroup walks are too long for the caches. Else nothing.
// groups: workgroups of the kernel unsplit, whose parts of the innermost dimension are
// multiples of k_step.
std::optional<KSplit> choose_k_split(const Caps& caps, const MatmulSizes& sizes, int64_t groups,
                                     int64_t k_step);

}  // namespace tuff
