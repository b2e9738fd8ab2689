// Constants, calls, tuples, and what is the identity for one process: the
// operations that change what a name stands for rather than compute.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

OpResult import_identity(OpContext& context) { return context.operands; }

const DictAttr* dict_attribute(const OpContext& context, std::string_view name) {
  const Attribute* attribute = context.attribute(name);
  return attribute ? std::get_if<DictAttr>(&attribute->value) : nullptr;
}

std::optional<int64_t> dict_int(const DictAttr* dict, std::string_view name) {
  const Attribute* attribute = dict ? find_attribute(dict->entries, name) : nullptr;
  std::vector<int64_t> ints;
  if (!attribute || !attribute_ints(*attribute, &ints) || ints.size() != 1) return std::nullopt;
  return ints[0];
}

namespace {

OpResult import_constant_op(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  const Attribute* value = context.attribute("value");
  auto* dense = value ? std::get_if<std::shared_ptr<const DenseElements>>(&value->value) : nullptr;
  if (!dense || !*dense) return context.bad("The constant has no value.");
  auto type = to_tensor_type((*dense)->type);
  if (!type.ok()) return context.error(type.error().code, type.error().message);
  return Values{import_constant(context, **dense, *type)};
}

OpResult import_call(OpContext& context) {
  return context.importer.inline_function(context.text_attribute("callee"),
                                          context.importer.operand_values(context), context);
}

OpResult import_tuple_element(OpContext& context) {
  if (context.op.operands.size() != 1) return context.bad("The operation needs one tuple.");
  const Type& tuple = context.importer.module().value_types[context.op.operands[0]];
  int64_t index = context.int_attribute("index", -1);
  if (tuple.kind != TypeKind::kTuple || index < 0 ||
      index >= static_cast<int64_t>(tuple.inputs.size()))
    return context.bad(fmt::format("The tuple has no element ({}).", index));
  size_t begin = 0, size = 0;
  for (int64_t i = 0; i <= index; ++i) {
    begin += size;
    TUFF_ASSIGN(std::vector<TensorType> flat, flatten_type(tuple.inputs[static_cast<size_t>(i)]));
    size = flat.size();
  }
  return Values(context.operands.begin() + begin, context.operands.begin() + begin + size);
}

OpResult import_token(OpContext&) { return Values{}; }

// broadcast puts new dimensions in front.
OpResult import_broadcast(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  TUFF_ASSIGN(std::vector<int64_t> sizes, context.ints_attribute("broadcast_sizes"));
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < context.type(context.operands[0]).rank(); ++i)
    dims.push_back(static_cast<int64_t>(sizes.size()) + i);
  Node node;
  node.op = Op::kBroadcastInDim;
  node.operands = context.operands;
  node.types = context.types;
  node.attrs = BroadcastInDimAttrs{std::move(dims)};
  return context.add_checked(std::move(node));
}

// A polymorphic export's own check of the arguments' shapes: the condition, then the
// numbers that its message shows as {0}, {1} ...
OpResult import_shape_assertion(OpContext& context) {
  auto holds =
      context.operands.empty() ? std::nullopt : constant_ints(context.graph(), context.operands[0]);
  if (!holds || holds->size() != 1)
    return context.unsupported("The condition of a shape assertion must be known.");
  if ((*holds)[0] != 0) return Values{};
  std::string message = context.text_attribute("error_message");
  for (size_t i = 1; i < context.operands.size(); ++i) {
    auto number = constant_ints(context.graph(), context.operands[i]);
    std::string mark = fmt::format("{{{}}}", i - 1);
    for (size_t at = 0;
         number && number->size() == 1 && (at = message.find(mark, at)) != std::string::npos;)
      message.replace(at, mark.size(), std::to_string((*number)[0]));
  }
  return context.bad(message.empty() ? "The arguments' shapes break an assertion." : message);
}

// Calls that say where a value lives or what the partitioner did with it.
OpResult import_custom_call(OpContext& context) {
  std::string target = context.text_attribute("call_target_name");
  for (const char* marker : {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})
    if (target == marker && context.importer.spread())
      return context.unsupported(
          "The program is sharded for GSPMD; leave jax_use_shardy_partitioner on.");
  for (const char* marker :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint",
        "annotate_device_placement", "MoveToDevice", "MoveToHost"})
    if (target == marker && context.operands.size() == context.types.size())
      return context.operands;
  if (Handler handler = find_host_handler(target)) return handler(context);
  if (Handler handler = find_top_k_handler(target)) return handler(context);
  if (target == "shape_assertion" && context.types.empty()) return import_shape_assertion(context);
  // Only keeps a compiler from seeing that its operand is not used.
  if (target == "dce_sink" && context.types.empty()) return Values{};
  return context.unsupported(
      fmt::format("The custom call's target ({}) is not supported.", target));
}

}  // namespace

Value import_constant(OpContext& context, const DenseElements& dense, const TensorType& type) {
  constexpr int64_t kInline = 16;  // a splat of this many elements stays a literal
  Literal value = dense.values;
  if (dense.splat && type.num_elements() > kInline) {
    Value scalar = add_constant(context.graph(), std::move(value), context.loc);
    return context.add(Op::kBroadcastInDim, {scalar}, type, BroadcastInDimAttrs{});
  }
  if (dense.splat && type.rank() > 0) {
    Literal full(type);
    size_t size = static_cast<size_t>(dtype_size(type.dtype));
    for (int64_t i = 0; i < type.num_elements(); ++i)
      std::copy_n(value.bytes(), size, full.mutable_bytes() + static_cast<size_t>(i) * size);
    value = std::move(full);
  }
  return add_constant(context.graph(), std::move(value), context.loc);
}

Handler find_structural_handler(std::string_view name) {
  struct Row {
    std::string_view name;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {"stablehlo.constant", import_constant_op},
      {"func.call", import_call},
      {"call", import_call},
      {"stablehlo.composite", import_composite},
      {"stablehlo.tuple", import_identity},
      {"stablehlo.get_tuple_element", import_tuple_element},
      {"stablehlo.create_token", import_token},
      {"stablehlo.after_all", import_token},
      {"stablehlo.broadcast", import_broadcast},
      {"stablehlo.custom_call", import_custom_call},
      {"builtin.unrealized_conversion_cast", import_identity},
  };
  for (const Row& row : kRows)
    if (row.name == name) return row.handler;
  return nullptr;
}

}  // namespace tuff::stablehlo
