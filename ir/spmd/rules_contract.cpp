// Rules of matmuls and convolutions.
#include "ir/ops/contraction.h"
#include "ir/spmd/rule_draft.h"

namespace tuff::spmd {

void dot_general(RuleDraft& draft) {
  ShardingRule& rule = draft.rule;
  DotDims dims = dot_dims(draft.node, draft.operand(0).rank(), draft.operand(1).rank());
  auto lhs = [&](int64_t d) -> int64_t& { return rule.operands[0][static_cast<size_t>(d)]; };
  auto rhs = [&](int64_t d) -> int64_t& { return rule.operands[1][static_cast<size_t>(d)]; };
  size_t result = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i)
    lhs(dims.lhs_batch[i]) = rhs(dims.rhs_batch[i]) = rule.results[0][result++] =
        draft.add_factor();
  for (int64_t d : dims.lhs_free) lhs(d) = rule.results[0][result++] = draft.add_factor();
  for (int64_t d : dims.rhs_free) rhs(d) = rule.results[0][result++] = draft.add_factor();
  for (size_t i = 0; i < dims.lhs_contract.size(); ++i)
    lhs(dims.lhs_contract[i]) = rhs(dims.rhs_contract[i]) = draft.add_factor(Op::kAdd);
}

// Images are split by Partitioner::place_windows, and channels only where they are one group.
void convolution(RuleDraft& draft) {
  ShardingRule& rule = draft.rule;
  ConvolutionDims dims = convolution_dims(draft.node);
  auto input = [&](int64_t d) -> int64_t& { return rule.operands[0][static_cast<size_t>(d)]; };
  auto kernel = [&](int64_t d) -> int64_t& { return rule.operands[1][static_cast<size_t>(d)]; };
  auto output = [&](int64_t d) -> int64_t& { return rule.results[0][static_cast<size_t>(d)]; };
  if (dims.batch_groups != 1) return;
  input(dims.input_batch) = output(dims.output_batch) = draft.add_factor();
  if (dims.feature_groups != 1) return;
  kernel(dims.kernel_output_feature) = output(dims.output_feature) = draft.add_factor();
  input(dims.input_feature) = kernel(dims.kernel_input_feature) = draft.add_factor(Op::kAdd);
}

}  // namespace tuff::spmd
