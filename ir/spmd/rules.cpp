// Rules of elementwise operations, views, reductions, sorts and linear algebra; those of
// contractions and of indexing are in rules_contract.cpp and rules_index.cpp.
#include "ir/spmd/rules.h"

#include <algorithm>

#include "ir/ops/window.h"
#include "ir/rewrite.h"
#include "ir/spmd/rule_draft.h"

namespace tuff {

namespace spmd {

namespace {

bool all_equal(const std::vector<int64_t>& list, size_t d, int64_t missing, int64_t wanted) {
  return (list.empty() ? missing : list[d]) == wanted;
}

// Operand and result dimensions in order; scalars beside them (a clamp's limits) have none.
void elementwise(RuleDraft& draft) { draft.share_all(draft.node.types[0].shape.size()); }

void broadcast_in_dim(RuleDraft& draft) {
  const TensorType& from = draft.operand(0);
  const TensorType& to = draft.node.types[0];
  const std::vector<int64_t>& dims =
      draft.node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  for (size_t d = 0; d < dims.size(); ++d) {
    auto r = static_cast<size_t>(dims[d]);
    if (from.shape[d] == to.shape[r]) draft.pair(0, d, r);
  }
}

void transpose(RuleDraft& draft) {
  const std::vector<int64_t>& permutation = draft.node.attrs.as<TransposeAttrs>().permutation;
  for (size_t r = 0; r < permutation.size(); ++r)
    draft.pair(0, static_cast<size_t>(permutation[r]), r);
}

// Of each run of dimensions that become one another, the first that is larger than 1 is
// split: its parts are then contiguous in both shapes.
void reshape(RuleDraft& draft) {
  const Shape& from = draft.operand(0).shape;
  const Shape& to = draft.node.types[0].shape;
  if (draft.operand(0).num_elements() == 0) return;
  for (size_t i = 0, r = 0; i < from.size() && r < to.size();) {
    size_t first_i = i, first_r = r;
    int64_t have = from[i++], want = to[r++];
    while (have != want) {
      if (have < want && i < from.size())
        have *= from[i++];
      else if (have > want && r < to.size())
        want *= to[r++];
      else
        return;
    }
    while (first_i + 1 < i && from[first_i] == 1) ++first_i;
    while (first_r + 1 < r && to[first_r] == 1) ++first_r;
    draft.pair(0, first_i, first_r);
  }
}

void slice(RuleDraft& draft) {
  const Shape& from = draft.operand(0).shape;
  for (size_t d = 0; d < from.size(); ++d)
    if (draft.node.types[0].shape[d] == from[d] &&
        all_equal(draft.node.attrs.as<SliceAttrs>().strides, d, 1, 1))
      draft.pair(0, d, d);
}

void reverse(RuleDraft& draft) {
  const std::vector<int64_t>& reversed = draft.node.attrs.as<DimensionsAttrs>().dimensions;
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d)
    if (!contains(reversed, d)) draft.pair(0, d, d);
}

void pad(RuleDraft& draft) {
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d)
    if (all_equal(draft.node.attrs.as<PadAttrs>().edge_padding_low, d, 0, 0) &&
        all_equal(draft.node.attrs.as<PadAttrs>().edge_padding_high, d, 0, 0) &&
        all_equal(draft.node.attrs.as<PadAttrs>().interior_padding, d, 0, 0))
      draft.pair(0, d, d);
}

// Every operand and result alike, but for one dimension.
void all_but(RuleDraft& draft, int64_t dimension) {
  size_t rank = draft.node.types[0].shape.size();
  for (size_t d = 0; d < rank; ++d) {
    if (static_cast<int64_t>(d) == dimension) continue;
    int64_t factor = draft.add_factor();
    for (auto& dims : draft.rule.operands)
      if (dims.size() == rank) dims[d] = factor;
    for (auto& dims : draft.rule.results) dims[d] = factor;
  }
}

void sort(RuleDraft& draft, int64_t dimension) {
  all_but(draft, dimension);
  draft.rule.worth_moving = true;
}

// Few are merged from the parts (Partitioner::place_top_k).
void top_k(RuleDraft& draft) {
  constexpr int64_t kFew = 16;
  sort(draft, draft.node.types[0].rank() - 1);
  int64_t k = draft.node.attrs.as<TopKAttrs>().k;
  draft.rule.worth_moving = k > draft.operand(0).shape.back() / kFew;
}

// Each matrix, or each array that is transformed, by itself.
void batched(RuleDraft& draft, size_t dimensions_of_each) {
  draft.rule.worth_moving = true;
  for (size_t d = 0; d + dimensions_of_each < draft.operand(0).shape.size(); ++d) {
    int64_t factor = draft.add_factor();
    for (auto* side : {&draft.rule.operands, &draft.rule.results})
      for (auto& dims : *side) dims[d] = factor;
  }
}

// Right-hand sides are solved for by themselves, too.
void triangular_solve(RuleDraft& draft) {
  batched(draft, 2);
  size_t rank = draft.operand(1).shape.size();
  size_t d = draft.node.attrs.as<TriangularSolveAttrs>().left_side ? rank - 1 : rank - 2;
  draft.pair(1, d, d);
}

void bitcast_convert(RuleDraft& draft) {
  size_t shared = std::min(draft.operand(0).shape.size(), draft.node.types[0].shape.size());
  for (size_t d = 0; d < shared; ++d) draft.pair(0, d, d);
}

// The initial value changes nothing, however often it is combined in.
bool is_idle(Op op, const Literal* initial) {
  if (op == Op::kMaximum || op == Op::kMinimum || op == Op::kAnd || op == Op::kOr) return true;
  return initial && initial->get_double(0) == (op == Op::kMultiply ? 1 : 0);
}

void reduce(RuleDraft& draft) {
  size_t count = draft.node.operands.size() / 2, kept = 0;
  const std::vector<int64_t>& reduced = draft.node.attrs.as<DimensionsAttrs>().dimensions;
  std::optional<Op> op = reduction_op(*draft.node.regions[0]);
  bool combines =
      count == 1 && op && is_idle(*op, splat_value(draft.graph, draft.node.operands[1]));
  for (size_t d = 0; d < draft.operand(0).shape.size(); ++d) {
    bool is_kept = !contains(reduced, d);
    if (!is_kept && !combines) continue;
    int64_t factor = is_kept ? draft.add_factor() : draft.add_factor(*op);
    for (size_t i = 0; i < count; ++i) draft.rule.operands[i][d] = factor;
    for (auto& dims : draft.rule.results)
      if (is_kept) dims[kept] = factor;
    kept += is_kept;
  }
}

// Dimensions along which windows stand side by side. Others are split by Partitioner::place_windows
// where windows do not reach far.
void windowed(RuleDraft& draft) {
  const bool scatters = draft.node.op == Op::kSelectAndScatter;
  const Shape& windows = scatters ? draft.operand(1).shape : draft.node.types[0].shape;
  const WindowDims window = window_dims(draft.node, draft.operand(0).shape);
  size_t rank = windows.size();
  for (size_t d = 0; d < rank; ++d) {
    bool apart = window.strides[d] == window.sizes[d] && window.base_dilations[d] == 1 &&
                 window.dilations[d] == 1 && window.padding_low[d] == 0 &&
                 window.input[d] == window.sizes[d] * windows[d];
    if (!apart) {
      draft.rule.worth_moving |= scatters || 2 * window.sizes[d] > window.input[d];
      continue;
    }
    int64_t factor = draft.add_factor();
    for (auto& dims : draft.rule.operands)
      if (dims.size() == rank) dims[d] = factor;
    for (auto& dims : draft.rule.results) dims[d] = factor;
  }
}

void barrier(RuleDraft& draft) {
  for (size_t i = 0; i < draft.node.operands.size(); ++i)
    for (size_t d = 0; d < draft.operand(i).shape.size(); ++d)
      draft.rule.operands[i][d] = draft.rule.results[i][d] = draft.add_factor();
}

void fill(RuleDraft& draft) {
  const Node& node = draft.node;
  if (is_elementwise(node.op)) return elementwise(draft);
  switch (node.op) {
    case Op::kMap: return elementwise(draft);
    case Op::kBroadcastInDim: return broadcast_in_dim(draft);
    case Op::kTranspose: return transpose(draft);
    case Op::kReshape: return reshape(draft);
    case Op::kSlice: return slice(draft);
    case Op::kReverse: return reverse(draft);
    case Op::kPad: return pad(draft);
    case Op::kConcatenate: return all_but(draft, node.attrs.as<ConcatenateAttrs>().dimension);
    case Op::kBitcastConvert: return bitcast_convert(draft);
    case Op::kReduce: return reduce(draft);
    case Op::kReduceWindow:
    case Op::kSelectAndScatter: return windowed(draft);
    case Op::kSort: return sort(draft, node.attrs.as<SortAttrs>().dimension);
    case Op::kTopK: return top_k(draft);
    case Op::kFft: return batched(draft, node.attrs.as<FftAttrs>().fft_length.size());
    case Op::kCholesky: return batched(draft, 2);
    case Op::kTriangularSolve: return triangular_solve(draft);
    case Op::kDotGeneral: return dot_general(draft);
    case Op::kConvolution: return convolution(draft);
    case Op::kGather: return gather(draft);
    case Op::kScatter: return scatter(draft);
    case Op::kDynamicSlice: return dynamic_slice(draft);
    case Op::kDynamicUpdateSlice: return dynamic_update_slice(draft);
    case Op::kOptimizationBarrier: return barrier(draft);
    default: return;
  }
}

}  // namespace

RuleDraft::RuleDraft(const Graph& graph, const Node& node) : graph(graph), node(node) {
  for (Value v : node.operands)
    rule.operands.emplace_back(graph.type(v).shape.size(), ShardingRule::kWhole);
  for (const TensorType& type : node.types)
    rule.results.emplace_back(type.shape.size(), ShardingRule::kWhole);
}

int64_t RuleDraft::add_factor(std::optional<Op> combine) {
  rule.combine.push_back(combine);
  return static_cast<int64_t>(rule.combine.size()) - 1;
}

void RuleDraft::pair(size_t operand, size_t operand_dim, size_t result_dim) {
  rule.operands[operand][operand_dim] = rule.results[0][result_dim] = add_factor();
}

void RuleDraft::share_all(size_t rank) {
  for (size_t d = 0; d < rank; ++d) {
    int64_t factor = add_factor();
    for (auto* side : {&rule.operands, &rule.results})
      for (auto& dims : *side)
        if (dims.size() == rank) dims[d] = factor;
  }
}

}  // namespace spmd

ShardingRule sharding_rule(const Graph& graph, const Node& node) {
  spmd::RuleDraft draft(graph, node);
  spmd::fill(draft);
  return std::move(draft.rule);
}

std::optional<Op> reduction_op(const Graph& region) {
  if (region.num_parameters() != 2 || region.outputs().size() != 1) return std::nullopt;
  const Node& node = region.node(region.outputs()[0]);
  std::vector<Value> operands = node.operands;
  std::sort(operands.begin(), operands.end());
  if (operands != std::vector<Value>{{0, 0}, {1, 0}}) return std::nullopt;
  for (Op op : {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum, Op::kAnd, Op::kOr})
    if (node.op == op) return op;
  return std::nullopt;
}

void localize_sizes(const Node& whole, const std::vector<TensorType>& whole_operands,
                    const std::vector<TensorType>& operand_types, Node* part) {
  std::vector<int64_t>* sizes = nullptr;
  if (whole.op == Op::kSlice) sizes = &part->attrs.edit<SliceAttrs>().limit_indices;
  if (whole.op == Op::kDynamicSlice) sizes = &part->attrs.edit<DynamicSliceAttrs>().slice_sizes;
  if (whole.op == Op::kGather) sizes = &part->attrs.edit<GatherAttrs>().slice_sizes;
  if (!sizes) return;
  // Only what was taken whole can have been split.
  for (size_t d = 0; d < sizes->size(); ++d)
    if (operand_types[0].shape[d] != whole_operands[0].shape[d] &&
        (*sizes)[d] == whole_operands[0].shape[d])
      (*sizes)[d] = operand_types[0].shape[d];
}

}  // namespace tuff
