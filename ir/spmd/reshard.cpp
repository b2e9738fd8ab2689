#include "ir/spmd/reshard.h"

#include <algorithm>

#include "ir/spmd/collective.h"

namespace tuff::spmd {

namespace {

const TensorType kIndex{DType::kI32, {}};

std::vector<int64_t> after(const std::vector<int64_t>& list, size_t count) {
  return {list.begin() + static_cast<int64_t>(count), list.end()};
}

CustomCallAttrs groups(const Mesh& mesh, const std::vector<int64_t>& over) {
  return {.replica_groups = mesh.groups(over), .group_size = mesh.num_parts(over)};
}

}  // namespace

std::optional<size_t> moved_to(const Sharding& now, const Sharding& wanted, size_t dimension) {
  const std::vector<int64_t>& axes = now.axes[dimension];
  if (axes.empty() || !wanted.axes[dimension].empty()) return std::nullopt;
  for (size_t d = 0; d < wanted.axes.size(); ++d)
    if (now.axes[d].empty() && wanted.axes[d] == axes) return d;
  return std::nullopt;
}

Value PartBuilder::scalar(int64_t value, const std::string& loc) {
  return add_constant(graph_, Literal::from_ints(DType::kI32, {}, {value}), loc);
}

Value PartBuilder::partition_id(const std::string& loc) {
  if (!partition_id_) {
    Node node = make_spmd_node(SpmdOp::kPartitionId, {}, loc);
    node.types = {{DType::kU32, {}}};
    partition_id_ = graph_.add(std::move(node));
  }
  return *partition_id_;
}

Value PartBuilder::part_start(const std::vector<int64_t>& over, int64_t size,
                              const std::string& loc) {
  Value id = add_op(graph_, Op::kConvert, {partition_id(loc)}, kIndex, {}, loc);
  Value part = scalar(0, loc);
  for (int64_t axis : over) {
    Value extent = scalar(mesh_.axes[static_cast<size_t>(axis)].size, loc);
    Value index =
        add_op(graph_, Op::kDivide, {id, scalar(mesh_.stride(axis), loc)}, kIndex, {}, loc);
    index = add_op(graph_, Op::kRemainder, {index, extent}, kIndex, {}, loc);
    part = add_op(graph_, Op::kMultiply, {part, extent}, kIndex, {}, loc);
    part = add_op(graph_, Op::kAdd, {part, index}, kIndex, {}, loc);
  }
  return add_op(graph_, Op::kMultiply, {part, scalar(size, loc)}, kIndex, {}, loc);
}

Value PartBuilder::has_part(int64_t number, const std::vector<int64_t>& over, const Shape& shape,
                            const std::string& loc) {
  Value is = add_op(graph_, Op::kCompare, {part_start(over, 1, loc), scalar(number, loc)},
                    {DType::kBool, {}}, CompareAttrs{ComparisonDirection::kEq}, loc);
  return add_op(graph_, Op::kBroadcastInDim, {is}, {DType::kBool, shape}, BroadcastInDimAttrs{},
                loc);
}

Value PartBuilder::all_gather(Value value, size_t dimension, const std::vector<int64_t>& over,
                              const std::string& loc) {
  TensorType type = graph_.type(value);
  type.shape[dimension] *= mesh_.num_parts(over);
  CustomCallAttrs attrs = groups(mesh_, over);
  attrs.all_gather_dim = static_cast<int64_t>(dimension);
  return add_spmd_op(graph_, SpmdOp::kAllGather, value, std::move(type), std::move(attrs), loc);
}

Value PartBuilder::all_to_all(Value value, size_t from, size_t to, const std::vector<int64_t>& over,
                              const std::string& loc) {
  TensorType type = graph_.type(value);
  type.shape[from] *= mesh_.num_parts(over);
  type.shape[to] /= mesh_.num_parts(over);
  CustomCallAttrs attrs = groups(mesh_, over);
  attrs.concat_dimension = static_cast<int64_t>(from);
  attrs.split_dimension = static_cast<int64_t>(to);
  return add_spmd_op(graph_, SpmdOp::kAllToAll, value, std::move(type), std::move(attrs), loc);
}

Value PartBuilder::cut(Value value, size_t dimension, const std::vector<int64_t>& over,
                       const std::string& loc) {
  TensorType type = graph_.type(value);
  type.shape[dimension] /= mesh_.num_parts(over);
  std::vector<Value> operands{value};
  for (size_t d = 0; d < type.shape.size(); ++d)
    operands.push_back(d == dimension ? part_start(over, type.shape[d], loc) : scalar(0, loc));
  DynamicSliceAttrs attrs{type.shape};
  Value part = add_op(graph_, Op::kDynamicSlice, std::move(operands), std::move(type),
                      std::move(attrs), loc);
  added_.cuts[part.node] = {static_cast<int64_t>(dimension), over};
  return part;
}

Value PartBuilder::all_reduce(Value value, Op combine, const std::vector<int64_t>& over,
                              const std::string& loc) {
  Value reduced =
      add_all_reduce(graph_, value, combine, mesh_.groups(over), mesh_.num_parts(over), loc);
  added_.all_reduces[reduced.node] = over;
  return reduced;
}

Value PartBuilder::shifted(Value value, int64_t by, const std::vector<int64_t>& over,
                           const std::string& loc) {
  const std::vector<int64_t> devices = mesh_.groups(over);
  const int64_t parts = mesh_.num_parts(over);
  CustomCallAttrs attrs;
  for (int64_t i = 0; i < static_cast<int64_t>(devices.size()); ++i) {
    int64_t target = i % parts + by;
    if (target < 0 || target >= parts) continue;
    attrs.source_target_pairs.push_back(devices[static_cast<size_t>(i)]);
    attrs.source_target_pairs.push_back(devices[static_cast<size_t>(i + by)]);
  }
  return add_spmd_op(graph_, SpmdOp::kCollectivePermute, value, graph_.type(value),
                     std::move(attrs), loc);
}

Value PartBuilder::iota(const TensorType& part, int64_t dimension, const std::vector<int64_t>& over,
                        const std::string& loc) {
  Value counted = add_op(graph_, Op::kIota, {}, part, IotaAttrs{dimension}, loc);
  if (over.empty()) return counted;
  Value start = part_start(over, part.shape[static_cast<size_t>(dimension)], loc);
  start = add_op(graph_, Op::kConvert, {start}, {part.dtype, {}}, {}, loc);
  start = add_op(graph_, Op::kBroadcastInDim, {start}, part, BroadcastInDimAttrs{}, loc);
  return add_op(graph_, Op::kAdd, {counted, start}, part, {}, loc);
}

Result<Value> PartBuilder::reshard(Value value, const TensorType& whole, Sharding from,
                                   const Sharding& to, const std::string& loc) {
  TUFF_ASSIGN([[maybe_unused]] TensorType part, part_type(whole, to, mesh_));
  for (size_t d = 0; d < from.axes.size(); ++d) {
    std::optional<size_t> other = moved_to(from, to, d);
    if (!other) continue;
    value = all_to_all(value, d, *other, from.axes[d], loc);
    std::swap(from.axes[d], from.axes[*other]);
  }
  std::vector<size_t> shared(from.axes.size());
  for (size_t d = 0; d < from.axes.size(); ++d) {
    auto [mine, theirs] = std::mismatch(from.axes[d].begin(), from.axes[d].end(),
                                        to.axes[d].begin(), to.axes[d].end());
    shared[d] = static_cast<size_t>(mine - from.axes[d].begin());
    std::vector<int64_t> lacking = after(from.axes[d], shared[d]);
    if (!lacking.empty()) value = all_gather(value, d, lacking, loc);
  }
  for (size_t d = 0; d < from.axes.size(); ++d) {
    std::vector<int64_t> more = after(to.axes[d], shared[d]);
    if (!more.empty()) value = cut(value, d, more, loc);
  }
  return value;
}

}  // namespace tuff::spmd
