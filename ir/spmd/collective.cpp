#include "ir/spmd/collective.h"

#include <fmt/format.h>

#include <utility>

namespace tuff {

namespace {

constexpr std::pair<SpmdOp, const char*> kNames[] = {
    {SpmdOp::kAllReduce, "all_reduce"},
    {SpmdOp::kAllGather, "all_gather"},
    {SpmdOp::kReduceScatter, "reduce_scatter"},
    {SpmdOp::kAllToAll, "all_to_all"},
    {SpmdOp::kCollectivePermute, "collective_permute"},
    {SpmdOp::kPartitionId, "partition_id"},
    {SpmdOp::kShardingConstraint, "sharding_constraint"},
    {SpmdOp::kFullToShard, "full_to_shard"},
    {SpmdOp::kShardToFull, "shard_to_full"},
    {SpmdOp::kShares, "shares"},
};

// Before the name in a custom_call's target.
constexpr std::string_view kPrefix = "tuff.spmd.";

template <typename... Args>
Error invalid(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorCode::kBadInput, fmt::format(text, std::forward<Args>(args)...), ""};
}

Result<int64_t> group_size(const CustomCallAttrs& attrs) {
  int64_t size = attrs.group_size;
  auto listed = static_cast<int64_t>(attrs.replica_groups.size());
  if (size < 1 || listed == 0 || listed % size != 0)
    return invalid("The ({}) ids of the replica groups are no groups of ({}).", listed, size);
  return size;
}

Status check_reduction(const Node& node, const TensorType& operand) {
  TensorType scalar{operand.dtype, {}};
  if (node.regions.size() != 1) return invalid("The operation needs one region.");
  const Graph& region = *node.regions[0];
  bool fits = region.num_parameters() == 2 && region.outputs().size() == 1 &&
              region.node(0).types[0] == scalar && region.node(1).types[0] == scalar &&
              region.type(region.outputs()[0]) == scalar;
  if (!fits) return invalid("The region does not combine two scalars of ({}).", scalar.to_string());
  return {};
}

Result<size_t> dimension(const char* name, int64_t d, const TensorType& operand) {
  if (d < 0 || d >= operand.rank())
    return invalid("Attribute {} ({}) is no dimension of ({}).", name, d, operand.to_string());
  return static_cast<size_t>(d);
}

Status divide(TensorType* type, size_t d, int64_t parts) {
  if (type->shape[d] % parts != 0)
    return invalid("Dimension ({}) of ({}) cannot be split into ({}) parts.", d, type->to_string(),
                   parts);
  type->shape[d] /= parts;
  return {};
}

Status multiply(TensorType* type, size_t d, int64_t parts) {
  if (type->shape[d] > (int64_t{1} << 40) / parts)
    return invalid("Dimension ({}) of ({}) becomes too large.", d, type->to_string());
  type->shape[d] *= parts;
  TUFF_ASSIGN([[maybe_unused]] int64_t count, checked_num_elements(type->shape));
  return {};
}

Status check_pairs(const std::vector<int64_t>& pairs) {
  if (pairs.size() % 2 != 0) return invalid("A source has no target.");
  for (size_t i = 1; i < pairs.size(); i += 2)
    for (size_t k = 1; k < i; k += 2)
      if (pairs[i] == pairs[k]) return invalid("The target ({}) is named twice.", pairs[i]);
  return {};
}

}  // namespace

const char* spmd_op_name(SpmdOp op) {
  for (auto [known, name] : kNames)
    if (known == op) return name;
  return "";
}

std::optional<SpmdOp> find_spmd_op(std::string_view name) {
  for (auto [op, known] : kNames)
    if (name == known) return op;
  return std::nullopt;
}

std::optional<SpmdOp> spmd_op(const Node& node) {
  if (node.op != Op::kCustomCall) return std::nullopt;
  const std::string& target = node.attrs.as<CustomCallAttrs>().call_target_name;
  if (!target.starts_with(kPrefix)) return std::nullopt;
  return find_spmd_op(std::string_view(target).substr(kPrefix.size()));
}

bool is_exchange(const Node& node) {
  std::optional<SpmdOp> op = spmd_op(node);
  return op && *op < SpmdOp::kPartitionId;
}

Node make_spmd_node(SpmdOp op, CustomCallAttrs attrs, std::string loc) {
  attrs.call_target_name = std::string(kPrefix) + spmd_op_name(op);
  Node node;
  node.op = Op::kCustomCall;
  node.attrs = std::move(attrs);
  node.loc = std::move(loc);
  return node;
}

Value add_spmd_op(Graph& graph, SpmdOp op, Value value, TensorType type, CustomCallAttrs attrs,
                  const std::string& loc) {
  Node node = make_spmd_node(op, std::move(attrs), loc);
  node.operands = {value};
  node.types = {std::move(type)};
  return graph.add(std::move(node));
}

Value add_all_reduce(Graph& graph, Value value, Op combine, std::vector<int64_t> replica_groups,
                     int64_t group_size, const std::string& loc) {
  const TensorType type = graph.type(value), element{type.dtype, {}};
  Graph region;
  Value a = region.add_parameter(element), b = region.add_parameter(element);
  region.set_outputs({add_op(region, combine, {a, b}, element)});
  CustomCallAttrs attrs{.replica_groups = std::move(replica_groups), .group_size = group_size};
  Node node = make_spmd_node(SpmdOp::kAllReduce, std::move(attrs), loc);
  node.operands = {value};
  node.types = {type};
  node.regions = {std::make_shared<const Graph>(std::move(region))};
  return graph.add(std::move(node));
}

int64_t sent_bytes(const Node& exchange, const TensorType& operand) {
  int64_t bytes = operand.size_bytes();
  int64_t size = exchange.attrs.as<CustomCallAttrs>().group_size;
  switch (*spmd_op(exchange)) {
    case SpmdOp::kCollectivePermute: return bytes;
    case SpmdOp::kAllGather: return bytes * (size - 1);
    case SpmdOp::kAllReduce: return 2 * (bytes * (size - 1) / size);
    default: return bytes * (size - 1) / size;
  }
}

std::string node_name(const Node& node) {
  std::optional<SpmdOp> op = spmd_op(node);
  return op ? spmd_op_name(*op) : op_name(node.op);
}

Result<TensorType> spmd_type(const Node& node, const std::vector<TensorType>& operands) {
  std::optional<SpmdOp> op = spmd_op(node);
  if (!op || node.types.size() != 1) return invalid("The operation has one result.");
  if (*op == SpmdOp::kPartitionId) return TensorType{DType::kU32, {}};
  if (operands.size() != 1) return invalid("The operation has one operand.");
  TensorType type = operands[0];
  if (*op == SpmdOp::kCollectivePermute) {
    TUFF_RETURN_IF_ERROR(check_pairs(node.attrs.as<CustomCallAttrs>().source_target_pairs));
    return type;
  }
  if (!is_exchange(node)) return node.types[0];
  const auto& attrs = node.attrs.as<CustomCallAttrs>();
  TUFF_ASSIGN(int64_t size, group_size(attrs));
  if (*op == SpmdOp::kAllReduce || *op == SpmdOp::kReduceScatter)
    TUFF_RETURN_IF_ERROR(check_reduction(node, type));
  if (*op == SpmdOp::kAllGather) {
    TUFF_ASSIGN(size_t d, dimension("all_gather_dim", attrs.all_gather_dim, type));
    TUFF_RETURN_IF_ERROR(multiply(&type, d, size));
  } else if (*op == SpmdOp::kReduceScatter) {
    TUFF_ASSIGN(size_t d, dimension("scatter_dimension", attrs.scatter_dimension, type));
    TUFF_RETURN_IF_ERROR(divide(&type, d, size));
  } else if (*op == SpmdOp::kAllToAll) {
    TUFF_ASSIGN(size_t from, dimension("split_dimension", attrs.split_dimension, type));
    TUFF_ASSIGN(size_t to, dimension("concat_dimension", attrs.concat_dimension, type));
    TUFF_RETURN_IF_ERROR(divide(&type, from, size));
    TUFF_RETURN_IF_ERROR(multiply(&type, to, size));
  }
  return type;
}

}  // namespace tuff
