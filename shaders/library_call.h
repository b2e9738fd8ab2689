// Library calls: what a contraction becomes on a device that has a library for it
// (Caps::library_calls), instead of a kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace tuff {

// What happens to each element of a call's result before it is stored: one f32
// operation with an element of one more operand. Bindings: A, B, one per PostOp, C.
struct PostOp {
  enum class Kind : uint8_t { kAdd, kSubtract, kMultiply };
  Kind kind = Kind::kAdd;
  // operand[offset + column], column meaning C's column or the channel; else an
  // operand of C's shape and layout, and offset 0.
  bool per_column = false;
  int64_t offset = 0;
};

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
  std::vector<PostOp> post_ops;                // in order; c_col is 1 where there are any
};

// A tensor somewhere in memory, in elements. Strides of operands may be 0 or negative.
struct StridedTensor {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

// A convolution or one of its two gradients, f32. All are told by the forward
// convolution they belong to:
//   destination[n, g * co + o, y] =
//       sum over i, t of source[n, g * ci + i, y * stride + t * dilation - padding_low]
//                        * weights[g, o, i, t]
// with as many y and t as there are spatial dimensions; source is 0 outside.
struct ConvolutionCall {
  // A, B, C: source, weights, destination | destination, weights, source |
  // source, destination, weights.
  enum class Kind : uint8_t { kForward, kBackwardData, kBackwardWeights };
  Kind kind = Kind::kForward;
  StridedTensor source;       // [n, channels, spatial..]
  StridedTensor weights;      // [groups, co, ci, spatial..]
  StridedTensor destination;  // [n, channels, spatial..]
  // Per spatial dimension; padding >= 0. padding_high makes the sizes agree.
  std::vector<int64_t> strides, dilations, padding_low, padding_high;
  std::vector<PostOp> post_ops;  // of kForward
};

// B[r, c] = exp(A[r, c] - m) / sum over j of exp(A[r, j] - m), m the row's maximum;
// dense rows of f32. Bindings: A, B.
struct SoftmaxCall {
  int64_t rows = 0, columns = 0;  // > 0
};

}  // namespace tuff
