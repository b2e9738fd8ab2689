// The function that is the model: its arguments, results, names and donations.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"
#include "frontend/stablehlo/read.h"
#include "ir/passes/lower_small_types.h"

namespace tuff::stablehlo {

namespace {

// What callers pass for a token, and get. Order is the program's own; so there is nothing in it.
const TensorType kPassedToken{DType::kBool, {0}};

bool is_token(const Type& type) { return type.kind == TypeKind::kToken; }

DType user_dtype(const TensorType& type, bool is_complex) {
  return !is_complex ? type.dtype : type.dtype == DType::kF32 ? DType::kC64 : DType::kC128;
}

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

Status Importer::check_results(const Function& main, const Graph& graph,
                               const Values& results) const {
  size_t expected = 0;
  for (const Type& type : main.results) {
    TUFF_ASSIGN(std::vector<TensorType> flat, flatten_type(type));
    for (size_t k = 0; k < flat.size(); ++k, ++expected)
      if (expected >= results.size() || !fits(flat[k], graph.type(results[expected])))
        return Error{ErrorCode::kBadInput,
                     "The returned values do not have the function's result types.",
                     fmt::format("{}:{}:{}", module_.file_name, main.line, main.column)};
  }
  if (expected == results.size()) return {};
  return Error{ErrorCode::kBadInput, "The function returns more values than its type says.",
               fmt::format("{}:{}:{}", module_.file_name, main.line, main.column)};
}

// The parts of a complex result leave as one tensor.
void Importer::set_outputs(const Function& main, const Values& results, Model* model) const {
  Values outputs;
  std::vector<std::string> names;
  size_t next = 0;
  for (size_t i = 0; i < main.results.size(); ++i) {
    if (is_token(main.results[i])) {
      names.push_back(fmt::format("out{}", outputs.size()));
      outputs.push_back(add_constant(model->graph, Literal(kPassedToken)));
      model->result_dtypes.push_back(kPassedToken.dtype);
      continue;
    }
    std::vector<bool> members = complex_members(main.results[i]);
    for (bool is_complex : members) {
      std::string name = members.size() == 1 ? output_name(main.result_attributes[i]) : "";
      names.push_back(name.empty() ? fmt::format("out{}", outputs.size()) : name);
      outputs.push_back(is_complex ? join_parts(model->graph, results[next], results[next + 1])
                                   : results[next]);
      next += is_complex ? 2 : 1;
      model->result_dtypes.push_back(user_dtype(model->graph.type(outputs.back()), is_complex));
    }
  }
  model->graph.set_outputs(std::move(outputs), std::move(names));
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

// A complex argument enters as one tensor of both parts.
Status Importer::add_parameters(const Function& main, Model* model, Scope* scope) const {
  const Block& body = main.body.blocks[0];
  std::vector<Values> parameters;
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    auto flat = argument_types(main, i);
    if (!flat.ok()) {
      Error error = flat.take_error();
      error.where =
          fmt::format("argument {} at {}:{}:{}", i, module_.file_name, main.line, main.column);
      return error;
    }
    std::vector<bool> members = complex_members(module_.value_types[body.arguments[i]]);
    Values& whole = parameters.emplace_back();
    if (is_token(main.inputs[i])) {
      whole.push_back(model->graph.add_parameter(kPassedToken, main.input_names[i]));
      model->argument_dtypes.push_back(kPassedToken.dtype);
    }
    size_t next = 0;
    for (bool is_complex : members) {
      TensorType type = (*flat)[next];
      if (is_complex) type.shape.push_back(2);
      next += is_complex ? 2 : 1;
      model->argument_dtypes.push_back(user_dtype(type, is_complex));
      whole.push_back(model->graph.add_parameter(std::move(type),
                                                 members.size() == 1 ? main.input_names[i] : ""));
    }
  }
  for (size_t i = 0, k = 0; i < body.arguments.size(); ++i) {
    Values values;
    for (Value whole : parameters[i]) {
      if (is_complex(model->argument_dtypes[k++]))
        for (int64_t part : {0, 1}) values.push_back(part_of(model->graph, whole, part));
      else if (!is_token(main.inputs[i]))
        values.push_back(whole);
    }
    if (!parameters[i].empty()) scope->values.set(body.arguments[i], values);
  }
  return {};
}

Result<Model> Importer::run() {
  TUFF_ASSIGN(const Function* main, find_main());
  Model model;
  Graph& graph = model.graph;
  graph.name = main->name;
  main_graph_ = &graph;
  Scope scope{&graph, {}};
  TUFF_RETURN_IF_ERROR(check_shape_names(*main));
  TUFF_RETURN_IF_ERROR(add_parameters(*main, &model, &scope));
  call_stack_.push_back(main);
  TUFF_ASSIGN(Values results, import_block(main->body.blocks[0], scope));
  TUFF_RETURN_IF_ERROR(check_results(*main, graph, results));
  set_outputs(*main, results, &model);
  TUFF_RETURN_IF_ERROR(record_donations(*main, &graph));
  if (has_small_types(graph)) {
    TUFF_ASSIGN(graph, lower_small_types(graph));
  }
  return model;
}

Result<Model> import_module(const Module& module, const ArgumentShapes& shapes,
                            std::string_view shape_option) {
  return Importer(module, shapes, shape_option).run();
}

}  // namespace tuff::stablehlo
