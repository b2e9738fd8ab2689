// Shares of sums: what programs and bodies of one device take and give where a sum is left to be
// made.
#include <algorithm>

#include "ir/rewrite.h"
#include "ir/spmd/partitioner.h"

namespace tuff::spmd {

namespace {

std::vector<std::vector<int64_t>> sorted_groups(const std::vector<int64_t>& devices, int64_t size) {
  std::vector<std::vector<int64_t>> groups;
  for (auto at = devices.begin(); at != devices.end(); at += size) {
    groups.emplace_back(at, at + size);
    std::sort(groups.back().begin(), groups.back().end());
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

// Of a sum over these devices; nothing of other values.
std::optional<Value> summed(const Graph& part, Value v, const std::vector<int64_t>& devices,
                            int64_t size) {
  const Node& node = part.node(v);
  if (spmd_op(node) != SpmdOp::kAllReduce || reduction_op(*node.regions[0]) != Op::kAdd)
    return std::nullopt;
  const auto& attrs = node.attrs.as<CustomCallAttrs>();
  if (attrs.group_size != size ||
      sorted_groups(attrs.replica_groups, size) != sorted_groups(devices, size))
    return std::nullopt;
  return node.operands[0];
}

Value zeros(Graph& graph, const TensorType& type, const std::string& loc) {
  Value zero = add_constant(graph, Literal(TensorType{type.dtype, {}}), loc);
  return add_op(graph, Op::kBroadcastInDim, {zero}, type, BroadcastInDimAttrs{}, loc);
}

}  // namespace

Status Partitioner::place_shares(uint32_t id) {
  const Node& node = whole_.node(id);
  const std::vector<int64_t>& over = node.attrs.as<CustomCallAttrs>().manual_axes;
  const Placed& sum = at(node.operands[0]);
  Sharding sharding = sum.sharding;
  std::optional<size_t> in_parts;  // along a dimension
  for (size_t d = 0; d < sharding.axes.size(); ++d) {
    std::vector<int64_t>& axes = sharding.axes[d];
    if (axes == over) in_parts = d;
    std::erase_if(axes, [&](int64_t axis) {
      return std::find(over.begin(), over.end(), axis) != over.end();
    });
  }
  TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], sharding, mesh_)));
  Value share;
  if (in_parts) {
    std::vector<Value> operands{zeros(out_, type, node.loc), sum.part};
    for (size_t d = 0; d < type.shape.size(); ++d)
      operands.push_back(builder_.part_start(d == in_parts ? over : std::vector<int64_t>(),
                                             out_.type(sum.part).shape[d], node.loc));
    share = add_op(out_, Op::kDynamicUpdateSlice, std::move(operands), type, {}, node.loc);
  } else {
    TUFF_ASSIGN(share, spread(node, node.operands[0], sharding));
    if (auto shares = summed(out_, share, mesh_.groups(over), mesh_.num_parts(over)))
      share = *shares;
    else
      share = add_op(
          out_, Op::kSelect,
          {builder_.has_part(0, over, type.shape, node.loc), share, zeros(out_, type, node.loc)},
          type, {}, node.loc);
  }
  placed_[id] = {{share, std::move(sharding), sum.manual}};
  return {};
}

}  // namespace tuff::spmd
