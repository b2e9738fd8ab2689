// Importer: an ONNX model to a Graph, one node at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/build/call.h"
#include "frontend/onnx/file/onnx.pb.h"
#include "frontend/onnx/file/tensor_data.h"
#include "frontend/session/reader.h"

namespace tuff::onnx {

// The opset of each domain.
using Opsets = std::map<std::string, int64_t>;

// The names of a graph or function body, within those around it.
struct Scope {
  Emitter* emitter = nullptr;
  const Scope* outer = nullptr;  // of a subgraph
  const Opsets* opsets = nullptr;
  const AttributeValues* arguments = nullptr;  // a function's attributes; null outside
  std::unordered_map<std::string, Item> items;

  const Item* find(const std::string& name) const;
};

class Importer {
 public:
  Importer(const proto::Model& model, const ModelBytes& bytes, const AskShapes& ask);
  // Throws Refusal.
  Model run();

  std::optional<Literal> known(const Tensor& tensor);
  Items import_graph(const proto::Graph& graph, Scope& scope);

 private:
  friend class NodeSurroundings;

  void check_version();
  // --- the model's arguments and results (import_arguments.cpp)
  void add_inputs(Scope& scope);
  Item add_input(const proto::ValueInfo& info);
  Item add_tensor(const std::string& name, const proto::TensorInfo& info,
                  const std::map<std::string, int64_t>& symbols);
  Item add_sequence(const std::string& name, const proto::TypeInfo& element, int64_t length);
  std::optional<int64_t> given_length(const std::string& name);
  void bind_symbols(const std::vector<const proto::ValueInfo*>& inputs);
  const ArgumentShapes& given_shapes();
  TensorType input_type(const std::string& name, const proto::TensorInfo& tensor,
                        const std::map<std::string, int64_t>& symbols);
  const Literal* ask_value(uint32_t parameter);
  void add_initializers(const proto::Graph& graph, Scope& scope);
  void add_initializer(const std::string& name, Literal value, Scope& scope);
  void add_outputs(const proto::Graph& graph, Items outputs);
  void lower_types();

  // --- nodes (import_nodes.cpp)
  void import_node(const proto::Node& node, Scope& scope);
  Items run_node(const proto::Node& node, Scope& scope);
  Items call_function(const proto::Function& function, const Items& inputs,
                      const AttributeValues& attributes);
  AttributeValue read_attribute(const proto::Attribute& attribute);
  AttributeValues read_attributes(const proto::Node& node, const Scope& scope);

  const proto::Model& source_;
  const ModelBytes& bytes_;
  const AskShapes& ask_;
  TensorData data_;
  Model model_;
  Opsets opsets_;
  std::map<std::string, Opsets> function_opsets_;
  std::map<std::string, const proto::Function*> functions_;
  std::optional<ArgumentShapes> shapes_;
  std::map<std::string, int64_t> symbols_;                  // sizes by name
  std::vector<std::pair<std::string, Literal>> constants_;  // small initializers
  KnownParameters known_parameters_;
  std::unique_ptr<Emitter> main_;
  size_t depth_ = 0;
  int64_t num_nodes_ = 0;
};

}  // namespace tuff::onnx
