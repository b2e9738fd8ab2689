// The dimension numbers of dot_general and convolution, in one readable form.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/index/index_expr.h"

namespace tuff {

inline bool is_contraction(Op op) { return op == Op::kDotGeneral || op == Op::kConvolution; }

// dot_general's dimensions by role. Result shape: batch, then lhs_free, then rhs_free.
struct DotDims {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs_free, rhs_free;
};
DotDims dot_dims(const Node& dot, int64_t lhs_rank, int64_t rhs_rank);
// The element of operand 0 or 1 that goes with an element of the result and a step of the
// contraction.
std::vector<IndexExpr> dot_operand_index(const DotDims& dims, size_t operand,
                                         const std::vector<IndexExpr>& result,
                                         const std::vector<IndexExpr>& contracted);

// convolution's dimension numbers and window; every vector has one entry per
// spatial dimension. StableHLO specification, section "convolution".
struct ConvolutionDims {
  int64_t input_batch = 0, input_feature = 0;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  int64_t output_batch = 0, output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
  std::vector<int64_t> strides, padding_low, padding_high, lhs_dilation, rhs_dilation;
  std::vector<bool> reversal;
  int64_t feature_groups = 1, batch_groups = 1;
};
ConvolutionDims convolution_dims(const Node& convolution);

// What the library of a device (Caps::library_calls) computes: operands that are both f32,
// bf16 or f16, and a result of that type or f32.
bool has_library_types(const Graph& graph, const Node& contraction);

// Whether it reads elements of one type as such of another: f32 has all values of bf16 and f16.
bool library_reads(DType stored, DType wanted);

}  // namespace tuff
