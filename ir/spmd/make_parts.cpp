// A value spread as its user wants it: exchanged, or made so from parts of what it is made of.
#include "ir/rewrite.h"
#include "ir/spmd/indexed.h"
#include "ir/spmd/partitioner.h"

namespace tuff::spmd {

namespace {

// So deep values are made from parts of what they are made of.
constexpr int kMaxDepth = 128;

}  // namespace

bool Partitioner::moves(Op op) {
  switch (op) {
    case Op::kBroadcastInDim:
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kPad:
    case Op::kConcatenate:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice: return true;
    default: return false;
  }
}

Result<std::optional<Value>> Partitioner::scatter_into(const Node& node, const Sharding& wanted,
                                                       int depth) {
  std::optional<size_t> indexed = indexed_dimension(whole_, node);
  if (!indexed || wanted.axes[*indexed].empty()) return std::optional<Value>();
  const std::vector<int64_t>& over = wanted.axes[*indexed];
  Share share = share_of(node);
  Sharding result = share.result(0), onto = share.operand(0);
  result.axes[*indexed] = onto.axes[*indexed] = over;
  if (share.uses_any(over) || !refines(wanted, result)) return std::optional<Value>();
  std::vector<Value> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    TUFF_ASSIGN(Value part, at_node(node, spread(node.operands[i], i == 0 ? onto : share.operand(i),
                                                 depth + 1)));
    operands.push_back(part);
  }
  int64_t extent = node.types[0].shape[*indexed];
  operands[1] = indices_in_part(builder_, out_, operands[1], extent, false, over, node.loc);
  TUFF_ASSIGN(Value part, add_part(node, std::move(operands), {result}));
  part = combined(node, share, part);
  TUFF_ASSIGN(part, builder_.reshard(part, node.types[0], result, wanted, node.loc));
  return std::optional(part);
}

Result<Value> Partitioner::spread(const Node& user, Value v, const Sharding& wanted) {
  const Placed& placed = at(v);
  if (placed.sharding == wanted) return placed.part;
  return at_node(user, spread(v, wanted, 0));
}

Result<Value> Partitioner::spread(Value v, const Sharding& wanted, int depth) {
  if (at(v).sharding == wanted) return at(v).part;
  auto key = std::pair(v, wanted.to_ints());
  auto known = spread_.find(key);
  if (known != spread_.end()) return known->second;
  TUFF_ASSIGN(Value part, make_part(v, wanted, depth));
  spread_.emplace(std::move(key), part);
  return part;
}

Result<Value> Partitioner::make_part(Value v, const Sharding& wanted, int depth) {
  const Node& node = whole_.node(v);
  const Placed& placed = at(v);
  bool made = refines(wanted, placed.sharding) && depth < kMaxDepth;
  if (made && node.op == Op::kIota) {
    TUFF_ASSIGN(TensorType part, part_type(node.types[0], wanted, mesh_));
    int64_t dimension = node.attrs.as<IotaAttrs>().iota_dimension;
    return builder_.iota(part, dimension, wanted.axes[static_cast<size_t>(dimension)], node.loc);
  }
  const Literal* constant = node.op == Op::kConstant ? constant_value(whole_, v) : nullptr;
  if (made && constant && constant->is_splat()) {
    TUFF_ASSIGN(TensorType part, part_type(node.types[0], wanted, mesh_));
    Value scalar = add_constant(out_, scalar_of(*constant), node.loc);
    return add_op(out_, Op::kBroadcastInDim, {scalar}, part, BroadcastInDimAttrs{}, node.loc);
  }
  if (made && is_made_from_parts(node, wanted)) return make_from_parts(node, wanted, depth);
  if (made && node.op == Op::kScatter) {
    TUFF_ASSIGN(std::optional<Value> part, scatter_into(node, wanted, depth));
    if (part) return *part;
  }
  if (depth < kMaxDepth && has_cheaper_source(node, wanted))
    return make_from_parts(node, wanted, depth);
  return builder_.reshard(placed.part, node.types[v.result], placed.sharding, wanted, node.loc);
}

bool Partitioner::refines(const Sharding& wanted, const Sharding& now) {
  for (size_t d = 0; d < now.axes.size(); ++d)
    if (!std::equal(now.axes[d].begin(), now.axes[d].end(), wanted.axes[d].begin(),
                    wanted.axes[d].begin() +
                        static_cast<int64_t>(std::min(now.axes[d].size(), wanted.axes[d].size()))))
      return false;
  return true;
}

bool Partitioner::has_cheaper_source(const Node& node, const Sharding& wanted) const {
  if (node.op == Op::kBroadcastInDim) return true;
  if (!is_made_from_parts(node, wanted)) return false;
  Sharding source = operand_shardings(node, wanted)[0];
  return spread_.contains({node.operands[0], source.to_ints()});
}

bool Partitioner::is_made_from_parts(const Node& node, const Sharding& wanted) const {
  if (is_elementwise(node.op) || node.op == Op::kBroadcastInDim) return true;
  if (!moves(node.op)) return false;
  ShardingRule rule = sharding_rule(whole_, node);
  for (size_t r = 0; r < wanted.axes.size(); ++r) {
    if (wanted.axes[r].empty()) continue;
    int64_t factor = rule.results[0][r], parts = mesh_.num_parts(wanted.axes[r]);
    if (factor == ShardingRule::kWhole) return false;
    for (size_t i = 0; i < rule.operands.size(); ++i)
      for (size_t d = 0; d < rule.operands[i].size(); ++d)
        if (rule.operands[i][d] == factor && whole_type(node.operands[i]).shape[d] % parts != 0)
          return false;
  }
  return true;
}

std::vector<Sharding> Partitioner::operand_shardings(const Node& node,
                                                     const Sharding& wanted) const {
  ShardingRule rule = sharding_rule(whole_, node);
  FactorAxes axes(rule.combine.size());
  for (size_t d = 0; d < wanted.axes.size(); ++d)
    if (rule.results[0][d] != ShardingRule::kWhole)
      axes[static_cast<size_t>(rule.results[0][d])] = wanted.axes[d];
  std::vector<Sharding> shardings;
  for (const std::vector<int64_t>& factors : rule.operands)
    shardings.push_back(sharding_by(factors, axes));
  return shardings;
}

Result<Value> Partitioner::make_from_parts(const Node& node, const Sharding& wanted, int depth) {
  std::vector<Sharding> shardings = operand_shardings(node, wanted);
  std::vector<Value> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    TUFF_ASSIGN(Value part, spread(node.operands[i], shardings[i], depth + 1));
    operands.push_back(part);
  }
  return add_part(node, std::move(operands), {wanted});
}

}  // namespace tuff::spmd
