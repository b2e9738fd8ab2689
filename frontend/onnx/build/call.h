// Call: one node of an ONNX model being imported: its inputs, its attributes with their defaults,
// and the means to refuse it. OpRow: what an operator becomes, a row of the table.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx/build/tensor.h"

namespace tuff::onnx {

namespace proto {
class Graph;
}

// Of a tensor whose length along a dimension the data says: the tensor has the largest that it can
// be, and `count` (an i64 scalar) elements of it count.
struct Bound {
  int64_t dim = 0;
  Tensor count;
};

// What a name of a model stands for: a tensor, a sequence of them, or an optional that may be
// empty.
struct Item {
  enum class Kind { kTensor, kSequence, kEmptyOptional };
  Item() = default;
  Item(Tensor t) : tensor(std::move(t)) {}  // NOLINT: implicit on purpose
  Kind kind = Kind::kTensor;
  Tensor tensor;  // none where an input is left out
  std::optional<Bound> bound;
  std::vector<Tensor> sequence;
};
using Items = std::vector<Item>;

// An attribute of a node; the fields that its kind has.
struct AttributeValue {
  double f = 0;
  int64_t i = 0;
  std::string s;
  Ints ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::optional<Literal> tensor;
  const proto::Graph* graph = nullptr;
};
using AttributeValues = std::map<std::string, AttributeValue, std::less<>>;

// A tensor outside that subgraphs use: what the name stands for, or the next one of its sequence.
struct Capture {
  std::string name;
  Tensor tensor;
  bool in_sequence = false;
};
using Captures = std::vector<Capture>;

// What a call may ask of the model around it. Made by the importer.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // The value of a tensor that a shape follows from, asking for the model's inputs where it does.
  virtual std::optional<Literal> known(const Tensor& tensor) = 0;
  // The graph's nodes in place of the call, its inputs bound to the items.
  virtual Items inline_graph(const proto::Graph& graph, const Items& inputs) = 0;
  // The tensors outside that the graphs use and that are not known.
  virtual Captures captures(const std::vector<const proto::Graph*>& graphs) = 0;
  // As inline_graph, in a region's graph: `parameters` stand for the captures there.
  virtual Items import_region(const proto::Graph& graph, const Items& inputs,
                              const Captures& captures, const std::vector<Tensor>& parameters,
                              Emitter& emitter) = 0;
};

struct Call {
  std::string_view op;  // as in the model: "Conv"
  int64_t opset = 0;    // of the operator's domain
  Items inputs;
  std::vector<bool> wanted;  // of each output, whether it has a name
  AttributeValues attributes;
  Emitter* emitter = nullptr;
  Surroundings* around = nullptr;

  // Input i; none where it is left out.
  Tensor in(size_t i) const;
  // Input i, which the operator must have.
  Tensor need(size_t i) const;
  bool wants(size_t output) const { return output < wanted.size() && wanted[output]; }

  bool has(std::string_view name) const { return attributes.contains(name); }
  int64_t i(std::string_view name, int64_t missing) const;
  double f(std::string_view name, double missing) const;
  std::string s(std::string_view name, std::string missing) const;
  Ints ints(std::string_view name, Ints missing = {}) const;
  std::vector<double> floats(std::string_view name, std::vector<double> missing = {}) const;
  // 0 or 1; others are refused, since not all take them for the same.
  bool flag(std::string_view name, bool missing = false) const;
  int64_t required_i(std::string_view name) const;
  const proto::Graph& graph(std::string_view name) const;

  // A constant in the graph at this node.
  Tensor constant(Literal literal) const {
    return {*emitter, emitter->constant(std::move(literal))};
  }
  Tensor zeros(TensorType type) const;

  // The value of input i, which must be known when the model is compiled.
  Literal known(size_t input) const;
  Ints known_ints(size_t input) const;
  std::vector<double> known_doubles(size_t input) const;
  double known_double(size_t input) const;
  int64_t known_int(size_t input) const;
  // An attribute up to an opset, an input from then on; none where it is left out.
  std::optional<Ints> ints_of(std::string_view attribute, size_t input) const;
};

using OpFunction = Items (*)(const Call& call);

// One row of the table of operators. The function knows what opsets changed.
struct OpRow {
  const char* name;
  OpFunction function;      // null: it is refused
  const char* limits = "";  // what of it is supported, or why nothing is
};

// The tables, by file.
std::span<const OpRow> elementwise_ops();
std::span<const OpRow> activation_ops();
std::span<const OpRow> movement_ops();
std::span<const OpRow> creation_ops();
std::span<const OpRow> indexing_ops();
std::span<const OpRow> search_ops();
std::span<const OpRow> counted_ops();
std::span<const OpRow> reduction_ops();
std::span<const OpRow> contraction_ops();
std::span<const OpRow> convolution_ops();
std::span<const OpRow> pooling_ops();
std::span<const OpRow> normalization_ops();
std::span<const OpRow> resize_ops();
std::span<const OpRow> sampling_ops();
std::span<const OpRow> signal_ops();
std::span<const OpRow> recurrent_ops();
std::span<const OpRow> loss_ops();
std::span<const OpRow> attention_ops();
std::span<const OpRow> quantized_ops();
std::span<const OpRow> control_ops();
std::span<const OpRow> sequence_ops();
std::span<const OpRow> text_ops();
std::span<const OpRow> preview_ops();
std::span<const OpRow> contrib_ops();
std::span<const OpRow> refused_ops();
std::span<const OpRow> ml_ops();
std::span<const OpRow> training_ops();

// A domain's row; null: there is none. "" is ai.onnx.
const OpRow* find_op_row(std::string_view domain, std::string_view name);
struct OpTable {
  const char* domain;
  std::span<const OpRow> rows;
};
const std::vector<OpTable>& op_tables();

}  // namespace tuff::onnx
