// Rules of gather, scatter and the dynamic slices: what is indexed stays whole, what is
// taken whole may be split, and so may the places where things are taken or put.
#include "ir/rewrite.h"
#include "ir/spmd/rule_draft.h"

namespace tuff::spmd {

namespace {

// A factor for each dimension of the index tensor but the vectors' own; the factors in
// the order of the batch.
std::vector<int64_t> batch_factors(RuleDraft& draft, size_t indices, std::optional<Op> combine,
                                   const std::vector<int64_t>& batching, int64_t index_vector_dim) {
  std::vector<int64_t> factors;
  std::vector<int64_t>& dims = draft.rule.operands[indices];
  auto vector_dim = static_cast<size_t>(index_vector_dim);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d == vector_dim) continue;
    bool passes = !combine || contains(batching, d);
    dims[d] = passes ? draft.add_factor() : draft.add_factor(combine);
    factors.push_back(dims[d]);
  }
  return factors;
}

// The operand's batching dimensions go with the index tensor's.
void share_batching(RuleDraft& draft, size_t indices, const std::vector<int64_t>& of_operand,
                    const std::vector<int64_t>& of_indices) {
  for (size_t i = 0; i < of_operand.size(); ++i)
    draft.rule.operands[0][static_cast<size_t>(of_operand[i])] =
        draft.rule.operands[indices][static_cast<size_t>(of_indices[i])];
}

}  // namespace

void gather(RuleDraft& draft) {
  const auto& attrs = draft.node.attrs.as<GatherAttrs>();
  const std::vector<int64_t>& offsets = attrs.offset_dims;
  const std::vector<int64_t>& collapsed = attrs.collapsed_slice_dims;
  const std::vector<int64_t>& batching = attrs.operand_batching_dims;
  const std::vector<int64_t>& sizes = attrs.slice_sizes;
  std::vector<int64_t> batch = batch_factors(draft, 1, std::nullopt, {}, attrs.index_vector_dim);
  share_batching(draft, 1, batching, attrs.start_indices_batching_dims);
  size_t next_batch = 0;
  std::vector<int64_t>& result = draft.rule.results[0];
  for (size_t r = 0; r < result.size(); ++r)
    if (!contains(offsets, r)) result[r] = batch[next_batch++];
  size_t next_offset = 0;
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d) {
    if (contains(collapsed, d) || contains(batching, d)) continue;
    auto r = static_cast<size_t>(offsets[next_offset++]);
    if (sizes[d] == draft.operand(0).shape[d]) draft.pair(0, d, r);
  }
}

// Parts of the updates can be put by themselves where the parts' results can be combined:
// onto zeros by add, onto anything by maximum and minimum.
void scatter(RuleDraft& draft) {
  if (draft.node.operands.size() != 3) return;
  const auto& attrs = draft.node.attrs.as<ScatterAttrs>();
  const std::vector<int64_t>& windows = attrs.update_window_dims;
  const std::vector<int64_t>& inserted = attrs.inserted_window_dims;
  const std::vector<int64_t>& batching = attrs.input_batching_dims;
  const std::vector<int64_t>& of_indices = attrs.scatter_indices_batching_dims;
  std::optional<Op> op = reduction_op(*draft.node.regions[0]);
  const Literal* onto = splat_value(draft.graph, draft.node.operands[0]);
  bool adds = op == Op::kAdd && onto && onto->get_double(0) == 0;
  if (!adds && op != Op::kMaximum && op != Op::kMinimum) op.reset();

  ShardingRule& rule = draft.rule;
  std::vector<int64_t> batch =
      batch_factors(draft, 1, op ? op : Op::kAdd, of_indices, attrs.index_vector_dim);
  if (!op)  // what would have to be combined stays whole
    for (std::vector<int64_t>* factors : {&batch, &rule.operands[1]})
      for (int64_t& factor : *factors)
        if (factor >= 0 && rule.combine[static_cast<size_t>(factor)]) factor = ShardingRule::kWhole;
  share_batching(draft, 1, batching, of_indices);
  for (int64_t d : batching)
    rule.results[0][static_cast<size_t>(d)] = rule.operands[0][static_cast<size_t>(d)];
  size_t next_batch = 0, next_window = 0;
  for (size_t d = 0; d < rule.operands[2].size(); ++d)
    if (!contains(windows, d)) rule.operands[2][d] = batch[next_batch++];
  for (size_t d = 0; d < rule.operands[0].size(); ++d) {
    if (contains(inserted, d) || contains(batching, d)) continue;
    auto window = static_cast<size_t>(windows[next_window++]);
    if (contains(attrs.scatter_dims_to_operand_dims, d)) continue;
    if (draft.operand(0).shape[d] != draft.operand(2).shape[window]) continue;
    rule.operands[0][d] = rule.operands[2][window] = rule.results[0][d] = draft.add_factor();
  }
}

void dynamic_slice(RuleDraft& draft) {
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d)
    if (draft.node.types[0].shape[d] == draft.operand(0).shape[d]) draft.pair(0, d, d);
}

void dynamic_update_slice(RuleDraft& draft) {
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d)
    if (draft.operand(1).shape[d] == draft.operand(0).shape[d]) {
      draft.pair(0, d, d);
      draft.rule.operands[1][d] = draft.rule.operands[0][d];
    }
}

}  // namespace tuff::spmd
