#include "frontend/onnx/build/call.h"

#include <fmt/format.h>

#include "frontend/onnx/file/dtypes.h"

namespace tuff::onnx {

namespace {

const AttributeValue* find(const AttributeValues& attributes, std::string_view name) {
  auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

}  // namespace

DType dtype_of(int64_t number) {
  auto dtype = read_dtype(static_cast<int32_t>(number));
  if (!dtype.ok()) refuse(dtype.error().code, dtype.error().message);
  return *dtype;
}

Tensor Call::in(size_t i) const {
  if (i >= inputs.size()) return {};
  if (inputs[i].kind == Item::Kind::kSequence)
    refuse_input(fmt::format("Input ({}) is a sequence, but must be a tensor.", i));
  return inputs[i].tensor;
}

Tensor Call::need(size_t i) const {
  Tensor tensor = in(i);
  if (!tensor) refuse_input(fmt::format("Input ({}) is left out, but the operator needs it.", i));
  return tensor;
}

int64_t Call::i(std::string_view name, int64_t missing) const {
  const AttributeValue* value = find(attributes, name);
  return value ? value->i : missing;
}

double Call::f(std::string_view name, double missing) const {
  const AttributeValue* value = find(attributes, name);
  return value ? value->f : missing;
}

std::string Call::s(std::string_view name, std::string missing) const {
  const AttributeValue* value = find(attributes, name);
  return value ? value->s : missing;
}

Ints Call::ints(std::string_view name, Ints missing) const {
  const AttributeValue* value = find(attributes, name);
  return value ? value->ints : missing;
}

std::vector<double> Call::floats(std::string_view name, std::vector<double> missing) const {
  const AttributeValue* value = find(attributes, name);
  return value ? value->floats : missing;
}

bool Call::flag(std::string_view name, bool missing) const {
  const int64_t value = i(name, missing);
  if (value != 0 && value != 1)
    refuse_input(fmt::format("The attribute ({}) is {}, and neither 0 nor 1.", name, value));
  return value == 1;
}

int64_t Call::required_i(std::string_view name) const {
  if (!has(name)) refuse_input(fmt::format("The attribute ({}) is missing.", name));
  return i(name, 0);
}

const proto::Graph& Call::graph(std::string_view name) const {
  const AttributeValue* value = find(attributes, name);
  if (!value || !value->graph) refuse_input(fmt::format("The attribute ({}) is missing.", name));
  return *value->graph;
}

Tensor Call::zeros(TensorType type) const {
  Tensor zero(*emitter, emitter->scalar(type.dtype, 0));
  return zero.broadcast_to(type.shape);
}

Literal Call::known(size_t input) const {
  std::optional<Literal> value = around->known(need(input));
  if (!value)
    refuse_unsupported(
        fmt::format("Its input ({}) decides a shape, so it must be known when the model is "
                    "compiled; make it a constant, or an input of the model whose value is given.",
                    input));
  return *value;
}

Ints Call::known_ints(size_t input) const {
  Literal value = known(input);
  if (is_float(value.type().dtype))
    refuse_input(fmt::format("Input ({}) must be integers.", input));
  Ints ints;
  for (int64_t k = 0; k < value.num_elements(); ++k) ints.push_back(value.get_int(k));
  return ints;
}

std::vector<double> Call::known_doubles(size_t input) const {
  Literal value = known(input);
  std::vector<double> doubles;
  for (int64_t k = 0; k < value.num_elements(); ++k) doubles.push_back(value.get_double(k));
  return doubles;
}

double Call::known_double(size_t input) const {
  std::vector<double> doubles = known_doubles(input);
  if (doubles.size() != 1) refuse_input(fmt::format("Input ({}) must be one number.", input));
  return doubles[0];
}

int64_t Call::known_int(size_t input) const {
  Ints ints = known_ints(input);
  if (ints.size() != 1) refuse_input(fmt::format("Input ({}) must be one integer.", input));
  return ints[0];
}

std::optional<Ints> Call::ints_of(std::string_view attribute, size_t input) const {
  if (const AttributeValue* value = find(attributes, attribute)) return value->ints;
  if (in(input)) return known_ints(input);
  return std::nullopt;
}

}  // namespace tuff::onnx
