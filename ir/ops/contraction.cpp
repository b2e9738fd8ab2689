#include "ir/ops/contraction.h"

#include <algorithm>

namespace tuff {

namespace {

std::vector<int64_t> other_dims(int64_t rank, const std::vector<int64_t>& a,
                                const std::vector<int64_t>& b) {
  std::vector<int64_t> rest;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
      rest.push_back(d);
  return rest;
}

}  // namespace

DotDims dot_dims(const Node& dot, int64_t lhs_rank, int64_t rhs_rank) {
  DotDims dims;
  dims.lhs_batch = dot.attrs.as<DotGeneralAttrs>().lhs_batching_dimensions;
  dims.rhs_batch = dot.attrs.as<DotGeneralAttrs>().rhs_batching_dimensions;
  dims.lhs_contract = dot.attrs.as<DotGeneralAttrs>().lhs_contracting_dimensions;
  dims.rhs_contract = dot.attrs.as<DotGeneralAttrs>().rhs_contracting_dimensions;
  dims.lhs_free = other_dims(lhs_rank, dims.lhs_batch, dims.lhs_contract);
  dims.rhs_free = other_dims(rhs_rank, dims.rhs_batch, dims.rhs_contract);
  return dims;
}

std::vector<IndexExpr> dot_operand_index(const DotDims& dims, size_t operand,
                                         const std::vector<IndexExpr>& result,
                                         const std::vector<IndexExpr>& contracted) {
  const auto& batch = operand == 0 ? dims.lhs_batch : dims.rhs_batch;
  const auto& free = operand == 0 ? dims.lhs_free : dims.rhs_free;
  const auto& contract = operand == 0 ? dims.lhs_contract : dims.rhs_contract;
  std::vector<IndexExpr> index(batch.size() + free.size() + contract.size());
  size_t first_free = batch.size() + (operand == 0 ? 0 : dims.lhs_free.size());
  for (size_t i = 0; i < batch.size(); ++i) index[static_cast<size_t>(batch[i])] = result[i];
  for (size_t i = 0; i < free.size(); ++i)
    index[static_cast<size_t>(free[i])] = result[first_free + i];
  for (size_t i = 0; i < contract.size(); ++i)
    index[static_cast<size_t>(contract[i])] = contracted[i];
  return index;
}

ConvolutionDims convolution_dims(const Node& node) {
  const auto& attrs = node.attrs.as<ConvolutionAttrs>();
  ConvolutionDims dims;
  dims.input_batch = attrs.input_batch_dimension;
  dims.input_feature = attrs.input_feature_dimension;
  dims.kernel_input_feature = attrs.kernel_input_feature_dimension;
  dims.kernel_output_feature = attrs.kernel_output_feature_dimension;
  dims.output_batch = attrs.output_batch_dimension;
  dims.output_feature = attrs.output_feature_dimension;
  dims.input_spatial = attrs.input_spatial_dimensions;
  dims.kernel_spatial = attrs.kernel_spatial_dimensions;
  dims.output_spatial = attrs.output_spatial_dimensions;
  size_t n = dims.input_spatial.size();
  dims.strides = list_or(attrs.window_strides, n, 1);
  dims.lhs_dilation = list_or(attrs.lhs_dilation, n, 1);
  dims.rhs_dilation = list_or(attrs.rhs_dilation, n, 1);
  std::vector<int64_t> padding = list_or(attrs.padding, 2 * n, 0);
  for (size_t i = 0; i < n; ++i) {
    dims.padding_low.push_back(padding[2 * i]);
    dims.padding_high.push_back(padding[2 * i + 1]);
  }
  for (int64_t r : list_or(attrs.window_reversal, n, 0)) dims.reversal.push_back(r != 0);
  dims.feature_groups = attrs.feature_group_count;
  dims.batch_groups = attrs.batch_group_count;
  return dims;
}

bool has_library_types(const Graph& graph, const Node& contraction) {
  DType operand = graph.type(contraction.operands[0]).dtype, result = contraction.types[0].dtype;
  bool known = operand == DType::kF32 || operand == DType::kBF16 || operand == DType::kF16;
  return known && graph.type(contraction.operands[1]).dtype == operand &&
         (result == operand || result == DType::kF32);
}

bool library_reads(DType stored, DType wanted) {
  bool narrow = stored == DType::kBF16 || stored == DType::kF16;
  return stored == wanted || (narrow && wanted == DType::kF32);
}

}  // namespace tuff
