#include "backend/cpu/gemm/byte_rows.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/gemm/bytes.h"

namespace tuff::cpu {

// Where a row is: an offset, and by window dimension where its window begins in the source.
struct ByteRows::Place {
  static constexpr size_t kMaxWindows = 3;
  int64_t offset = 0;
  int64_t begins[kMaxWindows] = {};
};

ByteRows::ByteRows(const ByteProductCall& call)
    : call_(call), count_(call.num_rows()), steps_(call.num_steps()) {
  // All dimensions of more than one row, as one.
  bool even = true;
  int64_t rows = 1;
  auto note = [&](int64_t size, int64_t stride) {
    if (size == 1) return;
    if (rows == 1)
      distance_ = stride;
    else
      even = even && stride == distance_ * rows;
    rows *= size;
  };
  for (size_t d = call.windows.size(); d-- > 0;) {
    const ByteProductCall::Window& w = call.windows[d];
    even = even && w.size == 1 && w.padding_low == 0 && (w.results - 1) * w.step < w.source;
    note(w.results, w.step * w.a);
  }
  for (size_t d = call.rows.size(); d-- > 0;) note(call.rows[d].size, call.rows[d].stride);
  lie_ready_ =
      even && distance_ >= 0 && (call.a_col == 1 || call.depth == 1) && steps_ % kByteDepth == 0;
}

void ByteRows::copy(const uint8_t* a, int64_t first, int64_t rows, uint8_t pad, uint8_t flip,
                    uint8_t* to, int64_t to_row) const {
  for (int64_t r = 0; r < rows; ++r, to += to_row) {
    Place place;
    int64_t rest = first + r;
    for (size_t d = call_.windows.size(); d-- > 0;) {
      const ByteProductCall::Window& w = call_.windows[d];
      place.begins[d] = rest % w.results * w.step - w.padding_low;
      rest /= w.results;
    }
    for (size_t d = call_.rows.size(); d-- > 0; rest /= call_.rows[d].size)
      place.offset += rest % call_.rows[d].size * call_.rows[d].stride;
    uint8_t* at = to;
    copy_windows(a + place.offset, place, 0, pad, at);
    if (flip != 0)
      for (int64_t k = 0; k < steps_; ++k) to[k] ^= flip;
    std::fill(to + steps_, to + to_row, uint8_t{0});
  }
}

void ByteRows::copy_windows(const uint8_t* a, const Place& row, size_t dim, uint8_t pad,
                            uint8_t*& to) const {
  if (dim == call_.windows.size()) return copy_run(a, call_.depth, to);
  const ByteProductCall::Window& w = call_.windows[dim];
  int64_t inner = call_.depth;  // bytes of one place of this dimension
  for (size_t d = dim + 1; d < call_.windows.size(); ++d) inner *= call_.windows[d].size;
  // The places of the window that lie in the source are [low, high).
  const int64_t begin = row.begins[dim];
  const int64_t low = std::clamp<int64_t>((-begin + w.dilation - 1) / w.dilation, 0, w.size);
  const int64_t inside = w.source - begin;
  const int64_t high =
      std::clamp<int64_t>(inside <= 0 ? 0 : (inside + w.dilation - 1) / w.dilation, low, w.size);
  to = std::fill_n(to, low * inner, pad);
  const bool is_run =
      dim + 1 == call_.windows.size() && call_.a_col == 1 && w.dilation * w.a == call_.depth;
  if (is_run) {
    copy_run(a + (begin + low * w.dilation) * w.a, (high - low) * inner, to);
  } else {
    for (int64_t t = low; t < high; ++t)
      copy_windows(a + (begin + t * w.dilation) * w.a, row, dim + 1, pad, to);
  }
  to = std::fill_n(to, (w.size - high) * inner, pad);
}

void ByteRows::copy_run(const uint8_t* from, int64_t count, uint8_t*& to) const {
  if (count == 0) return;  // perhaps of no memory
  if (call_.a_col == 1) {
    std::memcpy(to, from, static_cast<size_t>(count));
    to += count;
  } else {
    for (int64_t k = 0; k < count; ++k) *to++ = from[k * call_.a_col];
  }
}

}  // namespace tuff::cpu
