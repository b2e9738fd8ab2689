// tuff_graph.hpp: building graphs without any file. A Graph writes StableHLO, which
// Device::compile_bytes takes; shapes are inferred as operations are added, and a wrong one is a
// tuff::Error at the call. Names are StableHLO's. The operations: tuff_operations.hpp.
//
//   tuff::Graph graph;
//   tuff::Tensor x = graph.input("x", {tuff::DType::kF32, {32, 784}}), w = graph.input("w", ...);
//   graph.output("y", relu(matmul(x, w)));
//   tuff::Program program = device.compile_bytes(graph.stablehlo());
//
// Derivatives: tuff_gradients.hpp. A Graph is for one thread at a time; its Tensors are numbers of
// its nodes and live as long as it does.
#ifndef TUFF_GRAPH_HPP
#define TUFF_GRAPH_HPP

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuff.hpp>
#include <utility>
#include <vector>

namespace tuff {

class Graph;

// A value of a graph.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Graph* graph, size_t node) : graph_(graph), node_(node) {}

  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  int64_t size(int64_t dimension) const;
  Graph& graph() const;
  size_t node() const { return node_; }

 private:
  Graph* graph_ = nullptr;
  size_t node_ = 0;
};

// Which dimensions of two operands go together in a dot_general.
struct DotDimensions {
  Shape lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
};

// A convolution over two dimensions; layouts as StableHLO writes them.
struct Convolution {
  Shape strides = {1, 1};
  std::vector<std::pair<int64_t, int64_t>> padding = {{0, 0}, {0, 0}};
  Shape lhs_dilation = {1, 1}, rhs_dilation = {1, 1};
  std::string dimensions = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
};

// Windows over the two middle dimensions of a tensor of [batch, height, width, channels].
struct Pooling {
  Shape window = {2, 2}, strides = {2, 2};
  std::vector<std::pair<int64_t, int64_t>> padding = {{0, 0}, {0, 0}};
};

// What a node computes; its fields by kind. For tuff_gradients.hpp.
struct GraphNode {
  enum class Kind {
    kInput,
    kConstant,     // value, everywhere
    kLiteral,      // bytes
    kIota,         // dimensions[0]
    kElementwise,  // name
    kCompare,      // name is the direction
    kSelect,
    kConvert,
    kBroadcastInDim,  // dimensions
    kReshape,
    kTranspose,    // dimensions
    kReverse,      // dimensions
    kReduce,       // name of the body; dimensions
    kDotGeneral,   // dot
    kConvolution,  // convolution
    kSlice,        // starts, limits
    kPad,          // starts: low, limits: high
    kConcatenate,  // dimensions[0]
    kTake,         // rows of operand 0 by the indices of operand 1
    kAddRows,      // of operand 1 to those rows of zeros that the indices of operand 0 name
    kMaxPool,      // pooling
    kMaxPoolGradient,
  };
  Kind kind = Kind::kInput;
  std::vector<Tensor> operands;
  TensorType type;
  std::string name;
  Shape dimensions, starts, limits;
  double value = 0;
  std::string bytes;
  DotDimensions dot;
  Convolution convolution;
  Pooling pooling;
};

// Throws with this sentence, unless `holds`.
inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw Error(TUFF_INVALID_ARGUMENT, sentence, "");
}

inline std::string to_string(const TensorType& type) {
  std::string text = "tensor<";
  for (int64_t size : type.shape) text += std::to_string(size) + "x";
  const char* dtype = tuff_dtype_name(static_cast<tuff_dtype>(type.dtype));
  return text + (dtype ? dtype : "no dtype") + ">";
}

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // An argument of the program, in the order of the calls.
  Tensor input(const std::string& name, TensorType type) {
    require_name(name);
    GraphNode node;
    node.name = name, node.type = std::move(type);
    Tensor added = add(std::move(node));
    inputs_.push_back(added.node());
    donated_to_.push_back(-1);
    return added;
  }
  // A result, in the order of the calls; its number.
  size_t output(const std::string& name, Tensor value) {
    require_name(name);
    require_own(value);
    outputs_.push_back({name, value});
    return outputs_.size() - 1;
  }
  // The caller may give the input up in a run; the result then takes its memory.
  void donate(Tensor input, size_t output) {
    require_own(input);
    require(output < outputs_.size() && outputs_[output].second.type() == input.type(),
            "A donated input and its result must have one type.");
    auto found = std::find(inputs_.begin(), inputs_.end(), input.node());
    require(found != inputs_.end(), "Only an input is donated.");
    donated_to_[static_cast<size_t>(found - inputs_.begin())] = static_cast<int64_t>(output);
  }

  // Of an integer type, infinities are its largest and its least value.
  Tensor constant(double value, TensorType type) {
    require(holds_value(type.dtype, value), "A constant (" + std::to_string(value) +
                                                ") is no value of its type (" + to_string(type) +
                                                ").");
    GraphNode node;
    node.kind = GraphNode::Kind::kConstant;
    node.value = value, node.type = std::move(type);
    return add(std::move(node));
  }
  template <typename T>
  Tensor constant(Shape shape, const std::vector<T>& values) {
    GraphNode node;
    node.kind = GraphNode::Kind::kLiteral;
    node.type = {dtype_of<T>(), std::move(shape)};
    require(node.type.num_elements() == static_cast<int64_t>(values.size()),
            "The values of a constant are not as many as its shape says.");
    node.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(&node.bytes[0], values.data(), node.bytes.size());
    return add(std::move(node));
  }

  // A node as it is; the functions below check and infer.
  Tensor add(GraphNode node) {
    require(node.type.dtype >= DType::kBool && node.type.dtype < DType::kC64,
            "The graph builder has no complex tensors and none of 8-bit floats or smaller types.");
    for (const Tensor& operand : node.operands) require_own(operand);
    for (int64_t size : node.type.shape)
      require(size >= 0, "A size of (" + to_string(node.type) + ") is negative.");
    nodes_.push_back(std::move(node));
    return Tensor(this, nodes_.size() - 1);
  }
  const GraphNode& node(size_t index) const { return nodes_[index]; }
  size_t num_nodes() const { return nodes_.size(); }

  // The module as text.
  std::string stablehlo() const;

 private:
  void require_own(Tensor value) const {
    require(&value.graph() == this, "A tensor is of another graph.");
  }
  static void require_name(const std::string& name) {
    for (char c : name)
      require(c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ',
              "A name (" + name + ") has quotes, backslashes or control characters.");
  }
  static bool holds_value(DType dtype, double value) {
    if (dtype >= DType::kF16 || dtype == DType::kBool || std::isinf(value)) return true;
    bool is_signed = dtype <= DType::kI64;
    auto bits = static_cast<int>(8 * tuff_dtype_size(static_cast<tuff_dtype>(dtype)));
    double beyond = std::ldexp(1.0, is_signed ? bits - 1 : bits);
    return std::trunc(value) == value && value < beyond && value >= (is_signed ? -beyond : 0.0);
  }
  std::string statement(size_t index) const;

  std::vector<GraphNode> nodes_;
  std::vector<size_t> inputs_;
  std::vector<int64_t> donated_to_;  // by input; -1: kept
  std::vector<std::pair<std::string, Tensor>> outputs_;
};

inline Graph& Tensor::graph() const {
  require(graph_ != nullptr, "A tensor is of no graph.");
  return *graph_;
}
inline const TensorType& Tensor::type() const { return graph().node(node_).type; }
inline int64_t Tensor::size(int64_t dimension) const {
  require(
      dimension >= 0 && dimension < rank(),
      "There is no dimension (" + std::to_string(dimension) + ") of (" + to_string(type()) + ").");
  return shape()[static_cast<size_t>(dimension)];
}

}  // namespace tuff

#include <tuff_operations.hpp>
#include <tuff_stablehlo.hpp>

#endif  // TUFF_GRAPH_HPP
