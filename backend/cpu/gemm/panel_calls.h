// Rows times weights that are packed: which matmuls and convolutions are that.
#pragma once

#include <optional>
#include <vector>

#include "shaders/library_call.h"

namespace tuff::cpu {

// C[r, j] = sum over l of A[r, l] * B[l, j], with post-ops of one pass; all f32 but what lies in
// memory, which may be f16 or bf16: read as f32, and C rounded once. In elements.
struct PanelProductCall {
  DType a_type = DType::kF32, b_type = DType::kF32, c_type = DType::kF32;
  // Rows of A in the order of C's rows; a_col is 1 unless A is f32.
  std::vector<int64_t> row_sizes, row_strides;
  int64_t a_offset = 0, a_col = 1;
  int64_t depth = 0, columns = 0;
  int64_t b_offset = 0, b_row = 0, b_col = 0;
  int64_t c_offset = 0;      // of dense rows
  PostOpList post_ops;       // is_one_pass
  bool swapped = false;      // A is the second binding, B the first
  bool keeps_panels = true;  // B may be the same in many runs: packed, it may be kept
};

// What multiplies each pixel's channels: is_pointwise(call).
PanelProductCall pointwise_call(const ConvolutionCall& call, bool stable_weights);

// C^T = B^T x A^T: the bindings of A and B are the other way round then.
MatmulCall transposed(MatmulCall call);

// Whether it is rows that can be read times a matrix, or one for each matrix of a batch, with
// post-ops of one pass, its result dense.
bool has_plain_rows(const MatmulCall& call);
// Whether all matrices of a batch are multiplied with the same B.
bool shares_b(const MatmulCall& call);
// Whether a post-op tells columns apart.
bool has_columns(const PostOpList& post_ops);
// Rows times one matrix.
bool is_panel_product(const MatmulCall& call);
// The call for that, or for its transpose, where it pays. stable_a, stable_b: see choose_matmul.
std::optional<PanelProductCall> panel_product_call(const MatmulCall& call, bool stable_a,
                                                   bool stable_b);

}  // namespace tuff::cpu
