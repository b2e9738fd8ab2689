// Programs of one device along some axes of the mesh, or all: JAX's shard_map.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/spmd/partitioner.h"

namespace tuff::spmd {

namespace {

bool holds(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int64_t> together(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  for (int64_t axis : b)
    if (!holds(a, axis)) a.push_back(axis);
  std::sort(a.begin(), a.end());
  return a;
}

std::vector<int64_t> without(const std::vector<int64_t>& axes, const std::vector<int64_t>& gone) {
  std::vector<int64_t> left;
  for (int64_t axis : axes)
    if (!holds(gone, axis)) left.push_back(axis);
  return left;
}

// As marked, and along the axes that are left to be partitioned as now, where that divides.
Sharding with_rest(Sharding marked, const Sharding& now, const std::vector<int64_t>& manual,
                   const Shape& shape, const Mesh& mesh) {
  std::vector<int64_t> used = manual;
  for (const std::vector<int64_t>& axes : marked.axes) used = together(std::move(used), axes);
  for (size_t d = 0; d < marked.axes.size(); ++d) {
    std::vector<int64_t> axes = marked.axes[d];
    for (int64_t axis : without(now.axes[d], used)) axes.push_back(axis);
    if (shape[d] % mesh.num_parts(axes) == 0) marked.axes[d] = std::move(axes);
  }
  return marked;
}

// Dimensions whose sizes tell devices apart are whole along the axes that they do not exchange
// over.
Sharding sharding_of_exchange(const Node& exchange, Sharding sharding) {
  const auto& attrs = exchange.attrs.as<CustomCallAttrs>();
  auto clear = [&](int64_t dimension) {
    if (dimension >= 0) sharding.axes[static_cast<size_t>(dimension)].clear();
  };
  SpmdOp op = *spmd_op(exchange);
  if (op == SpmdOp::kAllGather) clear(attrs.all_gather_dim);
  if (op == SpmdOp::kReduceScatter) clear(attrs.scatter_dimension);
  if (op == SpmdOp::kAllToAll) {
    clear(attrs.split_dimension);
    clear(attrs.concat_dimension);
  }
  return sharding;
}

}  // namespace

std::vector<int64_t> Partitioner::manual_of(const Node& node) const {
  std::vector<int64_t> manual;
  for (Value v : node.operands) manual = together(std::move(manual), at(v).manual);
  return manual;
}

Status Partitioner::enter_device(uint32_t id) {
  const Node& node = whole_.node(id);
  const Placed& operand = at(node.operands[0]);
  const std::vector<int64_t> manual =
      together(node.attrs.as<CustomCallAttrs>().manual_axes, operand.manual);
  TUFF_ASSIGN(Sharding wanted, sharding_attribute(node));
  wanted = with_rest(std::move(wanted), operand.sharding, manual,
                     whole_type(node.operands[0]).shape, mesh_);
  TUFF_ASSIGN(Value part, spread(node, node.operands[0], wanted));
  for (std::vector<int64_t>& axes : wanted.axes) axes = without(axes, manual);
  TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], wanted, mesh_)));
  TUFF_RETURN_IF_ERROR(check_type(node, out_.type(part), type));
  placed_[id] = {{part, std::move(wanted), manual}};
  return {};
}

Status Partitioner::leave_device(uint32_t id) {
  const Node& node = whole_.node(id);
  const std::vector<int64_t>& manual = node.attrs.as<CustomCallAttrs>().manual_axes;
  TUFF_ASSIGN(Sharding sharding, sharding_attribute(node));
  const Placed& own = at(node.operands[0]);
  Sharding rest = own.sharding;
  for (std::vector<int64_t>& axes : rest.axes) axes = without(axes, manual);
  TUFF_ASSIGN(Value part, spread(node, node.operands[0], rest));
  for (size_t d = 0; d < rest.axes.size(); ++d) {
    std::erase_if(sharding.axes[d], [&](int64_t axis) { return !holds(manual, axis); });
    for (int64_t axis : rest.axes[d]) sharding.axes[d].push_back(axis);
  }
  TUFF_ASSIGN(TensorType type, at_node(node, part_type(node.types[0], sharding, mesh_)));
  TUFF_RETURN_IF_ERROR(check_type(node, out_.type(part), type));
  placed_[id] = {{part, std::move(sharding), without(own.manual, manual)}};
  return {};
}

std::vector<int64_t> Partitioner::all_axes() const {
  std::vector<int64_t> all(mesh_.axes.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

Status Partitioner::place_partition_id(uint32_t id) {
  placed_[id] = {{builder_.partition_id(whole_.node(id).loc), Sharding::whole(0), all_axes()}};
  return {};
}

Status Partitioner::place_manual(uint32_t id, const std::vector<int64_t>& manual) {
  const Node& node = whole_.node(id);
  const std::vector<int64_t> of_one_device = manual.empty() ? all_axes() : manual;
  for (Value v : node.operands)
    for (const std::vector<int64_t>& axes : at(v).sharding.axes)
      if (without(axes, of_one_device) != axes)
        return error(node,
                     "A value that is spread over the devices is used as if each had its own.");
  bool as_it_is = manual.empty() || is_all(manual) || is_control_flow(node.op);
  if (as_it_is)
    TUFF_RETURN_IF_ERROR(place_own(id));
  else if (spmd_op(node))
    TUFF_RETURN_IF_ERROR(place_exchange(id));
  else
    TUFF_RETURN_IF_ERROR(place_by_rule(id));
  for (Placed& placed : placed_[id]) placed.manual = manual;
  return {};
}

Status Partitioner::check_type(const Node& node, const TensorType& found,
                               const TensorType& wanted) const {
  if (found == wanted) return {};
  return error(node, fmt::format("A part has the type ({}), not ({}).", found.to_string(),
                                 wanted.to_string()));
}

Status Partitioner::place_own(uint32_t id) {
  Node node = whole_.node(id);
  for (Value& v : node.operands) {
    TUFF_ASSIGN(v, spread(whole_.node(id), v, Sharding::whole(whole_type(v).rank())));
  }
  std::vector<TensorType> types = node.types;
  Value first = out_.add(std::move(node));
  for (uint32_t r = 0; r < types.size(); ++r)
    placed_[id].push_back({{first.node, r}, Sharding::whole(types[r].rank())});
  return {};
}

Status Partitioner::place_exchange(uint32_t id) {
  const Node& node = whole_.node(id);
  Sharding sharding = sharding_of_exchange(node, at(node.operands[0]).sharding);
  Node part = node;
  TUFF_ASSIGN(part.operands[0], spread(node, node.operands[0], sharding));
  TUFF_ASSIGN(part.types[0], at_node(node, part_type(node.types[0], sharding, mesh_)));
  placed_[id] = {{out_.add(std::move(part)), std::move(sharding)}};
  return {};
}

}  // namespace tuff::spmd
