#include "backend/cpu/strided_copy.h"

#include <algorithm>

namespace tuff::cpu {

namespace {

// A tile of the two innermost dimensions stays in cache, whichever of the two has
// the unit stride on either side.
constexpr int64_t kTile = 32;

void copy_matrix(const int64_t (&sizes)[2], const float* from, const int64_t (&from_strides)[2],
                 float* to, const int64_t (&to_strides)[2]) {
  for (int64_t r0 = 0; r0 < sizes[0]; r0 += kTile)
    for (int64_t c0 = 0; c0 < sizes[1]; c0 += kTile)
      for (int64_t r = r0; r < std::min(r0 + kTile, sizes[0]); ++r)
        for (int64_t c = c0; c < std::min(c0 + kTile, sizes[1]); ++c)
          to[r * to_strides[0] + c * to_strides[1]] =
              from[r * from_strides[0] + c * from_strides[1]];
}

}  // namespace

void strided_copy(const std::vector<int64_t>& sizes, const float* from,
                  const std::vector<int64_t>& from_strides, float* to,
                  const std::vector<int64_t>& to_strides) {
  size_t rank = sizes.size(), outer = rank > 2 ? rank - 2 : 0;
  const int64_t inner_sizes[2] = {rank > 1 ? sizes[rank - 2] : 1, sizes[rank - 1]};
  const int64_t from_inner[2] = {rank > 1 ? from_strides[rank - 2] : 0, from_strides[rank - 1]};
  const int64_t to_inner[2] = {rank > 1 ? to_strides[rank - 2] : 0, to_strides[rank - 1]};
  int64_t matrices = 1;
  for (size_t dim = 0; dim < outer; ++dim) matrices *= sizes[dim];
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    int64_t rest = matrix, from_offset = 0, to_offset = 0;
    for (size_t dim = outer; dim-- > 0; rest /= sizes[dim]) {
      from_offset += rest % sizes[dim] * from_strides[dim];
      to_offset += rest % sizes[dim] * to_strides[dim];
    }
    copy_matrix(inner_sizes, from + from_offset, from_inner, to + to_offset, to_inner);
  }
}

}  // namespace tuff::cpu
