#include "frontend/stablehlo/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/read.h"
#include "ir/infer.h"

namespace tuff::stablehlo {

namespace {

// Calls and regions within one another; beyond this no model goes, and the stack
// must hold them.
constexpr size_t kMaxDepth = 200;
// Calls are inlined, so a small text can stand for an exponential graph.
constexpr int64_t kMaxOperations = 1'000'000;

// jax.result_info without what every result has: "result['loss']" is "loss", a
// bare position is nothing, deeper paths stay as they are.
std::string output_name(const Attributes& attributes) {
  const Attribute* info = find_attribute(attributes, "jax.result_info");
  const std::string* text = info ? attribute_text(*info) : nullptr;
  if (!text) return {};
  std::string_view name = *text;
  if (name.starts_with("result")) name.remove_prefix(6);
  if (name.starts_with(".")) name.remove_prefix(1);
  bool one_part = name.starts_with("[") && name.find(']') == name.size() - 1;
  if (!one_part) return std::string(name);
  name = name.substr(1, name.size() - 2);
  if (name.find_first_not_of("0123456789") == std::string_view::npos) return {};
  if (name.size() > 2 && name.starts_with("'") && name.ends_with("'"))
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

}  // namespace

Result<std::vector<TensorType>> flatten_type(const Type& type) {
  std::vector<TensorType> types;
  if (type.kind == TypeKind::kToken) return types;
  if (type.kind != TypeKind::kTuple) {
    TUFF_ASSIGN(TensorType tensor, to_tensor_type(type));
    types.push_back(std::move(tensor));
    return types;
  }
  for (const Type& member : type.inputs) {  // the reader bounds the nesting
    TUFF_ASSIGN(std::vector<TensorType> inner, flatten_type(member));
    types.insert(types.end(), inner.begin(), inner.end());
  }
  return types;
}

std::string_view OpContext::short_name() const {
  std::string_view name = op.name;
  return name.substr(name.find('.') + 1);
}

int64_t OpContext::int_attribute(std::string_view name, int64_t missing) const {
  const Attribute* value = attribute(name);
  if (!value) return missing;
  if (auto* i = std::get_if<int64_t>(&value->value)) return *i;
  if (auto* b = std::get_if<bool>(&value->value)) return *b;
  return missing;
}

Result<std::vector<int64_t>> OpContext::ints_attribute(std::string_view name) const {
  std::vector<int64_t> ints;
  const Attribute* value = attribute(name);
  if (value && !attribute_ints(*value, &ints))
    return bad(fmt::format("The attribute ({}) is not a list of integers.", name));
  return ints;
}

std::string OpContext::text_attribute(std::string_view name) const {
  const Attribute* value = attribute(name);
  const std::string* text = value ? attribute_text(*value) : nullptr;
  return text ? *text : "";
}

Result<Values> OpContext::add_checked(Node node) const {
  auto inferred = infer_types(graph(), node);
  if (!inferred.ok()) return error(inferred.error().code, inferred.error().message);
  for (size_t i = 0; i < std::max(inferred->size(), node.types.size()); ++i) {
    std::string has = i < node.types.size() ? node.types[i].to_string() : "nothing";
    std::string needs = i < inferred->size() ? (*inferred)[i].to_string() : "nothing";
    if (has != needs)
      return bad(
          fmt::format("Result ({}) has the type ({}), but is declared as ({}).", i, needs, has));
  }
  size_t count = node.types.size();
  node.loc = loc;
  Value first = graph().add(std::move(node));
  Values results;
  for (size_t i = 0; i < count; ++i) results.push_back({first.node, static_cast<uint32_t>(i)});
  return results;
}

Error OpContext::error(ErrorCode code, std::string sentence) const {
  return {code, std::move(sentence),
          fmt::format("{} at {}", op.name, importer.place(op.loc, op.line, op.column))};
}

Status OpContext::expect_operands(size_t count) const {
  if (operands.size() == count) return {};
  return bad(
      fmt::format("The operation needs ({}) operands, but has ({}).", count, operands.size()));
}

Status OpContext::expect_results(size_t count) const {
  if (types.size() == count) return {};
  return bad(fmt::format("The operation needs ({}) results, but has ({}).", count, types.size()));
}

std::string Importer::place(uint32_t loc, uint32_t line, uint32_t column) const {
  if (!module_.locations[loc].empty()) return module_.locations[loc];
  return fmt::format("{}:{}:{}", module_.file_name, line, column);
}

// A node's location is shown in tables: the text's own line stands in without folders.
std::string Importer::node_location(const Operation& op) const {
  std::string where = place(op.loc, op.line, op.column);
  if (!module_.locations[op.loc].empty()) return where;
  return where.substr(where.find_last_of('/') + 1);
}

std::vector<Values> Importer::operand_values(const OpContext& context) const {
  std::vector<Values> values;
  for (uint32_t id : context.op.operands) values.push_back(context.scope.values.at(id));
  return values;
}

Status Importer::import_operation(const Operation& op, Scope& scope) {
  OpContext context{*this, op, scope, {}, {}, node_location(op)};
  if (++num_imported_ > kMaxOperations)
    return context.unsupported(
        "The module has more than (1000000) operations once its calls are inlined.");
  for (uint32_t id : op.operands) {
    auto it = scope.values.find(id);
    if (it == scope.values.end()) return context.bad("An operand is not defined in its scope.");
    context.operands.insert(context.operands.end(), it->second.begin(), it->second.end());
  }
  std::vector<size_t> counts;
  for (const Type& type : op.types) {
    auto flat = flatten_type(type);
    if (!flat.ok()) return context.error(flat.error().code, flat.error().message);
    counts.push_back(flat->size());
    context.types.insert(context.types.end(), flat->begin(), flat->end());
  }
  std::string_view name = context.short_name();
  Handler handler = op.name.starts_with("chlo.") ? find_chlo_handler(name) : nullptr;
  for (auto find : {find_structural_handler, find_control_handler, find_dynamic_handler,
                    find_collective_handler, find_bits_handler})
    if (!handler) handler = find(op.name);
  TUFF_ASSIGN(Values results, handler ? handler(context) : import_table_op(context));
  if (results.size() != context.types.size())
    return context.bad(fmt::format("The operation gives ({}) results, but its type has ({}).",
                                   results.size(), context.types.size()));
  for (size_t i = 0; i < results.size(); ++i)
    if (!(context.type(results[i]) == context.types[i]))
      return context.bad(fmt::format("Result ({}) has the type ({}), but is declared as ({}).", i,
                                     context.type(results[i]).to_string(),
                                     context.types[i].to_string()));
  size_t first = 0;
  for (size_t i = 0; i < counts.size(); first += counts[i++])
    scope.values[op.first_result + static_cast<uint32_t>(i)] =
        Values(results.begin() + first, results.begin() + first + counts[i]);
  return {};
}

Result<Values> Importer::import_block(const Block& block, Scope& scope) {
  struct Leave {
    size_t& depth;
    ~Leave() { --depth; }
  } leave{++depth_};
  for (const Operation& op : block.operations) {
    if (depth_ > kMaxDepth)
      return Error{ErrorCode::kUnsupported, "Calls and regions are nested too deeply (200 levels).",
                   place(op.loc, op.line, op.column)};
    bool is_return = op.name == "return" || op.name.ends_with(".return");
    if (!is_return) {
      TUFF_RETURN_IF_ERROR(import_operation(op, scope));
      continue;
    }
    Values results;
    for (uint32_t id : op.operands) {
      auto it = scope.values.find(id);
      if (it == scope.values.end())
        return Error{ErrorCode::kBadInput, "A returned value is not defined in its scope.",
                     place(op.loc, op.line, op.column)};
      results.insert(results.end(), it->second.begin(), it->second.end());
    }
    return results;
  }
  return Error{ErrorCode::kBadInput, "A function or region does not end in a return.",
               module_.file_name};
}

Result<Values> Importer::inline_function(const std::string& name,
                                         const std::vector<Values>& arguments, OpContext& context) {
  auto it = module_.function_index.find(name);
  if (it == module_.function_index.end())
    return context.bad(fmt::format("The called function (@{}) is not defined.", name));
  const Function& function = module_.functions[it->second];
  for (const Function* caller : call_stack_)
    if (caller == &function)
      return context.unsupported(fmt::format("The function (@{}) calls itself.", name));
  if (function.body.blocks.size() != 1)
    return context.unsupported(fmt::format("The function (@{}) has no body of one block.", name));
  const Block& body = function.body.blocks[0];
  if (body.arguments.size() != arguments.size())
    return context.bad(fmt::format("The function (@{}) takes ({}) arguments, but is given ({}).",
                                   name, body.arguments.size(), arguments.size()));
  Scope scope{context.scope.graph, {}};
  for (size_t i = 0; i < arguments.size(); ++i) scope.values[body.arguments[i]] = arguments[i];
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto flat = flatten_type(module_.value_types[body.arguments[i]]);
    bool same = flat.ok() && flat->size() == arguments[i].size();
    for (size_t k = 0; same && k < flat->size(); ++k)
      same = (*flat)[k] == context.type(arguments[i][k]);
    if (!same)
      return context.bad(fmt::format("Argument ({}) of (@{}) does not have its type.", i, name));
  }
  call_stack_.push_back(&function);
  Result<Values> results = import_block(body, scope);
  call_stack_.pop_back();
  return results;
}

Result<const Function*> Importer::find_main() const {
  const Function* main = nullptr;
  size_t num_public = 0;
  for (const Function& function : module_.functions) {
    if (!function.is_public) continue;
    ++num_public;
    main = &function;
  }
  auto named = module_.function_index.find("main");
  if (named != module_.function_index.end()) {
    main = &module_.functions[named->second];
  } else if (num_public != 1) {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("The module has no function @main and ({}) public functions; name one @main.",
                    num_public),
        module_.file_name};
  }
  size_t blocks = main->body.blocks.size();
  if (blocks != 1)
    return Error{
        blocks == 0 ? ErrorCode::kBadInput : ErrorCode::kUnsupported,
        fmt::format("The function (@{}) has ({}) blocks, but needs one.", main->name, blocks),
        fmt::format("{}:{}:{}", module_.file_name, main->line, main->column)};
  return main;
}

Status Importer::name_outputs(const Function& main, Graph* graph, Values outputs) const {
  std::vector<std::string> names;
  size_t expected = 0;
  for (size_t i = 0; i < main.results.size(); ++i) {
    TUFF_ASSIGN(std::vector<TensorType> flat, flatten_type(main.results[i]));
    for (size_t k = 0; k < flat.size(); ++k, ++expected) {
      if (expected >= outputs.size() || !(graph->type(outputs[expected]) == flat[k]))
        return Error{ErrorCode::kBadInput,
                     "The returned values do not have the function's result types.",
                     fmt::format("{}:{}:{}", module_.file_name, main.line, main.column)};
      std::string name = flat.size() == 1 ? output_name(main.result_attributes[i]) : "";
      names.push_back(name.empty() ? fmt::format("out{}", expected) : name);
    }
  }
  if (expected != outputs.size())
    return Error{ErrorCode::kBadInput, "The function returns more values than its type says.",
                 fmt::format("{}:{}:{}", module_.file_name, main.line, main.column)};
  graph->set_outputs(std::move(outputs), std::move(names));
  return {};
}

// tf.aliasing_output = k on an argument: its buffer may become output k.
// jax.buffer_donor leaves the choice of output to the compiler, so says nothing here.
Status Importer::record_donations(const Function& main, Graph* graph) const {
  for (size_t i = 0; i < main.input_attributes.size(); ++i) {
    const Attribute* alias = find_attribute(main.input_attributes[i], "tf.aliasing_output");
    const int64_t* output = alias ? std::get_if<int64_t>(&alias->value) : nullptr;
    if (!output) continue;
    std::string where = fmt::format("{}:{}:{}", module_.file_name, main.line, main.column);
    if (*output < 0 || *output >= static_cast<int64_t>(graph->outputs().size()) ||
        i >= graph->num_parameters())
      return Error{
          ErrorCode::kBadInput,
          fmt::format("Argument ({}) is donated to output ({}), which does not exist.", i, *output),
          where};
    Value result = graph->outputs()[static_cast<size_t>(*output)];
    if (!(graph->type(result) == graph->type({static_cast<uint32_t>(i), 0})))
      return Error{ErrorCode::kBadInput,
                   fmt::format("Argument ({}) is donated to output ({}), which has another type.",
                               i, *output),
                   where};
    graph->donations.emplace_back(static_cast<uint32_t>(i), static_cast<uint32_t>(*output));
  }
  return {};
}

Result<Graph> Importer::run() {
  TUFF_ASSIGN(const Function* main, find_main());
  Graph graph;
  graph.name = main->name;
  Scope scope{&graph, {}};
  const Block& body = main->body.blocks[0];
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    auto flat = flatten_type(module_.value_types[body.arguments[i]]);
    if (!flat.ok()) {
      Error error = flat.take_error();
      error.where =
          fmt::format("argument {} at {}:{}:{}", i, module_.file_name, main->line, main->column);
      return error;
    }
    Values& values = scope.values[body.arguments[i]];
    for (TensorType& type : *flat)
      values.push_back(
          graph.add_parameter(std::move(type), flat->size() == 1 ? main->input_names[i] : ""));
  }
  call_stack_.push_back(main);
  TUFF_ASSIGN(Values outputs, import_block(body, scope));
  TUFF_RETURN_IF_ERROR(name_outputs(*main, &graph, std::move(outputs)));
  TUFF_RETURN_IF_ERROR(record_donations(*main, &graph));
  return graph;
}

Result<Graph> import_module(const Module& module) { return Importer(module).run(); }

}  // namespace tuff::stablehlo
