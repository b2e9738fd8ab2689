// Choices along a dimension that is spread, as argmax and top_k make them: each device chooses from
// its part, then all choose from what each has chosen.
#include <algorithm>

#include "ir/rewrite.h"
#include "ir/spmd/partitioner.h"

namespace tuff::spmd {

namespace {

// Made of these two values by operations that give back a value that both are.
bool chooses_from(const Graph& region, Value v, Value a, Value b) {
  std::vector<Value> left{v};
  for (size_t looked_at = 0; !left.empty(); ++looked_at) {
    Value next = left.back();
    left.pop_back();
    if (next == a || next == b) continue;
    if (looked_at > region.nodes().size()) return false;
    const Node& node = region.node(next);
    const bool both = node.op == Op::kMaximum || node.op == Op::kMinimum || node.op == Op::kAnd ||
                      node.op == Op::kOr;
    if (!both && node.op != Op::kSelect) return false;
    left.insert(left.end(), node.operands.begin() + (both ? 0 : 1), node.operands.end());
  }
  return true;
}

// An initial value counts alike however often it is combined in.
bool chooses(const Graph& region) {
  const auto count = static_cast<uint32_t>(region.outputs().size());
  for (uint32_t r = 0; r < count; ++r)
    if (!chooses_from(region, region.outputs()[r], {r, 0}, {r + count, 0})) return false;
  return true;
}

// What the positions [rows, chosen] point at in values [rows, candidates].
Value pick(Graph& graph, Value values, Value positions, const std::string& loc) {
  const TensorType from = graph.type(values), chosen = graph.type(positions);
  auto flat = [&](Value v, Shape extra) {
    TensorType type = graph.type(v);
    const int64_t last = type.shape.back();
    type.shape = {type.num_elements() / last, last};
    type.shape.insert(type.shape.end(), extra.begin(), extra.end());
    return add_op(graph, Op::kReshape, {v}, std::move(type), {}, loc);
  };
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = attrs.start_index_map = {1};
  attrs.operand_batching_dims = attrs.start_indices_batching_dims = {0};
  attrs.index_vector_dim = 2;
  attrs.slice_sizes = {1, 1};
  const int64_t last = chosen.shape.back();
  TensorType picked{from.dtype, {chosen.num_elements() / last, last}};
  Value result = add_op(graph, Op::kGather, {flat(values, {}), flat(positions, {1})},
                        std::move(picked), std::move(attrs), loc);
  return add_op(graph, Op::kReshape, {result}, {from.dtype, chosen.shape}, {}, loc);
}

}  // namespace

Result<bool> Partitioner::place_merged(uint32_t id, const Share& share) {
  const Node& node = whole_.node(id);
  if (node.op == Op::kTopK) return place_top_k(id, share);
  if (node.op != Op::kReduce || !chooses(*node.regions[0])) return false;
  const size_t count = node.types.size();
  const Sharding& now = at(node.operands[0]).sharding;
  std::vector<Sharding> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) operands.push_back(share.operand(i));
  std::vector<int64_t> over;
  for (int64_t dimension : node.attrs.as<DimensionsAttrs>().dimensions) {
    const auto d = static_cast<size_t>(dimension);
    if (share.uses_any(now.axes[d])) continue;
    over.insert(over.end(), now.axes[d].begin(), now.axes[d].end());
    for (size_t i = 0; i < count; ++i) operands[i].axes[d] = now.axes[d];
  }
  if (over.empty()) return false;

  std::vector<Value> parts;
  for (size_t i = 0; i < operands.size(); ++i) {
    TUFF_ASSIGN(Value part, spread(node, node.operands[i], operands[i]));
    parts.push_back(part);
  }
  std::vector<Sharding> results;
  for (size_t r = 0; r < count; ++r) results.push_back(share.result(r));
  TUFF_ASSIGN(Value chosen, add_part(node, parts, results));
  Node merge = node;
  merge.attrs = DimensionsAttrs{{0}};
  for (uint32_t r = 0; r < count; ++r) {
    merge.types[r] = out_.type({chosen.node, r});
    TUFF_ASSIGN(merge.operands[r], gathered_along_new({chosen.node, r}, over, node.loc));
    merge.operands[count + r] = parts[count + r];
  }
  Value first = out_.add(std::move(merge));
  for (uint32_t r = 0; r < count; ++r)
    placed_[id].push_back({{first.node, r}, std::move(results[r])});
  return true;
}

// The parts' values along a new first dimension.
Result<Value> Partitioner::gathered_along_new(Value part, const std::vector<int64_t>& over,
                                              const std::string& loc) {
  TensorType type = out_.type(part);
  type.shape.insert(type.shape.begin(), 1);
  part = add_op(out_, Op::kReshape, {part}, type, {}, loc);
  Sharding from = Sharding::whole(type.rank());
  const Sharding to = from;
  from.axes[0] = over;
  type.shape[0] = mesh_.num_parts(over);
  return builder_.reshard(part, type, from, to, loc);
}

Result<bool> Partitioner::place_top_k(uint32_t id, const Share& share) {
  const Node& node = whole_.node(id);
  Sharding operand = share.operand(0);
  const size_t last = operand.axes.size() - 1;
  const std::vector<int64_t> over = at(node.operands[0]).sharding.axes[last];
  if (over.empty() || share.uses_any(over)) return false;
  const int64_t parts = mesh_.num_parts(over);
  const int64_t extent = whole_type(node.operands[0]).shape[last] / parts;
  const int64_t k = std::min(node.attrs.as<TopKAttrs>().k, extent);
  if (k < 1 || 2 * k > extent) return false;  // less is sent whole

  operand.axes[last] = over;
  TUFF_ASSIGN(Value part, spread(node, node.operands[0], operand));
  Node own = node;
  own.attrs = TopKAttrs{k};
  own.operands = {part};
  for (TensorType& type : own.types) {
    type.shape = out_.type(part).shape;
    type.shape[last] = k;
  }
  const TensorType indices = own.types[1];
  Value chosen = out_.add(std::move(own));
  Value start = builder_.part_start(over, extent, node.loc);
  start = add_op(out_, Op::kConvert, {start}, {indices.dtype, {}}, {}, node.loc);
  start = add_op(out_, Op::kBroadcastInDim, {start}, indices, BroadcastInDimAttrs{}, node.loc);
  Value places = add_op(out_, Op::kAdd, {{chosen.node, 1}, start}, indices, {}, node.loc);

  // Candidates in the order of the parts: of equal ones the first is chosen, as of the whole.
  Sharding spread_over = Sharding::whole(indices.rank());
  const Sharding whole = spread_over;
  spread_over.axes[last] = over;
  auto candidates = [&](Value v) {
    TensorType type = out_.type(v);
    type.shape[last] *= parts;
    return builder_.reshard(v, type, spread_over, whole, node.loc);
  };
  TUFF_ASSIGN(Value values, candidates({chosen.node, 0}));
  TUFF_ASSIGN(places, candidates(places));
  TUFF_ASSIGN(Value best, add_part(node, {values}, {share.result(0), share.result(1)}));
  placed_[id] = {{{best.node, 0}, share.result(0)},
                 {pick(out_, places, {best.node, 1}, node.loc), share.result(1)}};
  return true;
}

}  // namespace tuff::spmd
