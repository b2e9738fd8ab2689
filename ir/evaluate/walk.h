// Walking index spaces: row-major counters and strided box copies.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/literal.h"

namespace tuff::eval {

// A row-major counter over a shape:
//   for (Counter c(shape); c.valid(); c.next()) use(c.index());
// Never valid for an empty shape's space; valid once for rank 0.
class Counter {
 public:
  explicit Counter(Shape shape);
  bool valid() const { return valid_; }
  void next();
  const std::vector<int64_t>& index() const { return index_; }
  int64_t operator[](size_t dim) const { return index_[dim]; }

 private:
  Shape shape_;
  std::vector<int64_t> index_;
  bool valid_;
};

// sum of index[d] * strides[d].
int64_t dot_offset(const std::vector<int64_t>& index, const std::vector<int64_t>& strides);

// A box of elements inside a buffer: element i sits at offset + sum i[d] * strides[d],
// counted in elements. Strides may be 0 (broadcast) or negative (reverse).
struct Box {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

// to[i] = from[i] for every i in shape; elements of `element_bytes` (1, 2, 4 or 8).
void copy_box(const Shape& shape, int64_t element_bytes, const std::byte* from, const Box& from_box,
              std::byte* to, const Box& to_box);

}  // namespace tuff::eval
