// Collectives of one process: each group is the process itself.
#include <fmt/format.h>

#include "frontend/stablehlo/import.h"

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

OpResult import_collective(OpContext& context) {
  if (!single_groups(context) || context.operands.size() != context.types.size())
    return context.unsupported(kManyProcesses);
  return context.operands;
}

// A permutation of one process is the identity iff it sends to itself; a process
// that nobody sends to receives zeros.
OpResult import_permute(OpContext& context) {
  TUFF_ASSIGN(std::vector<int64_t> pairs, context.ints_attribute("source_target_pairs"));
  if (pairs != std::vector<int64_t>{0, 0} || context.operands.size() != context.types.size())
    return context.unsupported(kManyProcesses);
  return context.operands;
}

OpResult import_process_id(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  const Module& module = context.importer.module();
  bool replica = context.op.name == "stablehlo.replica_id";
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
      {"stablehlo.collective_broadcast", import_collective},
      {"stablehlo.cross-replica-sum", import_collective},
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
