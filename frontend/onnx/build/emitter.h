// Emitter: adds typed nodes to one graph, folding what is small and known on the way.
//
// Here and in ops/ an operator is a formula that ends early where it does not fit: by throwing a
// Refusal. read_model catches it; nothing thrown leaves frontend/onnx.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace tuff::onnx {

using Ints = std::vector<int64_t>;

struct Refusal {
  Error error;
};
[[noreturn]] void refuse(ErrorCode code, std::string sentence);
// The model says what is not so.
[[noreturn]] void refuse_input(std::string sentence);
// The model asks for what is not supported.
[[noreturn]] void refuse_unsupported(std::string sentence);

// Values of parameters that come with the model or are given for shapes: by parameter.
using KnownParameters = std::map<uint32_t, Literal>;

class Emitter {
 public:
  explicit Emitter(Graph& graph, const KnownParameters* parameters = nullptr)
      : graph_(graph), parameters_(parameters) {}
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  Graph& graph() { return graph_; }
  const TensorType& type(Value v) const { return graph_.type(v); }
  // Of the nodes to come: what messages and profiles call them.
  void set_location(std::string loc) { loc_ = std::move(loc); }
  const std::string& location() const { return loc_; }

  // A node's results. `types` says what the operands leave open, as infer_types has it. Refuses
  // operands that do not fit.
  std::vector<Value> add(Op op, std::vector<Value> operands, std::vector<TensorType> types,
                         Attrs attrs = {}, std::vector<GraphPtr> regions = {});
  Value constant(Literal value);
  // A constant of few elements.
  Value scalar(DType dtype, double value) { return constant(Literal::scalar(dtype, value)); }

  // The value where it follows from constants and known parameters, and is not large.
  // `ask` gives values of parameters that are not known yet, or null.
  using AskParameter = std::function<const Literal*(uint32_t parameter)>;
  std::optional<Literal> known(Value v, const AskParameter& ask = nullptr);

 private:
  std::optional<std::vector<Literal>> evaluated(uint32_t node, const AskParameter& ask, int depth);
  bool is_small(const std::vector<Value>& operands, const std::vector<TensorType>& types) const;

  Graph& graph_;
  const KnownParameters* parameters_;
  std::string loc_;
  std::map<uint32_t, std::optional<std::vector<Literal>>> evaluated_;
};

}  // namespace tuff::onnx
