// Library calls: what a contraction becomes on a device that has a library for it
// (Caps::library_calls), instead of a kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace tuff {

// C[b] = A[b] x B[b] over strided operands, for devices with Caps::library_calls.
// batch dimensions are merged into up to 3 loops. Strides in elements; a stride
// may be 0 (broadcast). f32 only.
struct MatmulCall {
  std::vector<int64_t> batch;  // sizes, possibly empty
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> a_batch_strides, b_batch_strides, c_batch_strides;
  int64_t a_offset = 0, a_row = 0, a_col = 0;  // element strides of A[m, k]
  int64_t b_offset = 0, b_row = 0, b_col = 0;  // of B[k, n]
  int64_t c_offset = 0, c_row = 0, c_col = 0;  // of C[m, n]
};

// NHWC x HWIO -> NHWC convolution, f32; other layouts are views resolved before.
struct ConvolutionCall {
  std::vector<int64_t> input, kernel,
      output;  // [n, spatial.., c], [spatial.., ci, co], [n, spatial.., c]
  std::vector<int64_t> strides, padding_low, padding_high, rhs_dilation;
  int64_t groups = 1;
};

}  // namespace tuff
