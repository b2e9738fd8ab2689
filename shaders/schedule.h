// Schedules: how a family's loops are laid on a device. Plain data, chosen by a
// pure function over the device's Caps and the problem's sizes.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/caps.h"

namespace tuff {

struct MapSchedule {
  int64_t lanes = 64;
};

struct RowSchedule {
  int64_t lanes = 64;
  // Lanes walk the reduced dimensions and are folded at the end; or else each lane
  // owns a row of the last kept dimension and walks its column alone.
  bool lanes_over_columns = true;
};

// Rows that are few and long in `parts` parts, each of `steps` steps of `columns_at_once`
// neighbouring columns; the last part may have steps to spare.
struct RowSplit {
  int64_t parts = 1, steps = 1, columns_at_once = 1;
  int64_t lanes = 64;  // for rows; where columns_at_once > 1 that many times a row's length
};

// Each lane computes tile_m x tile_n results: tile_m rows and tile_n columns, so
// placed that loads of B are contiguous over lanes.
struct MatmulSchedule {
  int64_t lanes = 64;
  int64_t tile_m = 4, tile_n = 2;
  int64_t k_unroll = 1;
  // Lanes load parts of A and read them from each other (through shared memory, or
  // registers where a workgroup is a subgroup); else each lane loads every row.
  bool share_rows = false;
  int64_t k_split = 1;  // lanes that load one row, each other steps of k; divides k_unroll
  // Neighbouring columns, and steps of k, are loaded as one 64-bit word.
  bool wide_loads = false;
};

// Each lane has a row; the workgroup walks blocks of columns.
struct AttentionSchedule {
  int64_t lanes = 64;
  int64_t columns = 16;  // of a block: scores that a lane holds at once
  int64_t k_unroll = 1;
  bool wide_loads = false;
};

// How many elements of a row of `length` one lane of a scan walks.
int64_t choose_scan_chunk(const Caps& caps, int64_t rows, int64_t length);

MapSchedule choose_map_schedule(const Caps& caps, int64_t elements);
// rows, columns: sizes of the kept and of the reduced dimensions; lane_rows: of the last
// kept one, whose rows lanes may own; passes: how many times the kernel walks a row;
// last_is_reduced: the innermost dimension is reduced.
RowSchedule choose_row_schedule(const Caps& caps, int64_t rows, int64_t lane_rows, int64_t columns,
                                int64_t passes, bool last_is_reduced);
// For rows that lanes own; nothing where splitting them does not pay.
std::optional<RowSplit> choose_row_split(const Caps& caps, int64_t rows, int64_t lane_rows,
                                         int64_t columns);
// m, n, k: sizes of the problem; inner_k: of the innermost contracted dimension.
// inner_k: of the innermost dimension that the scores' dot contracts.
AttentionSchedule choose_attention_schedule(const Caps& caps, int64_t columns, int64_t inner_k);
MatmulSchedule choose_matmul_schedule(const Caps& caps, int64_t m, int64_t n, int64_t k,
                                      int64_t inner_k);

}  // namespace tuff
