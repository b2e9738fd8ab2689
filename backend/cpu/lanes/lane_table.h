// The functions that do the work of a kernel's statements over arrays of lanes.
// One table per processor level; see lane_table_level.cpp.
#pragma once

#include <cstdint>

#include "backend/cpu/convolution/window_rows.h"
#include "backend/cpu/fourier/fft_tables.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/lanes/winograd_transforms.h"
#include "ir/op.h"
#include "ir/type.h"

namespace tuff::cpu {

inline constexpr int kNumOps = 0
#define ELEMENTWISE(...) +1
#define KERNEL_ONLY(...) +1
#define OP(...) +1
#include "ir/op.def"
    ;

// out[i] = op(a[i], b[i], c[i]) for i < n, elements in host storage form. `out`
// may be the same array as an operand of its element size, else they are disjoint.
using LaneFn = void (*)(int64_t n, void* out, const void* a, const void* b, const void* c);

// Moves elements of one size between lane arrays and memory. Indices count
// elements; `guard` holds one byte per lane.
struct MoveFns {
  // dst[i] = *value
  void (*fill)(int64_t n, void* dst, const void* value);
  // dst[i] = src[i * stride], dst[i * stride] = src[i]
  void (*load_strided)(int64_t n, void* dst, const void* src, int64_t stride);
  void (*store_strided)(int64_t n, void* dst, const void* src, int64_t stride);
  // dst[r * dst_stride + i] = src[r * src_stride + i * step] for r < rows, i < n.
  void (*copy_rows)(int64_t rows, int64_t n, void* dst, int64_t dst_stride, const void* src,
                    int64_t src_stride, int64_t step);
  // dst[2 * i] = a[i], dst[2 * i + 1] = b[i]
  void (*interleave)(int64_t n, void* dst, const void* a, const void* b);
  // dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < columns.
  void (*transpose)(int64_t rows, int64_t columns, const void* src, int64_t src_stride, void* dst,
                    int64_t dst_stride);
  // dst[i] = src[base + i * stride] and the reverse, only where the guard holds.
  void (*load_guarded)(int64_t n, void* dst, const void* src, int64_t base, int64_t stride,
                       const uint8_t* guard);
  void (*store_guarded)(int64_t n, void* dst, const void* src, int64_t base, int64_t stride,
                        const uint8_t* guard);
  // dst[i] = src[index[i]], dst[index[i]] = src[i]; `guard` may be null.
  void (*gather)(int64_t n, void* dst, const void* src, const int32_t* index, const uint8_t* guard);
  void (*scatter)(int64_t n, void* dst, const void* src, const int32_t* index,
                  const uint8_t* guard);
  void (*gather_wide)(int64_t n, void* dst, const void* src, const int64_t* index,
                      const uint8_t* guard);
  void (*scatter_wide)(int64_t n, void* dst, const void* src, const int64_t* index,
                       const uint8_t* guard);
};

// x[r * step + i] = f(x[r * step + i]) for r < rows, i < n.
using RowsFn = void (*)(int64_t rows, int64_t n, float* x, int64_t step);

// Of dense rows: (in - mean) * rsqrt(variance + epsilon) [* scale] [+ shift], where they are not
// null; mean is the row's if `centred`, else 0, and variance the mean of (in - mean)^2.
struct NormRows {
  int64_t n = 0;
  float* out = nullptr;
  const float *in = nullptr, *scale = nullptr, *shift = nullptr;
  float epsilon = 0;
  bool centred = false;
};

struct ByteColumns;
struct BytePanels;
struct DepthwiseRow;
struct DotRows;
struct RowProduct;
struct RowSums;
struct SplitProduct;
struct SplitSource;

struct LaneTable {
  // By op, by the dtype the body computes in (see compute_dtype), and by which
  // operands are one element for all lanes (bit i: operand i). Null: not compiled;
  // [0] is null iff the op is not defined for the dtype.
  LaneFn compute[kNumOps][kNumDTypes][8] = {};
  LaneFn convert[kNumDTypes][kNumDTypes] = {};
  MoveFns moves[4] = {};  // by log2 of the element size
  // out[i] = base + stride * i, wrapping.
  void (*ramp32)(int64_t n, int32_t* out, int32_t base, int32_t stride) = nullptr;
  void (*ramp64)(int64_t n, int64_t* out, int64_t base, int64_t stride) = nullptr;
  // out[i] = a[i] / d for a[i] >= 0 and d > 0: the compiler does not vectorise integer
  // division.
  void (*index_div32)(int64_t n, int32_t* out, const int32_t* a, int32_t d) = nullptr;
  // Softmax of dense rows of n > 0 elements; `out` may be `in`.
  void (*softmax_rows)(int64_t rows, int64_t n, float* out, const float* in) = nullptr;
  // The functions of PostOp.
  RowsFn gelu_erf = nullptr, gelu_tanh = nullptr, silu = nullptr, hard_swish = nullptr;
  // out[i] = exp(in[i] - maximum), n > 0; returns their sum. `out` may be `in`.
  float (*exp_row)(int64_t n, float* out, const float* in) = nullptr;
  void (*norm_rows)(int64_t rows, const NormRows& norm) = nullptr;
  void (*multiply_rows)(const RowProduct& product) = nullptr;
  // row[i] -= factors[0] * known[i], then factors[1] * known[i + step], and so on for `count` of
  // them; the rows are apart.
  void (*take_off)(int64_t n, double* row, int64_t count, const double* factors,
                   const double* known, int64_t step) = nullptr;
  // The same of kTakenOffRows rows, `row_step` apart; row r's factor of known k is
  // factors[r * factor_row + k * factor_step].
  static constexpr int64_t kTakenOffRows = 4;
  void (*take_off_rows)(int64_t n, double* rows, int64_t row_step, int64_t count,
                        const double* factors, int64_t factor_row, int64_t factor_step,
                        const double* known, int64_t step);
  // The sum of a[i] * b[i].
  double (*dot)(int64_t n, const double* a, const double* b) = nullptr;
  // By the type of the matrix; null where the level does not read it.
  void (*dot_rows[kNumDTypes])(const DotRows& product) = {};
  void (*row_sums[kNumDTypes])(const RowSums& product) = {};
  int64_t most_row_sums = 0;
  // A dense copy of the right side of a RowProduct, rows x cols with these strides: its rows
  // are `to_row` apart, a multiple of kProductColumns, and filled up with zeros.
  void (*pack_columns)(int64_t rows, int64_t cols, const float* from, int64_t row, int64_t col,
                       float* to, int64_t to_row) = nullptr;
  // See bf16x6.h; null at levels without AMX. What a group's last block has beyond its lines and
  // their depth becomes 0.
  void (*split_bf16x3)(const SplitSource& source) = nullptr;
  void (*multiply_bf16x6)(const SplitProduct& product) = nullptr;
  // See bytes.h.
  void (*pack_bytes)(const ByteColumns& columns) = nullptr;
  void (*multiply_bytes)(const BytePanels& panels) = nullptr;
  bool multiplies_i8 = false;  // A may be i8, not u8 only
  void (*depthwise_row)(const DepthwiseRow& row) = nullptr;
  void (*fold_window[static_cast<size_t>(WindowFold::kCount)])(const WindowRows& rows) = {};
  WinogradFns winograd[2] = {};  // of tiles of 2 x 2 and 4 x 4 results
  FftFns<float> fft_f32 = {};
  FftFns<double> fft_f64 = {};
};

// The level must be available (isa_level_available).
const LaneTable& lane_table(IsaLevel level);

// The element type that selects an op's body: the operands' own type, which for
// select is that of its branches.
inline DType compute_dtype(Op op, DType first_operand, DType result) {
  return op_info(op).type_rule == TypeRule::kSelect ? result : first_operand;
}

inline int size_log2(DType dtype) {
  switch (dtype_size(dtype)) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    default: return 3;
  }
}

}  // namespace tuff::cpu
