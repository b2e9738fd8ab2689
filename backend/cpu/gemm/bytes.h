// Sums of products of bytes in 32 bits, by AMX or VNNI where the processor has them. They wrap
// around as i32 does; no way saturates on the way.
#pragma once

#include <cstdint>

namespace tuff::cpu {

// A panel is kByteColumns columns of B. Of each kByteDepth steps of k it has a block: two tiles of
// half the columns, in each a row for each four steps, the four bytes of a column side by side.
// What a block has beyond B's columns and steps is 0.
inline constexpr int64_t kByteColumns = 32, kByteDepth = 64, kByteTileRows = 16;
inline constexpr int64_t kByteBlock = kByteColumns * kByteDepth;

// B or a part of it: `rows` steps of `columns` columns.
struct ByteColumns {
  const uint8_t* from = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row = 0, col = 0;  // strides
  uint8_t flip = 0;          // what bytes are combined with, by xor
  int8_t* to = nullptr;      // the panel's first block, cleared
  int64_t first = 0;         // the step that the rows begin at
  int32_t* sums = nullptr;   // by column: what the bytes' sum is added to
};

// c[i, j] = shifts[j] + sum over k of a[i, k] * b[k, j]. Rows of A are readable up to whole blocks.
struct BytePanels {
  int64_t rows = 0, columns = 0, blocks = 0;  // blocks of a panel
  const uint8_t* a = nullptr;
  int64_t a_row = 0;
  bool a_signed = false;      // only where LaneTable::multiplies_i8
  const int8_t* b = nullptr;  // panels, one after the other
  int32_t* c = nullptr;
  int64_t c_row = 0;
  const int32_t* shifts = nullptr;  // as many as the panels have columns

  // One panel of them.
  BytePanels panel(int64_t number) const {
    BytePanels one = *this;
    const int64_t first = number * kByteColumns, left = columns - first;
    one.columns = left < kByteColumns ? left : kByteColumns;
    one.b += number * blocks * kByteBlock, one.c += first, one.shifts += first;
    return one;
  }
  int64_t panels() const { return (columns + kByteColumns - 1) / kByteColumns; }
};

}  // namespace tuff::cpu
