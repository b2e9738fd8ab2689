// The module and its functions.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/bytecode/bytecode.h"

namespace tuff::stablehlo {

namespace {

int64_t number(const Attributes& attributes, std::string_view name) {
  const Attribute* attribute = find_attribute(attributes, name);
  const int64_t* value = attribute ? std::get_if<int64_t>(&attribute->value) : nullptr;
  return value ? *value : 0;
}

// The attributes of arguments or results: an array of dictionaries, or nothing.
std::vector<Attributes> dictionaries(const Attributes& attributes, std::string_view name,
                                     size_t count) {
  std::vector<Attributes> all(count);
  const Attribute* list = find_attribute(attributes, name);
  auto* array = list ? std::get_if<ArrayAttr>(&list->value) : nullptr;
  for (size_t i = 0; array && i < std::min(count, array->items.size()); ++i)
    if (auto* dict = std::get_if<DictAttr>(&array->items[i].value)) all[i] = dict->entries;
  return all;
}

}  // namespace

void BytecodeReader::add_module(ByteCursor& at, Operation& op) {
  if (op.name != "builtin.module") return at.fail("The file does not hold a module.");
  module_.num_replicas = number(op.attributes, "mhlo.num_replicas");
  module_.num_partitions = number(op.attributes, "mhlo.num_partitions");
  for (Region& region : op.regions)
    for (Block& block : region.blocks)
      for (Operation& inner : block.operations) {
        if (inner.name == "builtin.module") return at.fail("A module within a module is not read.");
        if (inner.name == "func.func") add_function(inner);
        if (inner.name == "sdy.mesh") add_mesh(inner.attributes, &module_);
      }
}

void BytecodeReader::add_function(Operation& op) {
  auto fail = [&](const std::string& sentence) { source_.fail(op.column - 1, sentence); };
  const Attribute* name = find_attribute(op.attributes, "sym_name");
  const Attribute* type = find_attribute(op.attributes, "function_type");
  const Attribute* visibility = find_attribute(op.attributes, "sym_visibility");
  const std::string* text = name ? attribute_text(*name) : nullptr;
  const Type* signature = type ? std::get_if<Type>(&type->value) : nullptr;
  if (!text || !signature || signature->kind != TypeKind::kFunction || op.regions.size() != 1)
    return fail("The function lacks its name, type or body.");
  Function function;
  function.name = *text;
  if (visibility && attribute_text(*visibility))
    function.is_public = *attribute_text(*visibility) != "private";
  function.inputs = signature->inputs;
  function.results = signature->results;
  function.input_attributes = dictionaries(op.attributes, "arg_attrs", function.inputs.size());
  function.result_attributes = dictionaries(op.attributes, "res_attrs", function.results.size());
  function.line = op.line;
  function.column = op.column;
  function.body = std::move(op.regions[0]);
  if (!function.body.blocks.empty() &&
      function.body.blocks[0].arguments.size() != function.inputs.size())
    return fail("The function's block does not have the arguments of its type.");
  add_argument_names(&function);
  if (!module_.function_index.emplace(function.name, module_.functions.size()).second)
    return fail(fmt::format("The function (@{}) is defined twice.", function.name));
  module_.functions.push_back(std::move(function));
}

// An argument's location is its name in the model ("params['w']"), not a place.
void BytecodeReader::add_argument_names(Function* function) {
  function->input_names.resize(function->inputs.size());
  function->input_locs.resize(function->inputs.size());
  if (function->body.blocks.empty()) return;
  const std::vector<uint32_t>& arguments = function->body.blocks[0].arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto it = argument_places_.find(arguments[i]);
    if (it == argument_places_.end()) continue;
    const Place& found = place_at(it->second);
    function->input_names[i] = found.name;
    function->input_locs[i] = location_of(it->second);
  }
}

}  // namespace tuff::stablehlo
