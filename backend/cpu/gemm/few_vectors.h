// The few vectors that a matrix is multiplied with, and what comes of it, as floats side by side.
#pragma once

#include <cstdint>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/gemm/product_rows.h"
#include "backend/cpu/lanes/lane_table.h"
#include "ir/support/result.h"

namespace tuff::cpu {

class FewVectors {
 public:
  // `count` vectors of `depth` elements, these strides apart; narrow elements lie side by side.
  FewVectors(int64_t count, int64_t depth, int64_t vector, int64_t element, DType type)
      : rows_({count}, {vector}, element, depth, type) {}

  // Whether vectors may lie so.
  static bool can_read(int64_t element, DType type) {
    return type == DType::kF32 || (element == 1 && dtype_size(type) == 2);
  }

  // As they lie, or in a copy that stays until the next call. Errors: kOutOfMemory.
  Result<const float*> read(const std::byte* from, const LaneTable& table);
  int64_t distance() const { return rows_.dense_row(); }  // between vectors

 private:
  const ProductRows rows_;
  AlignedBytes copy_;
};

// A dense result of `count` elements, rounded once where its type is narrow.
class FloatResult {
 public:
  FloatResult(int64_t count, int64_t offset, DType type)
      : count_(count), offset_(offset), type_(type) {}

  // Where to write it: the result itself, or floats. Errors: kOutOfMemory.
  Result<float*> begin(std::byte* result);
  void finish(const LaneTable& table, std::byte* result) const;

 private:
  const int64_t count_, offset_;
  const DType type_;
  AlignedBytes floats_;
};

}  // namespace tuff::cpu
