// Attention whose operands are plain matrices: what a library's matmuls can read.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/group/affine_access.h"
#include "ir/group/attention.h"

namespace tuff {

// A matrix for each batch element, in elements of `base`.
struct StridedMatrix {
  Value base;
  int64_t offset = 0;
  std::vector<int64_t> batch;  // strides, by AttentionSpace::batch
  int64_t row = 0, col = 0;    // strides
};

// result[rows, outs] = softmax(logits of (queries x keys^T)) x values.
struct StridedAttention {
  std::vector<int64_t> batch;  // sizes
  int64_t rows = 1, columns = 1, depth = 1, outs = 1;
  StridedMatrix queries;  // [rows, depth]
  StridedMatrix keys;     // [columns, depth]
  StridedMatrix values;   // [columns, outs]
};

// The attention of `space`, whose dimensions are `dims` and `vars`; operands are read
// through views for which `follow` holds. Nothing iff it is not all f32, or rows, columns,
// depth or outputs of a matrix are no single strided loop, or a matrix has no unit stride.
std::optional<StridedAttention> strided_attention(const Graph& graph, const AttentionSpace& space,
                                                  const Shape& dims, const IndexVector& vars,
                                                  const std::function<bool(uint32_t)>& follow);

// A matrix of rows that follow each other, or of columns that do: sizes of 1 fit both.
bool is_plain_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);

}  // namespace tuff
