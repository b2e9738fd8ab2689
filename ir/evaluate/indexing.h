// Index tensors of gather, scatter and the dynamic slices.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tuff::eval {

// Element i of an index tensor. Values are held to +-2^62, so that adding an
// offset inside a tensor cannot overflow; they stay outside every tensor.
int64_t index_value(const Literal& indices, int64_t i);

// Reads the index vectors of gather's start_indices or scatter's scatter_indices.
class IndexVectors {
 public:
  // `batch_shape` = shape of `indices` without index_vector_dim.
  IndexVectors(const Literal& indices, int64_t index_vector_dim);
  const Shape& batch_shape() const { return batch_shape_; }
  // Component `c` of the vector at a position in batch_shape.
  int64_t component(const std::vector<int64_t>& batch, int64_t c) const;

 private:
  const Literal& indices_;
  Shape batch_shape_;
  std::vector<int64_t> batch_strides_;
  int64_t vector_stride_ = 0;
};

// The dimensions [0, rank) that are in neither list, ascending.
std::vector<int64_t> other_dims(size_t rank, const std::vector<int64_t>& a,
                                const std::vector<int64_t>& b = {},
                                const std::vector<int64_t>& c = {});

// Dimension of the batch position that dimension `dim` of the index tensor becomes.
inline size_t batch_position(int64_t dim, int64_t index_vector_dim) {
  return static_cast<size_t>(dim < index_vector_dim ? dim : dim - 1);
}

// strides[dims[0]], strides[dims[1]], ...
std::vector<int64_t> pick(const std::vector<int64_t>& values, const std::vector<int64_t>& dims);

}  // namespace tuff::eval
