// The rows of a product of bytes: those of a matrix, or the windows of a convolution, side by side.
#pragma once

#include "shaders/library_call.h"

namespace tuff::cpu {

class ByteRows {
 public:
  explicit ByteRows(const ByteProductCall& call);

  int64_t count() const { return count_; }
  int64_t steps() const { return steps_; }
  // Rows that lie as they are needed: their steps side by side, in whole blocks, and each row as
  // far from the one before it.
  bool lie_ready() const { return lie_ready_; }
  int64_t distance() const { return distance_; }

  // Copies `rows` rows from `first` on of A, which begins at `a`, to rows of `to_row` bytes. `pad`
  // stands where a window reaches beyond A; bytes are combined with `flip` by xor.
  void copy(const uint8_t* a, int64_t first, int64_t rows, uint8_t pad, uint8_t flip, uint8_t* to,
            int64_t to_row) const;

 private:
  struct Place;
  void copy_windows(const uint8_t* a, const Place& row, size_t dim, uint8_t pad,
                    uint8_t*& to) const;
  void copy_run(const uint8_t* from, int64_t count, uint8_t*& to) const;

  const ByteProductCall call_;
  int64_t count_ = 0, steps_ = 0, distance_ = 0;
  bool lie_ready_ = false;
};

}  // namespace tuff::cpu
