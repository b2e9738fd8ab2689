#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

// Group g convolves its own part of the batch with its own output features. With the
// parts side by side as features, (batch, features) = (g * n, f) -> (n, g * f), that is
// what feature groups do.
Values batch_groups(const RewriteSite& site) {
  int64_t groups = site.node.attrs.as<ConvolutionAttrs>().batch_group_count;
  if (groups == 1) return std::nullopt;
  const Shape& input = site.operand_type(0).shape;
  auto batch = static_cast<size_t>(site.node.attrs.as<ConvolutionAttrs>().input_batch_dimension);
  auto feature =
      static_cast<size_t>(site.node.attrs.as<ConvolutionAttrs>().input_feature_dimension);

  Shape apart = input;  // the groups as a dimension before the batch's rest
  apart[batch] /= groups;
  apart.insert(apart.begin() + static_cast<long>(batch), groups);
  Value value = reshape(site, site.node.operands[0], apart);

  // The groups move to the front of the features.
  auto shifted = [&](size_t d) { return static_cast<int64_t>(d < batch ? d : d + 1); };
  std::vector<int64_t> permutation;
  Shape moved, together = input;
  for (size_t d = 0; d < input.size(); ++d) {
    if (d == feature) permutation.push_back(static_cast<int64_t>(batch));
    permutation.push_back(shifted(d));
  }
  for (int64_t d : permutation) moved.push_back(apart[static_cast<size_t>(d)]);
  value = site.add(Op::kTranspose, {value}, {site.operand_type(0).dtype, moved},
                   TransposeAttrs{permutation});
  together[batch] /= groups;
  together[feature] *= groups;

  Node node = site.node;
  node.operands[0] = reshape(site, value, together);
  auto& attrs = node.attrs.edit<ConvolutionAttrs>();
  attrs.batch_group_count = 1;
  attrs.feature_group_count = groups;
  return std::vector<Value>{site.out.add(std::move(node))};
}

}  // namespace tuff::decomposition
