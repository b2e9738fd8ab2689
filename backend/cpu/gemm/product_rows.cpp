#include "backend/cpu/gemm/product_rows.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/gemm/row_product.h"

namespace tuff::cpu {

ProductRows::ProductRows(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t col,
                         int64_t depth, DType type)
    : sizes_(std::move(sizes)),
      strides_(std::move(strides)),
      col_(col),
      depth_(depth),
      count_(num_elements(sizes_)),
      type_(type) {
  std::optional<int64_t> follows;  // where the next row of a larger dimension is expected
  for (size_t d = sizes_.size(); d-- > 0;) {
    if (sizes_[d] == 1) continue;
    if (!follows) follows = distance_ = strides_[d];
    apart_ = apart_ || strides_[d] != *follows;
    *follows *= sizes_[d];
  }
}

int64_t ProductRows::offset_of(int64_t row) const {
  if (!apart_) return row * distance_;
  int64_t at = 0;
  for (size_t d = sizes_.size(); d-- > 0; row /= sizes_[d]) at += row % sizes_[d] * strides_[d];
  return at;
}

int64_t ProductRows::copied_row() const {
  return (depth_ + kProductColumns - 1) / kProductColumns * kProductColumns;
}

const float* ProductRows::side_by_side(const LaneTable& table, const std::byte* a, int64_t first,
                                       int64_t count, float* copy) const {
  const auto* floats = reinterpret_cast<const float*>(a);
  if (!needs_copy()) return floats + first * distance_;
  const int64_t to_row = copied_row();
  if (col_ != 1) {
    const int64_t innermost = apart_ ? sizes_.back() : count_;
    for (int64_t i = 0, rows = 0; i < count; i += rows) {
      rows = std::min(count - i, innermost - (first + i) % innermost);
      table.pack_columns(rows, depth_, floats + offset_of(first + i), distance_, col_,
                         copy + i * to_row, to_row);
    }
    return copy;
  }
  const LaneFn widen = table.convert[static_cast<size_t>(type_)][static_cast<size_t>(DType::kF32)];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = offset_of(first + i);
    if (type_ == DType::kF32)
      std::copy_n(floats + at, depth_, copy + i * to_row);
    else
      widen(depth_, copy + i * to_row, a + at * dtype_size(type_), nullptr, nullptr);
  }
  return copy;
}

}  // namespace tuff::cpu
