// The function that is the model: its arguments, results, names and donations.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"
#include "frontend/stablehlo/read.h"

namespace tuff::stablehlo {

namespace {

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

// Who calls a program passes real tensors.
Status refuse_complex(const char* what, const std::vector<Type>& types, const std::string& where) {
  for (size_t i = 0; i < types.size(); ++i)
    if (has_complex(types[i]))
      return Error{ErrorCode::kUnsupported,
                   fmt::format("The type ({}) is not supported: complex numbers are not, as "
                               "arguments and results of a program.",
                               types[i].to_string()),
                   fmt::format("{} {} at {}", what, i, where)};
  return {};
}

}  // namespace

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
      if (expected >= outputs.size() || !fits(flat[k], graph->type(outputs[expected])))
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
  main_graph_ = &graph;
  Scope scope{&graph, {}};
  TUFF_RETURN_IF_ERROR(check_shape_names(*main));
  std::string place_of_main = fmt::format("{}:{}:{}", module_.file_name, main->line, main->column);
  TUFF_RETURN_IF_ERROR(refuse_complex("argument", main->inputs, place_of_main));
  TUFF_RETURN_IF_ERROR(refuse_complex("result", main->results, place_of_main));
  const Block& body = main->body.blocks[0];
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    auto flat = argument_types(*main, i);
    if (!flat.ok()) {
      Error error = flat.take_error();
      error.where = fmt::format("argument {} at {}", i, place_of_main);
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

Result<Graph> import_module(const Module& module, const ArgumentShapes& shapes) {
  return Importer(module, shapes).run();
}

}  // namespace tuff::stablehlo
