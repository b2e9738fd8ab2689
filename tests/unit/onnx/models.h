// Small ONNX models, written by the schema that the reader reads by.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/onnx/file/onnx.pb.h"
#include "frontend/session/reader.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::onnx {

ReadModel read_model;

namespace test {

class ModelWriter {
 public:
  explicit ModelWriter(int64_t opset = 17, int64_t ir_version = 8) {
    model.set_ir_version(ir_version);
    auto* set = model.add_opset_import();
    set->set_version(opset);
  }

  proto::Graph& graph() { return *model.mutable_graph(); }
  // A size below 0 is open and called by a letter: -1 is "a", -2 is "b" ...
  void input(const std::string& name, const std::vector<int64_t>& shape, int32_t type = 1) {
    describe(*graph().add_input(), name, shape, type);
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    ints(*graph().add_initializer(), name, values);
  }
  void floats(const std::string& name, const std::vector<int64_t>& shape, float value) {
    proto::Tensor& tensor = *graph().add_initializer();
    tensor.set_name(name), tensor.set_data_type(1);
    int64_t count = 1;
    for (int64_t size : shape) tensor.add_dims(size), count *= size;
    std::vector<float> values(static_cast<size_t>(count), value);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  }
  proto::Node& node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
    return node(graph(), op, inputs, outputs);
  }

  static void describe(proto::ValueInfo& info, const std::string& name,
                       const std::vector<int64_t>& shape, int32_t type = 1) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (int64_t size : shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (size < 0)
        dim->set_dim_param(std::string(1, static_cast<char>('a' - 1 - size)));
      else
        dim->set_dim_value(size);
    }
  }
  static void ints(proto::Tensor& tensor, const std::string& name,
                   const std::vector<int64_t>& values) {
    tensor.set_name(name), tensor.set_data_type(7);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t v : values) tensor.add_int64_data(v);
  }
  static proto::Node& node(proto::Graph& graph, const std::string& op,
                           const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs) {
    proto::Node& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return node;
  }
  static proto::Attribute& attribute(proto::Node& node, const std::string& name) {
    proto::Attribute& attribute = *node.add_attribute();
    attribute.set_name(name);
    return attribute;
  }

  std::string bytes() const { return model.SerializeAsString(); }

  proto::Model model;
};

inline AskShapes shapes(ArgumentShapes given = {}, std::map<std::string, Literal> values = {}) {
  return AskShapes([given] { return Result<ArgumentShapes>(given); },
                   [values](const std::string& name, size_t) {
                     std::optional<Literal> value;
                     if (auto found = values.find(name); found != values.end())
                       value = found->second;
                     return Result<std::optional<Literal>>(std::move(value));
                   });
}

inline Result<Model> read(const std::string& bytes, const AskShapes& ask = shapes(),
                          const std::string& path = "m.onnx") {
  return read_model({path, bytes, nullptr, false}, ask);
}

// The model's outputs for its inputs; those that come with it follow.
inline std::vector<Literal> run(const Model& model, std::vector<Literal> inputs) {
  for (size_t i = inputs.size(); i < model.arguments.size(); ++i)
    inputs.push_back(model.arguments[i].value.value_or(Literal()));
  return evaluate(model.graph, inputs).value();
}

inline std::vector<double> doubles(const Literal& literal) {
  std::vector<double> list;
  for (int64_t i = 0; i < literal.num_elements(); ++i) list.push_back(literal.get_double(i));
  return list;
}

}  // namespace test
}  // namespace tuff::onnx
