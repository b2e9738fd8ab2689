// The rows of a product of rows and weights, which may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/lanes/lane_table.h"
#include "ir/type.h"

namespace tuff::cpu {

class ProductRows {
 public:
  // Rows of these dimensions, in elements; `col` between the elements of a row, 1 unless they are
  // f32.
  ProductRows(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t col, int64_t depth,
              DType type = DType::kF32);

  int64_t count() const { return count_; }
  bool apart() const { return apart_; }           // at no one distance from each other
  int64_t distance() const { return distance_; }  // where they are not apart
  int64_t col() const { return col_; }
  int64_t offset_of(int64_t row) const;

  // Whether rows have to be copied for their elements to be f32 side by side, rows at one distance.
  bool needs_copy() const { return apart_ || col_ != 1 || type_ != DType::kF32; }
  // Floats of a copy of so many rows: 0 where none is needed.
  int64_t copied_floats(int64_t rows) const { return needs_copy() ? rows * copied_row() : 0; }
  // Between rows that side_by_side gives.
  int64_t dense_row() const { return needs_copy() ? copied_row() : distance_; }
  // `count` rows from `first` on, in `copy` where that is needed.
  const float* side_by_side(const LaneTable& table, const std::byte* a, int64_t first,
                            int64_t count, float* copy) const;

 private:
  int64_t copied_row() const;

  std::vector<int64_t> sizes_, strides_;
  int64_t col_, depth_, count_, distance_ = 0;
  DType type_;
  bool apart_ = false;
};

}  // namespace tuff::cpu
