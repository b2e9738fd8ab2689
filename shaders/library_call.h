// Library calls: what a contraction becomes on a device that has a library for it
// (Caps::library_calls), instead of a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <variant>
#include <vector>

#include "ir/ops/fourier.h"
#include "ir/type.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// What happens to each element x of a call's result before it is stored, in f32:
// x + y, x - y, x * y, x / y, max(x, y), min(x, y), or a function of x.
struct PostOp {
  enum class Kind : uint8_t {
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    // Only the last ones of a call that takes_bounds.
    kMaximum,
    kMinimum,
    // Functions of x alone, the last of a call: the two forms of gelu; those below of a call that
    // takes_bounds.
    kGeluErf,
    kGeluTanh,
    kSilu,      // x / (1 + exp(-x))
    kHardSwish  // x * min(max(x / 6 + 1 / 2, 0), 1)
  };
  // What y is; the last three are read from one more operand.
  enum class With : uint8_t {
    kNothing,  // there is no y
    kValue,    // `value`
    kScalar,   // operand[offset]
    kColumn,   // operand[offset + column], column meaning C's column or the channel
    kElement,  // the element of an operand of C's shape and layout
  };
  Kind kind = Kind::kAdd;
  With with = With::kNothing;
  int64_t offset = 0;
  float value = 0;

  bool has_operand() const { return with >= With::kScalar; }
};
using PostOpList = std::vector<PostOp>;

// The operations that are post-ops with a y, by kind; the other kinds are functions of x alone.
inline constexpr Op kPostOpOps[] = {Op::kAdd,    Op::kSubtract, Op::kMultiply,
                                    Op::kDivide, Op::kMaximum,  Op::kMinimum};
inline bool is_function(const PostOp& op) { return op.kind >= PostOp::Kind::kGeluErf; }
// x times a function of x.
inline bool is_gate(const PostOp& op) { return op.kind >= PostOp::Kind::kSilu; }
inline Op op_of(PostOp::Kind kind) { return kPostOpOps[static_cast<size_t>(kind)]; }
inline std::optional<PostOp::Kind> post_op_kind(Op op) {
  const Op* found = std::find(std::begin(kPostOpOps), std::end(kPostOpOps), op);
  if (found == std::end(kPostOpOps)) return std::nullopt;
  return static_cast<PostOp::Kind>(found - std::begin(kPostOpOps));
}

// Bindings of a call with post-ops: A, B, one per post-op that has an operand, C.
inline size_t count_bindings(const PostOpList& post_ops) {
  size_t count = 3;
  for (const PostOp& op : post_ops) count += op.has_operand();
  return count;
}

// C[b] = A[b] x B[b] over strided operands, for devices with Caps::library_calls.
// batch dimensions are merged into up to 3 loops. Strides in elements; a stride
// may be 0 (broadcast). Sums and post-ops are f32, and C is rounded once.
struct MatmulCall {
  static constexpr const char* kName = "matmul";
  DType operand_type = DType::kF32;  // that A and B are multiplied in: f32, bf16, f16
  DType result_type = DType::kF32;   // operand_type or f32
  // What A and B lie in memory as where that is a narrower type than operand_type, f32, which
  // they are widened to as they are read.
  std::optional<DType> a_narrow, b_narrow;
  std::vector<int64_t> batch;  // sizes, possibly empty
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> a_batch_strides, b_batch_strides, c_batch_strides;
  int64_t a_offset = 0, a_row = 0, a_col = 0;  // element strides of A[m, k]
  int64_t b_offset = 0, b_row = 0, b_col = 0;  // of B[k, n]
  int64_t c_offset = 0, c_row = 0, c_col = 0;  // of C[m, n]
  PostOpList post_ops;                         // in order; kColumn only where c_col is 1

  DType a_type() const { return a_narrow.value_or(operand_type); }
  DType b_type() const { return b_narrow.value_or(operand_type); }
};

// C[b, row, j] = sum over k of (A[b, row, k] - za) * (B[b, k, j] - zb[j]) in 32 bits, A and B being
// i8 or u8. Rows are those of a matrix, or the windows of a convolution: then k goes through the
// window and in it through the channels, and where a window reaches beyond A, A is za. Strides in
// elements. `store` makes of the sums what the call leaves; without it C is the sums, dense.
// Bindings: A, B, za and zb as far as they are operands, the store's buffers from 2 on, C.
struct ByteProductCall {
  static constexpr const char* kName = "byte product";
  struct Zero {
    bool is_operand = false;
    int32_t value = 0;            // where it is none
    DType dtype = DType::kI8;     // of the operand: i8, u8 or i32
    int64_t offset = 0, col = 0;  // of zb: between columns, 0 or 1
  };
  struct Rows {
    int64_t size = 1, stride = 0;
  };
  struct Window {
    int64_t results = 1, source = 1;  // sizes of what rows and A have of the dimension
    int64_t step = 1, size = 1, dilation = 1, padding_low = 0;
    int64_t a = 0, b = 0;  // strides
  };
  DType a_type = DType::kI8, b_type = DType::kI8;
  std::vector<int64_t> batch, a_batch_strides, b_batch_strides;
  std::vector<Rows> rows;  // slowest first; then come the windows' results
  std::vector<Window> windows;
  int64_t depth = 0, columns = 0;  // of one place of the window
  int64_t a_offset = 0, a_col = 0;
  int64_t b_offset = 0, b_row = 0, b_col = 0;
  Zero a_zero, b_zero;
  // Buffer 0 is C, buffer 1 the sums of all batches. Grid points do `store_rows` rows each, in
  // their order.
  std::optional<Kernel> store;
  int64_t store_rows = 1;
  std::vector<int32_t> store_params;

  int64_t num_rows() const;  // of one batch element
  int64_t num_steps() const;
};

// A tensor somewhere in memory, in elements. Strides of operands may be 0 or negative.
struct StridedTensor {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  DType dtype = DType::kF32;
};

// A convolution or one of its two gradients; types as of a MatmulCall. All are told by the forward
// convolution they belong to:
//   destination[n, g * co + o, y] =
//       sum over i, t of source[n, g * ci + i, y * stride + t * dilation - padding_low]
//                        * weights[g, o, i, t]
// with as many y and t as there are spatial dimensions; source is 0 outside.
struct ConvolutionCall {
  static constexpr const char* kName = "convolution";
  // A, B, C: source, weights, destination | destination, weights, source |
  // source, destination, weights.
  enum class Kind : uint8_t { kForward, kBackwardData, kBackwardWeights };
  Kind kind = Kind::kForward;
  StridedTensor source;       // [n, channels, spatial..]
  StridedTensor weights;      // [groups, co, ci, spatial..]
  StridedTensor destination;  // [n, channels, spatial..]
  // Per spatial dimension; padding >= 0. padding_high makes the sizes agree.
  std::vector<int64_t> strides, dilations, padding_low, padding_high;
  PostOpList post_ops;       // of kForward
  bool only_direct = false;  // the program asks for more than the default precision
};

// What one pass over a result can do after its sums: operations with values, scalars and columns,
// a sum with an operand, a maximum and a minimum with values or a function.
bool is_one_pass(const PostOpList& post_ops);

// Whether it is a product of each pixel's channels, which lie side by side, with weights, in f32;
// followed by what one pass can do.
bool is_pointwise(const ConvolutionCall& call);

// Whether it sums windows of two dimensions over each channel by itself, in f32 and the channels
// side by side; followed by what one pass can do.
bool is_depthwise(const ConvolutionCall& call);

// Winograd's minimal filtering computes a forward convolution with 3x3 windows in f32 by tiles of
// results. This is the side of a tile, 4 or 2. It is 0 where direct sums take about as long, and
// where the layouts, the post-ops or the program's precision do not allow it. Post-ops must be
// those of one pass.
// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2016), section 4.
int64_t winograd_tile(const ConvolutionCall& call);

// Whether a maximum and a minimum with values, or any function, may follow in the same pass.
bool takes_bounds(const ConvolutionCall& call);
// Whether it ends in a gate, and what is before that any convolution can do: then the gate may
// follow in a pass over the result.
bool ends_in_gate(const ConvolutionCall& call);

// B[r, c] = exp(A[r, c] - m) / sum over j of exp(A[r, j] - m), m the row's maximum;
// dense rows of f32. Bindings: A, B.
struct SoftmaxCall {
  static constexpr const char* kName = "softmax";
  int64_t rows = 0, columns = 0;  // > 0
};

// y = (x - mean) * rsqrt(variance + epsilon) [* scale] [+ shift] of dense rows of f32, variance
// being the mean of (x - mean)^2. Bindings: x, scale, shift, as far as they are there, y.
struct NormCall {
  int64_t rows = 0, columns = 0;  // > 0
  float epsilon = 0;
  std::optional<int64_t> scale_offset = {}, shift_offset = {};  // where their vectors begin, if any
};
inline size_t count_bindings(const NormCall& call) {
  return 2 + (call.scale_offset ? 1 : 0) + (call.shift_offset ? 1 : 0);
}
// mean is the row's.
struct LayerNormCall : NormCall {
  static constexpr const char* kName = "layer norm";
};
// mean is 0.
struct RmsNormCall : NormCall {
  static constexpr const char* kName = "rms norm";
};

// B[y.., c] = op over t.. of A[(y * step + t * dilation - padding_low) / base_dilation, c],
// beginning with `initial`, which also stands where A ends and where the division leaves a
// remainder; c over elements side by side. f32. Bindings: A, B.
struct WindowCall {
  static constexpr const char* kName = "window";
  static constexpr size_t kMaxDims = 6;
  struct Dim {
    int64_t results = 1, inputs = 1;  // sizes of B, which is dense, and A
    int64_t stride = 0;               // A's, in elements
    int64_t window = 1, step = 1, dilation = 1, padding_low = 0, base_dilation = 1;
  };
  Op op = Op::kMaximum;  // add, multiply, maximum or minimum
  float initial = 0;
  int64_t columns = 1;
  int64_t offset = 0;  // of A
  std::vector<Dim> dims;
};

// Element (r, c) of the matrix of a batch element: operand[offset + its strides + r * row +
// c * col].
struct BatchMatrix {
  int64_t offset = 0;
  std::vector<int64_t> batch;  // strides, one per batch dimension
  int64_t row = 0, col = 0;    // one is 1, the other at least as long as what it spans
};

// result = softmax(logits) x values, the softmax over columns. The logits are made of the
// scores, queries x keys^T, by post-ops with constants, then by a kernel where there is one.
// f32. Bindings: queries, keys, values, the kernel's buffers but the first, result.
struct AttentionCall {
  static constexpr const char* kName = "attention";
  std::vector<int64_t> batch;  // sizes
  int64_t rows = 0, columns = 0, depth = 0, outs = 0;
  BatchMatrix queries;  // [rows, depth]
  BatchMatrix keys;     // [columns, depth]
  BatchMatrix values;   // [columns, outs]
  BatchMatrix result;   // [rows, outs]
  PostOpList post_ops;
  // Buffer 0 is one batch element's scores, [rows, columns], changed in place. Grid points
  // do `logits_rows` rows each, those of one batch element after those of another.
  std::optional<Kernel> logits;
  int64_t logits_rows = 1;
  std::vector<int32_t> logits_params;
};
inline size_t count_bindings(const AttentionCall& call) {
  return 4 + (call.logits ? call.logits->buffers.size() - 1 : 0);
}

// Dense row-major matrices one after another, for devices that run C++.
struct CholeskyCall {
  static constexpr const char* kName = "cholesky";
  DType dtype = DType::kF32;  // any float
  int64_t matrices = 0, n = 0;
  bool lower = false;
};

// op(a) * x = b, or x * op(a) = b where the matrices stand right.
struct TriangularSolveCall {
  static constexpr const char* kName = "triangular solve";
  DType dtype = DType::kF32;  // any float
  int64_t matrices = 0, n = 0;
  int64_t rows = 0, columns = 0;  // of b and x
  bool left = true, lower = true, unit_diagonal = false, transposed = false;
};

// The transforms of `outer` boxes of form.length, dense one after another; of real ones, half the
// spectrum in the last dimension. f32 or f64. Bindings: the operands, the results.
struct FftCall {
  static constexpr const char* kName = "fft";
  DType dtype = DType::kF32;
  FftForm form;
  int64_t outer = 1;
};

// For each o < outer, and in it for each i < count with 0 <= targets[i] < span, in this order:
//   C[o * span * width + targets[i] * width + j] = op(that, U[(o * count + i) * width + j]), j <
//   width
// Without an op, U's element takes its place. Bindings: targets (i32), U, C.
struct ScatterCall {
  static constexpr const char* kName = "scatter";
  std::optional<Op> op;  // add, multiply, maximum or minimum
  DType dtype = DType::kF32;
  int64_t outer = 1, count = 0, span = 0, width = 1;
  bool alike = false;  // all updates are the one element that there is; outer and width are 1
};

// order[r * k + i]: where row r of A has its greatest element but i, by total order; of equals the
// first comes first. A has dense rows of n >= k. Bindings: A, order (i32).
struct TopKCall {
  static constexpr const char* kName = "top k";
  DType dtype = DType::kF32;
  int64_t rows = 0, n = 0, k = 0;
};

// order[place(row, i)]: which element of the row stands i-th, from the least on, or the greatest;
// equal ones stay as they were: as they lie in the row, or as `order` has them if it `refines`
// that. Integers are in their order, floats in the total order. A has dense rows of n; row r of the
// order begins at (r / inner) * n * inner + r % inner, its elements lie `inner` apart.
// Bindings: A, order (i32).
struct SortCall {
  static constexpr const char* kName = "sort";
  DType dtype = DType::kF32;
  int64_t rows = 0, n = 0, inner = 1;
  bool descending = false, refines = false;
};

// The result is put together of pieces, each of whose elements is written once: boxes of an
// operand, or one value. Bindings: the operands, the result.
struct CopyCall {
  static constexpr const char* kName = "copy";
  // One dimension of a box; strides in elements, those of an operand may be 0 or negative.
  struct Loop {
    int64_t size = 1, from = 0, to = 1;
  };
  struct Piece {
    std::optional<uint32_t> operand;  // else `bits`, of one element
    uint64_t bits = 0;
    int64_t from = 0, to = 0;  // where the first element lies
    std::vector<Loop> loops;   // outermost first, none of size 1
  };
  DType dtype = DType::kF32;
  uint32_t operands = 1;
  int64_t elements = 0;  // of the result
  std::vector<Piece> pieces;
};

inline size_t count_bindings(const MatmulCall& call) { return count_bindings(call.post_ops); }
inline size_t count_bindings(const ConvolutionCall& call) { return count_bindings(call.post_ops); }
inline size_t count_bindings(const ByteProductCall& call) {
  return 3 + (call.a_zero.is_operand ? 1 : 0) + (call.b_zero.is_operand ? 1 : 0) +
         (call.store ? call.store->buffers.size() - 2 : 0);
}
inline size_t count_bindings(const SoftmaxCall&) { return 2; }
inline size_t count_bindings(const WindowCall&) { return 2; }
inline size_t count_bindings(const CholeskyCall&) { return 2; }
inline size_t count_bindings(const TriangularSolveCall&) { return 3; }
inline size_t count_bindings(const FftCall& call) {
  return call.form.operands() + call.form.results();
}
inline size_t count_bindings(const ScatterCall&) { return 3; }
inline size_t count_bindings(const TopKCall&) { return 2; }
inline size_t count_bindings(const SortCall&) { return 2; }
inline size_t count_bindings(const CopyCall& call) { return call.operands + 1; }

// What a step calls; nothing where it runs a kernel.
using Call = std::variant<std::monostate, MatmulCall, ByteProductCall, ConvolutionCall, SoftmaxCall,
                          AttentionCall, LayerNormCall, RmsNormCall, WindowCall, CholeskyCall,
                          TriangularSolveCall, FftCall, ScatterCall, TopKCall, SortCall, CopyCall>;

// Whether the call writes binding `i` of `bindings`: its results come last. The others it reads.
inline bool is_result(const Call& call, size_t i, size_t bindings) {
  const auto* fft = std::get_if<FftCall>(&call);
  return i + (fft ? fft->form.results() : 1) >= bindings;
}

// Whether the call may find `binding`, but no other one, in the memory that its result goes
// to: it only adds the result to it, or subtracts it, element by element.
inline bool updates_in_place(const Call& call, size_t binding) {
  const PostOpList* post_ops = nullptr;
  if (const auto* matmul = std::get_if<MatmulCall>(&call))
    if (matmul->operand_type == DType::kF32) post_ops = &matmul->post_ops;
  if (const auto* convolution = std::get_if<ConvolutionCall>(&call))
    if (convolution->source.dtype == DType::kF32) post_ops = &convolution->post_ops;
  if (post_ops == nullptr) return false;
  size_t next = 2;
  for (const PostOp& op : *post_ops) {
    if (!op.has_operand() || next++ != binding) continue;
    return op.with == PostOp::With::kElement &&
           (op.kind == PostOp::Kind::kAdd || op.kind == PostOp::Kind::kSubtract);
  }
  return false;
}

}  // namespace tuff
