#include "ir/evaluate/walk.h"

#include <cstring>
#include <utility>

namespace tuff::eval {

Counter::Counter(Shape shape)
    : shape_(std::move(shape)), index_(shape_.size(), 0), valid_(tuff::num_elements(shape_) > 0) {}

void Counter::next() {
  for (size_t d = shape_.size(); d-- > 0;) {
    if (++index_[d] < shape_[d]) return;
    index_[d] = 0;
  }
  valid_ = false;
}

int64_t dot_offset(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

namespace {

template <typename T>
void copy_row(int64_t n, const std::byte* from, int64_t from_stride, std::byte* to,
              int64_t to_stride) {
  auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) target[i * to_stride] = source[i * from_stride];
}

void copy_row(int64_t n, int64_t element_bytes, const std::byte* from, int64_t from_stride,
              std::byte* to, int64_t to_stride) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n * element_bytes));
    return;
  }
  switch (element_bytes) {
    case 1: return copy_row<uint8_t>(n, from, from_stride, to, to_stride);
    case 2: return copy_row<uint16_t>(n, from, from_stride, to, to_stride);
    case 4: return copy_row<uint32_t>(n, from, from_stride, to, to_stride);
    default: return copy_row<uint64_t>(n, from, from_stride, to, to_stride);
  }
}

}  // namespace

void copy_box(const Shape& shape, int64_t element_bytes, const std::byte* from, const Box& from_box,
              std::byte* to, const Box& to_box) {
  if (tuff::num_elements(shape) == 0) return;
  // The innermost loop runs over the last dimension; trailing dimensions that
  // are contiguous on both sides join it.
  size_t outer = shape.size();
  int64_t row = 1, from_stride = 1, to_stride = 1;
  if (outer > 0) {
    --outer;
    row = shape[outer];
    from_stride = from_box.strides[outer];
    to_stride = to_box.strides[outer];
    while (outer > 0 && from_box.strides[outer - 1] == row * from_stride &&
           to_box.strides[outer - 1] == row * to_stride)
      row *= shape[--outer];
  }
  Shape outer_shape(shape.begin(), shape.begin() + static_cast<int64_t>(outer));
  for (Counter counter(outer_shape); counter.valid(); counter.next()) {
    const std::byte* source =
        from + (from_box.offset + dot_offset(counter.index(), from_box.strides)) * element_bytes;
    std::byte* target =
        to + (to_box.offset + dot_offset(counter.index(), to_box.strides)) * element_bytes;
    copy_row(row, element_bytes, source, from_stride, target, to_stride);
  }
}

}  // namespace tuff::eval
