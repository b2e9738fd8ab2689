// The model's arguments: inputs with their shapes, initializers; its results.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/onnx/import.h"
#include "ir/passes/lower_small_types.h"

namespace tuff::onnx {

namespace {

constexpr int64_t kFirstOpset = 1, kLastOpset = 28;
// Larger initializers are arguments that come with the model; shapes and scalars are constants.
constexpr int64_t kMaxConstant = 64;
constexpr int64_t kMaxLength = 1 << 16;  // of a sequence that is an input

std::string dimension_words(const proto::Dimension& dim) {
  if (!dim.dim_param().empty()) return dim.dim_param();
  return dim.has_dim_value() ? fmt::format("{}", dim.dim_value()) : "?";
}

std::string shape_words(const proto::ShapeInfo& shape) {
  std::vector<std::string> dims;
  for (const proto::Dimension& dim : shape.dim()) dims.push_back(dimension_words(dim));
  return fmt::format("{}", fmt::join(dims, "x"));
}

const Shape* find_shape(const ArgumentShapes& shapes, const std::string& name, size_t index) {
  for (const std::string& word : {name, fmt::format("arg{}", index), fmt::format("{}", index)})
    if (auto found = shapes.find(word); found != shapes.end()) return &found->second;
  return nullptr;
}

}  // namespace

Model Importer::run() {
  check_version();
  model_.graph.name = source_.graph().name().empty() ? "main" : source_.graph().name();
  main_ = std::make_unique<Emitter>(model_.graph, &known_parameters_);
  Scope scope{main_.get(), nullptr, &opsets_, nullptr, {}};
  add_inputs(scope);
  add_outputs(source_.graph(), import_graph(source_.graph(), scope));
  lower_types();
  return std::move(model_);
}

void Importer::check_version() {
  if (!source_.has_graph()) refuse_input("The file is no ONNX model: it has no graph.");
  for (const proto::OperatorSet& set : source_.opset_import())
    opsets_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  auto main = opsets_.find("");
  if (main != opsets_.end() && (main->second < kFirstOpset || main->second > kLastOpset))
    refuse_unsupported(
        fmt::format("The model's opset ({}) is not one of ({}) to ({}); export it with one of "
                    "these, or convert it with onnx.version_converter.",
                    main->second, kFirstOpset, kLastOpset));
}

// Inputs first, as the user counts them, then what comes with the model: parameters stand before
// all other nodes.
void Importer::add_inputs(Scope& scope) {
  const proto::Graph& graph = source_.graph();
  std::set<std::string> initialized;
  for (const proto::Tensor& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const proto::SparseTensor& tensor : graph.sparse_initializer())
    initialized.insert(tensor.values().name());
  std::vector<const proto::ValueInfo*> inputs;
  for (const proto::ValueInfo& input : graph.input())
    if (!initialized.contains(input.name())) inputs.push_back(&input);
  bind_symbols(inputs);
  for (const proto::ValueInfo* input : inputs) scope.items[input->name()] = add_input(*input);
  auto take = [&](const std::string& name, Result<Literal> value) {
    if (!value.ok()) refuse(value.error().code, value.error().message);
    add_initializer(name, std::move(*value), scope);
  };
  for (const proto::Tensor& tensor : graph.initializer()) take(tensor.name(), data_.read(tensor));
  for (const proto::SparseTensor& tensor : graph.sparse_initializer())
    take(tensor.values().name(), data_.read(tensor));
  for (auto& [name, value] : constants_)
    scope.items[name] = Tensor(*main_, main_->constant(std::move(value)));
}

// An optional is there where the user gives it; a sequence is as many inputs as the user gives.
Item Importer::add_input(const proto::ValueInfo& info) {
  const std::string& name = info.name();
  bool is_optional = info.type().has_optional_type();
  const proto::TypeInfo& type = is_optional ? info.type().optional_type().elem_type() : info.type();
  Item none;
  none.kind = Item::Kind::kEmptyOptional;
  if (type.has_tensor_type()) {
    if (is_optional && !given_shapes().contains(name)) return none;
    return add_tensor(name, type.tensor_type(), symbols_);
  }
  if (!type.has_sequence_type())
    refuse_unsupported(fmt::format(
        "The input ({}) is no tensor, sequence or optional; others are not supported.", name));
  std::optional<int64_t> length = given_length(name);
  if (length) return add_sequence(name, type.sequence_type().elem_type(), *length);
  if (is_optional) return none;
  refuse(ErrorCode::kUsage,
         fmt::format("The input ({0}) is a sequence; give its tensors ({0}.0, {0}.1 and so on) "
                     "by value or by shape ({1}{0}.0=2x64), or how many they are ({1}{0}=3).",
                     name, ask_.shape_option));
}

Item Importer::add_tensor(const std::string& name, const proto::TensorInfo& info,
                          const std::map<std::string, int64_t>& symbols) {
  TensorType type = input_type(name, info, symbols);
  Value value = model_.graph.add_parameter(type, name);
  model_.arguments.push_back({name, false, {}, {}});
  return Tensor(*main_, value);
}

// Names of sizes stand for another size in each tensor of a sequence.
Item Importer::add_sequence(const std::string& name, const proto::TypeInfo& element,
                            int64_t length) {
  if (!element.has_tensor_type())
    refuse_unsupported(fmt::format(
        "The input ({}) is a sequence of what is no tensor; such are not supported.", name));
  Item item;
  item.kind = Item::Kind::kSequence;
  for (int64_t k = 0; k < length; ++k)
    item.sequence.push_back(
        add_tensor(fmt::format("{}.{}", name, k), element.tensor_type(), {}).tensor);
  return item;
}

// What "NAME=3" says, or how many of NAME.0, NAME.1 ... are given.
std::optional<int64_t> Importer::given_length(const std::string& name) {
  const ArgumentShapes& shapes = given_shapes();
  auto said = shapes.find(name);
  if (said != shapes.end()) {
    if (said->second.size() != 1 || said->second[0] > kMaxLength)
      refuse(ErrorCode::kUsage,
             fmt::format("The input ({}) is a sequence, so its shape is one number up to ({}): how "
                         "many tensors it has.",
                         name, kMaxLength));
    return said->second[0];
  }
  int64_t length = 0;
  while (length <= kMaxLength && shapes.contains(fmt::format("{}.{}", name, length))) ++length;
  return length > 0 ? std::optional(length) : std::nullopt;
}

// Names of sizes get the values that any input's shape gives them.
void Importer::bind_symbols(const std::vector<const proto::ValueInfo*>& inputs) {
  auto is_symbolic = [](const proto::Dimension& dim) { return !dim.dim_param().empty(); };
  bool has_numbers = true;  // a sequence may be any number of arguments
  for (size_t i = 0; i < inputs.size(); ++i) {
    has_numbers = has_numbers && inputs[i]->type().has_tensor_type();
    const proto::ShapeInfo& shape = inputs[i]->type().tensor_type().shape();
    if (std::none_of(shape.dim().begin(), shape.dim().end(), is_symbolic)) continue;
    const Shape* given =
        find_shape(given_shapes(), inputs[i]->name(), has_numbers ? i : inputs.size());
    for (int d = 0; given && d < shape.dim_size() && given->size() == at(shape.dim_size()); ++d)
      if (is_symbolic(shape.dim(d)))
        symbols_.try_emplace(shape.dim(d).dim_param(), (*given)[at(d)]);
  }
}

const ArgumentShapes& Importer::given_shapes() {
  if (!shapes_) {
    auto asked = ask_();
    if (!asked.ok()) throw Refusal{asked.error()};
    shapes_ = std::move(*asked);
  }
  return *shapes_;
}

TensorType Importer::input_type(const std::string& name, const proto::TensorInfo& tensor,
                                const std::map<std::string, int64_t>& symbols) {
  auto dtype = read_dtype(tensor.elem_type());
  if (!dtype.ok())
    refuse(dtype.error().code, fmt::format("The input ({}): {}", name, dtype.error().message));
  TensorType type{*dtype, {}};
  bool open = !tensor.has_shape();
  for (const proto::Dimension& dim : tensor.shape().dim()) {
    auto symbol = symbols.find(dim.dim_param());
    bool is_bound = !dim.dim_param().empty() && symbol != symbols.end();
    type.shape.push_back(is_bound ? symbol->second : dim.has_dim_value() ? dim.dim_value() : -1);
    open = open || type.shape.back() < 0;
  }
  bool symbolic = open || std::any_of(tensor.shape().dim().begin(), tensor.shape().dim().end(),
                                      [](const auto& d) { return !d.dim_param().empty(); });
  if (!symbolic) return type;
  const Shape* given = find_shape(given_shapes(), name, model_.arguments.size());
  if (!given && !open) return type;
  if (!given)
    refuse(ErrorCode::kUsage,
           fmt::format("The input ({0}, {1}) leaves a size open; give its shape ({2}{0}=2x64) or "
                       "its value.",
                       name, tensor.has_shape() ? shape_words(tensor.shape()) : "any shape",
                       ask_.shape_option));
  bool fits = !tensor.has_shape() || given->size() == type.shape.size();
  for (size_t d = 0; fits && tensor.has_shape() && d < given->size(); ++d)
    fits = type.shape[d] < 0 || type.shape[d] == (*given)[d];
  auto count = checked_num_elements(*given);
  if (!fits || !count.ok() || *count > INT64_MAX / 8)
    refuse(ErrorCode::kUsage, fmt::format("The shape ({}) is not one of the input ({}, {}).",
                                          words(*given), name, shape_words(tensor.shape())));
  type.shape = *given;
  return type;
}

// The value that the user gives for an input, once a shape follows from it: the graph then holds
// for it only.
const Literal* Importer::ask_value(uint32_t parameter) {
  if (auto known = known_parameters_.find(parameter); known != known_parameters_.end())
    return &known->second;
  if (parameter >= model_.arguments.size() || !ask_.value) return nullptr;
  ModelArgument& argument = model_.arguments[parameter];
  auto value = ask_.value(argument.name, parameter);
  if (!value.ok()) throw Refusal{value.error()};
  if (!*value || (*value)->type() != model_.graph.node(Value{parameter, 0}).types[0])
    return nullptr;
  argument.value = **value;
  argument.is_fixed = true;
  return &(known_parameters_[parameter] = **value);
}

// Of subgraphs; those of the main graph are there already.
void Importer::add_initializers(const proto::Graph& graph, Scope& scope) {
  if (&graph == &source_.graph()) return;
  auto take = [&](const std::string& name, Result<Literal> value) {
    if (!value.ok()) refuse(value.error().code, value.error().message);
    scope.items[name] = Tensor(*scope.emitter, scope.emitter->constant(std::move(*value)));
  };
  for (const proto::Tensor& tensor : graph.initializer()) take(tensor.name(), data_.read(tensor));
  for (const proto::SparseTensor& tensor : graph.sparse_initializer())
    take(tensor.values().name(), data_.read(tensor));
}

void Importer::add_initializer(const std::string& name, Literal value, Scope& scope) {
  if (value.num_elements() <= kMaxConstant) {
    constants_.emplace_back(name, std::move(value));
    return;
  }
  Value parameter = model_.graph.add_parameter(value.type(), name);
  scope.items[name] = Tensor(*main_, parameter);
  known_parameters_[parameter.node] = value;
  model_.arguments.push_back({name, true, {}, std::move(value)});
}

// A sequence is its tensors, NAME.0, NAME.1 ...; an empty optional is none.
void Importer::add_outputs(const proto::Graph& graph, Items outputs) {
  std::vector<Value> values;
  std::vector<Bound> bounds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.output(static_cast<int>(i)).name();
    if (outputs[i].bound) {
      model_.counted.push_back({values.size(), outputs[i].bound->dim, 0});
      bounds.push_back(*outputs[i].bound);
    }
    if (outputs[i].kind == Item::Kind::kTensor) {
      values.push_back(outputs[i].tensor.value());
      model_.results.push_back(name);
    }
    for (size_t k = 0; k < outputs[i].sequence.size(); ++k) {
      values.push_back(outputs[i].sequence[k].value());
      model_.results.push_back(fmt::format("{}.{}", name, k));
    }
  }
  for (size_t i = 0; i < bounds.size(); ++i) {
    model_.counted[i].count = values.size();
    values.push_back(bounds[i].count.value());
    model_.results.push_back(model_.results[model_.counted[i].result] + ".count");
  }
  model_.graph.set_outputs(std::move(values), model_.results);
}

// Bytes for elements of 8 bits and fewer. Weights are unpacked here, inputs come as they are.
void Importer::lower_types() {
  const Graph& graph = model_.graph;
  if (!has_small_types(graph)) return;
  std::vector<bool> clean;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i) {
    model_.argument_dtypes.push_back(graph.node(i).types[0].dtype);
    clean.push_back(model_.arguments[i].is_weight);
  }
  for (Value v : graph.outputs()) model_.result_dtypes.push_back(graph.type(v).dtype);
  auto lowered = lower_small_types(graph, clean);
  if (!lowered.ok()) throw Refusal{lowered.error()};
  model_.graph = std::move(*lowered);
}

}  // namespace tuff::onnx
