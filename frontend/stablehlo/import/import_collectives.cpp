// Collectives. In a program for one device each group is the device itself; in one for
// several they become nodes, whose groups are of partition ids.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"
#include "ir/spmd/collective.h"

namespace tuff::stablehlo {

namespace {

constexpr const char* kManyProcesses =
    "The operation exchanges data between several processes; tuff runs one. Lower the model for "
    "one device.";

// Groups of one process each; replica_groups has one row a group, -1 fills rows.
bool single_groups(OpContext& context) {
  const Attribute* groups = context.attribute("replica_groups");
  std::vector<int64_t> ints;
  if (!groups || !attribute_ints(*groups, &ints)) return false;
  auto* dense = std::get_if<std::shared_ptr<const DenseElements>>(&groups->value);
  if (!dense) return false;
  const Shape& shape = (*dense)->type.shape;
  if (ints.empty())
    return context.importer.module().num_replicas == 1 &&
           context.importer.module().num_partitions == 1;
  return shape.size() == 2 && shape[1] == 1;
}

// Nothing but the groups of one that a program for one device may have.
OpResult import_alone(OpContext& context) {
  if (!single_groups(context) || context.operands.size() != context.types.size())
    return context.unsupported(kManyProcesses);
  return context.operands;
}

// A channel connects the partitions; without one the replicas, of which there is one.
bool connects_partitions(const OpContext& context) {
  if (!context.importer.spread()) return false;
  int64_t channel = context.int_attribute("channel_id");
  const Attribute* handle = context.attribute("channel_handle");
  auto* dict = handle ? std::get_if<DictAttr>(&handle->value) : nullptr;
  const Attribute* number = dict ? find_attribute(dict->entries, "handle") : nullptr;
  std::vector<int64_t> ints;
  if (number && attribute_ints(*number, &ints) && ints.size() == 1) channel = ints[0];
  return channel > 0;
}

// use_global_device_ids: the groups are of partitions. Else they are of replicas, and
// each is all the partitions of those.
Result<CustomCallAttrs> import_groups(OpContext& context, bool always_partitions) {
  const Attribute* global = context.attribute("use_global_device_ids");
  auto* flag = global ? std::get_if<bool>(&global->value) : nullptr;
  bool of_partitions = always_partitions || (global && (!flag || *flag));
  const Attribute* groups = context.attribute("replica_groups");
  auto* dense =
      groups ? std::get_if<std::shared_ptr<const DenseElements>>(&groups->value) : nullptr;
  std::vector<int64_t> ids;
  if (!dense || !attribute_ints(*groups, &ids) || (*dense)->type.shape.size() != 2)
    return context.unsupported("The replica groups are not a list of lists of device ids.");
  int64_t size = (*dense)->type.shape[1];
  if (!of_partitions) {
    size = context.importer.spread()->meshes.mesh.num_devices();
    ids.clear();
    for (int64_t id = 0; id < size; ++id) ids.push_back(id);
  }
  return CustomCallAttrs{.replica_groups = std::move(ids), .group_size = size};
}

// The node on operand `i`, with the type that follows.
Result<Value> add_exchange(OpContext& context, Node node, size_t i) {
  node.operands = {context.operands[i]};
  node.types = {context.types[i]};
  auto type = spmd_type(node, {context.type(context.operands[i])});
  if (!type.ok()) return context.error(type.error().code, type.error().message);
  node.types = {std::move(*type)};
  return context.graph().add(std::move(node));
}

// Of complex numbers, whose parts follow each other, each part is combined by itself.
Result<Node> of_operand(const OpContext& context, Node node, size_t i) {
  for (GraphPtr& body : node.regions) {
    if (body->num_parameters() != 4) continue;
    std::optional<GraphPtr> own = body_of_part(*body, static_cast<uint32_t>(i % 2));
    if (!own)
      return context.unsupported(
          "Complex numbers of several devices are summed up; nothing else combines them.");
    body = *own;
  }
  return node;
}

// One node for each operand.
OpResult import_collective(OpContext& context) {
  if (!connects_partitions(context)) return import_alone(context);
  std::string_view name = context.short_name();
  TUFF_ASSIGN(CustomCallAttrs attrs, import_groups(context, name == "all_to_all"));
  attrs.all_gather_dim = context.int_attribute("all_gather_dim", -1);
  attrs.scatter_dimension = context.int_attribute("scatter_dimension", -1);
  attrs.split_dimension = context.int_attribute("split_dimension", -1);
  attrs.concat_dimension = context.int_attribute("concat_dimension", -1);
  Node node = make_spmd_node(*find_spmd_op(name), std::move(attrs), context.loc);
  for (const Region& region : context.op.regions) {
    TUFF_ASSIGN(GraphPtr graph, context.importer.import_region(context, region, {}, false));
    node.regions.push_back(std::move(graph));
  }
  TUFF_RETURN_IF_ERROR(context.expect_results(context.operands.size()));
  Values results;
  for (size_t i = 0; i < context.operands.size(); ++i) {
    TUFF_ASSIGN(Node own, of_operand(context, node, i));
    TUFF_ASSIGN(Value added, add_exchange(context, std::move(own), i));
    results.push_back(added);
  }
  return results;
}

// A permutation of one process is the identity iff it sends to itself; a process
// that nobody sends to receives zeros.
OpResult import_permute(OpContext& context) {
  TUFF_ASSIGN(std::vector<int64_t> pairs, context.ints_attribute("source_target_pairs"));
  if (connects_partitions(context)) {
    Node node = make_spmd_node(SpmdOp::kCollectivePermute,
                               {.source_target_pairs = std::move(pairs)}, context.loc);
    TUFF_RETURN_IF_ERROR(context.expect_operands(1));
    TUFF_RETURN_IF_ERROR(context.expect_results(1));
    TUFF_ASSIGN(Value permuted, add_exchange(context, std::move(node), 0));
    return Values{permuted};
  }
  if (pairs != std::vector<int64_t>{0, 0} || context.operands.size() != context.types.size())
    return context.unsupported(kManyProcesses);
  return context.operands;
}

OpResult import_process_id(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  const Module& module = context.importer.module();
  bool replica = context.op.name == "stablehlo.replica_id";
  if (!replica && context.importer.spread()) {
    Node node = make_spmd_node(SpmdOp::kPartitionId, {}, context.loc);
    node.types = {{DType::kU32, {}}};
    return Values{context.graph().add(std::move(node))};
  }
  if ((replica ? module.num_replicas : module.num_partitions) != 1)
    return context.unsupported(kManyProcesses);
  return Values{add_constant(context.graph(), Literal(context.types[0]), context.loc)};
}

OpResult refuse(OpContext& context) { return context.unsupported(kManyProcesses); }

}  // namespace

Handler find_collective_handler(std::string_view name) {
  struct Row {
    std::string_view name;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {"stablehlo.all_reduce", import_collective},
      {"stablehlo.all_gather", import_collective},
      {"stablehlo.all_to_all", import_collective},
      {"stablehlo.reduce_scatter", import_collective},
      {"stablehlo.collective_broadcast", import_alone},
      {"stablehlo.cross-replica-sum", import_alone},
      {"stablehlo.collective_permute", import_permute},
      {"stablehlo.replica_id", import_process_id},
      {"stablehlo.partition_id", import_process_id},
      {"stablehlo.send", refuse},
      {"stablehlo.recv", refuse},
  };
  for (const Row& row : kRows)
    if (row.name == name) return row.handler;
  return nullptr;
}

}  // namespace tuff::stablehlo
