// Programs for several devices: where their values are to be, and the bodies that each
// device runs by itself.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/import/import.h"
#include "frontend/stablehlo/import/sharding.h"
#include "frontend/stablehlo/import/unreduced.h"
#include "ir/spmd/collective.h"

namespace tuff::stablehlo {

namespace {

std::string opaque_text(const OpContext& context, const char* name) {
  const Attribute* value = context.attribute(name);
  auto* opaque = value ? std::get_if<OpaqueAttr>(&value->value) : nullptr;
  return opaque ? opaque->text : "";
}

template <typename T>
Result<T> in_place(const OpContext& context, Result<T> result) {
  if (result.ok()) return result;
  return context.error(result.error().code, result.error().message);
}

Value mark(OpContext& context, SpmdOp op, Value value, CustomCallAttrs attrs, TensorType type) {
  return add_spmd_op(context.graph(), op, value, std::move(type), std::move(attrs), context.loc);
}

// A constraint on one device's program says nothing, and neither does one within a loop,
// which has whatever it has whole.
OpResult import_constraint(OpContext& context) {
  const SpreadProgram* spread = context.importer.spread();
  if (!spread || !context.importer.is_main(context.graph())) return context.operands;
  TUFF_RETURN_IF_ERROR(context.expect_results(context.operands.size()));
  TUFF_ASSIGN(ReadSharding read,
              in_place(context, read_sharding(opaque_text(context, "sharding"), spread->meshes)));
  std::vector<int64_t> open;
  for (size_t d = 0; d < read.open.size(); ++d)
    if (read.open[d]) open.push_back(static_cast<int64_t>(d));
  Values results;  // both parts of a complex tensor
  for (Value operand : context.operands)
    results.push_back(mark(context, SpmdOp::kShardingConstraint, operand,
                           {.sharding = read.sharding.to_ints(), .open_dimensions = open},
                           context.type(operand)));
  return results;
}

// The axes that the body runs over by hand, of the mesh that its shardings name.
Result<std::vector<int64_t>> read_manual_axes(const OpContext& context, const SpreadProgram& spread,
                                              const std::vector<ReadSharding>& in,
                                              const std::vector<ReadSharding>& out) {
  const std::string text = opaque_text(context, "manual_axes");
  TUFF_ASSIGN(std::vector<std::string> names, in_place(context, read_axis_names(text)));
  std::vector<int64_t> manual;
  if (in.empty() && out.empty()) return manual;
  const auto& axes = spread.meshes.axes.at((in.empty() ? out : in)[0].mesh);
  for (const std::string& name : names) {
    auto it = axes.find(name);
    if (it == axes.end()) return context.bad(fmt::format("The mesh has no axis ({}).", name));
    manual.insert(manual.end(), it->second.begin(), it->second.end());
  }
  std::sort(manual.begin(), manual.end());
  return manual;
}

bool is_one_tensor(uint32_t id, const OpContext& context) {
  return context.importer.module().value_types[id].kind == TypeKind::kTensor;
}

OpResult import_manual_computation(OpContext& context) {
  const SpreadProgram* spread = context.importer.spread();
  if (!spread) return context.unsupported("The program is for several devices; tuff has one here.");
  TUFF_ASSIGN(auto in, in_place(context, read_shardings(opaque_text(context, "in_shardings"),
                                                        spread->meshes)));
  TUFF_ASSIGN(auto out, in_place(context, read_shardings(opaque_text(context, "out_shardings"),
                                                         spread->meshes)));
  TUFF_ASSIGN(std::vector<int64_t> manual, read_manual_axes(context, *spread, in, out));
  if (context.op.regions.size() != 1 || context.op.regions[0].blocks.size() != 1)
    return context.bad("The operation needs one region of one block.");
  const Block& body = context.op.regions[0].blocks[0];
  if (in.size() != context.op.operands.size() || body.arguments.size() != in.size() ||
      out.size() != context.op.types.size())
    return context.bad("The operation has not one sharding for each operand and result.");
  Scope scope{context.scope.graph, context.scope.values};
  for (size_t i = 0; i < in.size(); ++i) {
    TUFF_ASSIGN(std::vector<TensorType> types,
                flatten_type(context.importer.module().value_types[body.arguments[i]]));
    std::span<const Value> whole = context.scope.values.at(context.op.operands[i]);
    if (!is_one_tensor(context.op.operands[i], context) || whole.size() != types.size())
      return context.unsupported("A tuple cannot be spread over devices.");
    Values parts;
    for (size_t k = 0; k < types.size(); ++k) {
      Value part = mark(context, SpmdOp::kFullToShard, whole[k],
                        {.sharding = in[i].sharding.to_ints(), .manual_axes = manual}, types[k]);
      if (!in[i].unreduced.empty())
        part = shares_of(context.graph(), part, in[i].unreduced, context.loc);
      parts.push_back(part);
    }
    scope.values.set(body.arguments[i], parts);
  }
  TUFF_ASSIGN(Values parts, context.importer.import_block(body, scope));
  if (parts.size() != context.types.size())
    return context.bad("The region does not return its results.");
  Values results;
  for (size_t i = 0; i < out.size(); ++i) {
    TUFF_ASSIGN(std::vector<TensorType> types, flatten_type(context.op.types[i]));
    for (size_t k = 0; k < types.size(); ++k) {
      Value part = parts[results.size()];
      if (!out[i].unreduced.empty())
        part = sum_of_shares(context.graph(), part, out[i].unreduced, spread->meshes.mesh,
                             context.loc);
      results.push_back(mark(context, SpmdOp::kShardToFull, part,
                             {.sharding = out[i].sharding.to_ints(), .manual_axes = manual},
                             context.types[results.size()]));
    }
  }
  return results;
}

}  // namespace

Handler find_sharding_handler(std::string_view name) {
  if (name == "sdy.sharding_constraint" || name == "sdy.reshard") return import_constraint;
  if (name == "sdy.manual_computation") return import_manual_computation;
  // Wishes of how sharding should propagate.
  if (name == "sdy.propagation_barrier") return import_identity;
  if (name == "sdy.sharding_group") return [](OpContext&) -> OpResult { return Values{}; };
  return nullptr;
}

// What an argument or result names. Of a complex one the last dimension has the parts, which stay
// together.
Result<Importer::Declared> Importer::declared_sharding(const Attributes& attributes,
                                                       const TensorType& type,
                                                       bool is_complex) const {
  if (find_attribute(attributes, "mhlo.sharding"))
    return Error{ErrorCode::kUnsupported,
                 "The program is sharded for GSPMD; leave jax_use_shardy_partitioner on.", ""};
  const Attribute* value = find_attribute(attributes, "sdy.sharding");
  auto* opaque = value ? std::get_if<OpaqueAttr>(&value->value) : nullptr;
  if (!opaque) return Declared();
  TUFF_ASSIGN(ReadSharding read, read_sharding(opaque->text, spread_->meshes));
  if (static_cast<int64_t>(read.open.size()) + (is_complex ? 1 : 0) != type.rank())
    return Error{ErrorCode::kBadInput, "A sharding has not the rank of its tensor.", ""};
  bool all_open = !read.open.empty() && read.sharding.is_whole() &&
                  std::find(read.open.begin(), read.open.end(), false) == read.open.end();
  Declared declared{std::nullopt, std::move(read.unreduced)};
  if (all_open) return declared;
  if (is_complex) read.sharding.axes.emplace_back();
  declared.sharding = std::move(read.sharding);
  return declared;
}

Result<WholeProgram> Importer::run_spread() {
  SpreadProgram spread;
  TUFF_ASSIGN(spread.meshes,
              read_meshes(module_.meshes, std::max<int64_t>(module_.num_partitions, 1)));
  spread_ = &spread;
  WholeProgram program;
  TUFF_ASSIGN(Model model, run());
  program.graph = std::move(model.graph);
  program.argument_dtypes = model.argument_dtypes;
  program.output_dtypes = model.result_dtypes;
  program.mesh = spread.meshes.mesh;
  TUFF_ASSIGN(const Function* main, find_main());
  if (main->inputs.size() != program.graph.num_parameters() ||
      main->results.size() != program.graph.outputs().size())
    return Error{ErrorCode::kUnsupported, "Tuples cannot be spread over devices.", ""};
  for (uint32_t i = 0; i < main->inputs.size(); ++i) {
    TUFF_ASSIGN(Declared declared,
                declared_sharding(main->input_attributes[i], program.graph.node(i).types[0],
                                  is_complex(program.argument_dtypes[i])));
    program.arguments.push_back(std::move(declared.sharding));
    program.argument_shares.push_back(std::move(declared.unreduced));
    const Attribute* donor = find_attribute(main->input_attributes[i], "jax.buffer_donor");
    if (donor && std::get_if<bool>(&donor->value) && std::get<bool>(donor->value))
      program.donors.push_back(i);
  }
  for (size_t i = 0; i < main->results.size(); ++i) {
    TUFF_ASSIGN(Declared declared, declared_sharding(main->result_attributes[i],
                                                     program.graph.type(program.graph.outputs()[i]),
                                                     is_complex(program.output_dtypes[i])));
    program.outputs.push_back(std::move(declared.sharding));
    program.output_shares.push_back(std::move(declared.unreduced));
  }
  sum_arguments(&program);
  share_outputs(&program);
  return program;
}

Result<WholeProgram> import_whole_program(const Module& module) {
  return Importer(module, {}, "").run_spread();
}

}  // namespace tuff::stablehlo
