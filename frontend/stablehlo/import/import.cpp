#include "frontend/stablehlo/import/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/infer/infer.h"
#include "ir/support/deep_stack.h"

namespace tuff::stablehlo {

namespace {

// Calls are inlined, so a small text can stand for an exponential graph.
constexpr int64_t kMaxOperations = 1'000'000;

}  // namespace

Result<std::vector<TensorType>> flatten_type(const Type& type) {
  std::vector<TensorType> types;
  if (type.kind == TypeKind::kToken) return types;
  if (std::string_view part = complex_part(type); !part.empty()) {
    Type parts = type;
    parts.element = std::string(part);
    parts.shape.push_back(2);  // together they are counted, too
    TUFF_ASSIGN(TensorType tensor, to_open_tensor_type(parts));
    tensor.shape.pop_back();
    return std::vector<TensorType>(2, tensor);
  }
  if (type.kind != TypeKind::kTuple) {
    TUFF_ASSIGN(TensorType tensor, to_open_tensor_type(type));
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

bool fits(const TensorType& declared, const TensorType& found) {
  if (declared.dtype != found.dtype || declared.rank() != found.rank()) return false;
  for (size_t d = 0; d < found.shape.size(); ++d)
    if (found.shape[d] < 0 || (declared.shape[d] >= 0 && declared.shape[d] != found.shape[d]))
      return false;
  return true;
}

Result<Values> OpContext::add_checked(Node node) const {
  auto inferred = infer_types(graph(), node);
  if (!inferred.ok()) return error(inferred.error().code, inferred.error().message);
  for (size_t i = 0; i < std::max(inferred->size(), node.types.size()); ++i) {
    if (i < node.types.size() && i < inferred->size() && fits(node.types[i], (*inferred)[i]))
      continue;
    if (i < inferred->size() && has_open_size((*inferred)[i].shape))
      return unsupported(
          fmt::format("The shape of result ({}) does not follow from the operands' shapes.", i));
    std::string has = i < node.types.size() ? node.types[i].to_string() : "nothing";
    std::string needs = i < inferred->size() ? (*inferred)[i].to_string() : "nothing";
    return bad(
        fmt::format("Result ({}) has the type ({}), but is declared as ({}).", i, needs, has));
  }
  node.types = std::move(*inferred);
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

std::optional<std::span<const Value>> ValueTable::find(uint32_t id) const {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                             [](const Entry& entry, uint32_t i) { return entry.id < i; });
  if (at == entries_.end() || at->id != id) return std::nullopt;
  return std::span(values_).subspan(at->begin, at->count);
}

std::span<const Value> ValueTable::at(uint32_t id) const {
  auto values = find(id);
  TUFF_CHECK(values.has_value(), "a value of the scope");
  return *values;
}

void ValueTable::set(uint32_t id, std::span<const Value> values) {
  Entry entry{id, static_cast<uint32_t>(values_.size()), static_cast<uint32_t>(values.size())};
  values_.insert(values_.end(), values.begin(), values.end());
  if (entries_.empty() || entries_.back().id < id) return entries_.push_back(entry);
  auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                             [](const Entry& other, uint32_t i) { return other.id < i; });
  if (at != entries_.end() && at->id == id)
    *at = entry;
  else
    entries_.insert(at, entry);
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
  for (uint32_t id : context.op.operands) {
    std::span<const Value> operand = context.scope.values.at(id);
    values.emplace_back(operand.begin(), operand.end());
  }
  return values;
}

Handler find_handler(std::string_view name) {
  constexpr std::string_view kChlo = "chlo.";
  Handler handler =
      name.starts_with(kChlo) ? find_chlo_handler(name.substr(kChlo.size())) : nullptr;
  for (auto find :
       {find_structural_handler, find_dot_handler, find_control_handler, find_dynamic_handler,
        find_sharding_handler, find_collective_handler, find_bits_handler})
    if (!handler) handler = find(name);
  return handler ? handler : import_table_op;
}

// A custom call that stands for an operation of chlo: jax.export writes erf so, JAX 0.8 cosh, both
// by the name "mhlo.erf".
std::optional<Operation> as_chlo(const Operation& op) {
  constexpr std::string_view kMhlo = "mhlo.";
  if (op.name != "stablehlo.custom_call" || op.operands.size() != 1) return std::nullopt;
  const Attribute* target = find_attribute(op.attributes, "call_target_name");
  const std::string* text = target ? attribute_text(*target) : nullptr;
  if (!text || !text->starts_with(kMhlo)) return std::nullopt;
  std::string name = text->substr(kMhlo.size());
  if (!find_chlo_handler(name)) return std::nullopt;
  Operation renamed = op;
  renamed.name = "chlo." + name;
  return renamed;
}

Status Importer::import_operation(const Operation& op, Scope& scope) {
  if (auto renamed = as_chlo(op)) return import_operation(*renamed, scope);
  OpContext context{*this, op, scope, {}, {}, node_location(op)};
  if (++num_imported_ > kMaxOperations)
    return context.unsupported(
        "The module has more than (1000000) operations once its calls are inlined.");
  for (uint32_t id : op.operands) {
    auto values = scope.values.find(id);
    if (!values) return context.bad("An operand is not defined in its scope.");
    context.operands.insert(context.operands.end(), values->begin(), values->end());
  }
  std::vector<size_t> counts;
  for (const Type& type : op.types) {
    auto flat = flatten_type(type);
    if (!flat.ok()) return context.error(flat.error().code, flat.error().message);
    counts.push_back(flat->size());
    context.types.insert(context.types.end(), flat->begin(), flat->end());
  }
  Handler handler = find_complex_handler(op, module_.value_types);
  if (!handler) handler = find_handler(op.name);
  TUFF_RETURN_IF_ERROR(resolve_types(context));
  TUFF_ASSIGN(Values results, handler(context));
  if (results.size() != context.types.size())
    return context.bad(fmt::format("The operation gives ({}) results, but its type has ({}).",
                                   results.size(), context.types.size()));
  for (size_t i = 0; i < results.size(); ++i)
    if (!fits(context.types[i], context.type(results[i])))
      return context.bad(fmt::format("Result ({}) has the type ({}), but is declared as ({}).", i,
                                     context.type(results[i]).to_string(),
                                     context.types[i].to_string()));
  if (open_) fold_sizes(context.graph(), results);
  size_t first = 0;
  for (size_t i = 0; i < counts.size(); first += counts[i++])
    scope.values.set(op.first_result + static_cast<uint32_t>(i),
                     std::span(results).subspan(first, counts[i]));
  return {};
}

Result<Values> Importer::import_block(const Block& block, Scope& scope) {
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{++depth_};
  for (const Operation& op : block.operations) {
    if (depth_ > nesting_limit())
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("Calls and regions are nested too deeply ({} levels).", nesting_limit()),
          place(op.loc, op.line, op.column)};
    bool is_return = op.name == "return" || op.name.ends_with(".return");
    if (!is_return) {
      TUFF_RETURN_IF_ERROR(import_operation(op, scope));
      continue;
    }
    Values results;
    for (uint32_t id : op.operands) {
      auto values = scope.values.find(id);
      if (!values)
        return Error{ErrorCode::kBadInput, "A returned value is not defined in its scope.",
                     place(op.loc, op.line, op.column)};
      results.insert(results.end(), values->begin(), values->end());
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
  for (size_t i = 0; i < arguments.size(); ++i) scope.values.set(body.arguments[i], arguments[i]);
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto flat = flatten_type(module_.value_types[body.arguments[i]]);
    bool same = flat.ok() && flat->size() == arguments[i].size();
    for (size_t k = 0; same && k < flat->size(); ++k)
      same = fits((*flat)[k], context.type(arguments[i][k]));
    if (!same)
      return context.bad(fmt::format("Argument ({}) of (@{}) does not have its type.", i, name));
  }
  call_stack_.push_back(&function);
  Result<Values> results = import_block(body, scope);
  call_stack_.pop_back();
  return results;
}

}  // namespace tuff::stablehlo
