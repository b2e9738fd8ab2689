// tuff_operations.hpp: what tensors of a Graph are computed with (tuff_graph.hpp, which includes
// this). A wrong shape, type or dimension is a tuff::Error at the call.
#ifndef TUFF_OPERATIONS_HPP
#define TUFF_OPERATIONS_HPP

#include <algorithm>
#include <cmath>
#include <string>
#include <tuff_graph.hpp>
#include <utility>
#include <vector>

namespace tuff {

// Throws unless these are dimensions of the type, each once at most.
inline void require_dimensions(const char* what, const TensorType& type, Shape dimensions) {
  std::sort(dimensions.begin(), dimensions.end());
  bool twice = std::adjacent_find(dimensions.begin(), dimensions.end()) != dimensions.end();
  bool inside = dimensions.empty() || (dimensions.front() >= 0 &&
                                       dimensions.back() < static_cast<int64_t>(type.shape.size()));
  require(inside && !twice, std::string(what) + " names dimensions that (" + to_string(type) +
                                ") has not, or one twice.");
}

// ---- Elementwise, with NumPy's broadcasting ----

inline Tensor broadcast_in_dim(Tensor x, TensorType type, Shape dimensions) {
  if (x.type() == type) return x;
  require(static_cast<int64_t>(dimensions.size()) == x.rank(),
          "A broadcast needs a dimension of the result for each of its operand.");
  require_dimensions("broadcast_in_dim", type, dimensions);
  for (size_t i = 0; i < dimensions.size(); ++i)
    require(x.shape()[i] == 1 || x.shape()[i] == type.shape[static_cast<size_t>(dimensions[i])],
            "A broadcast's operand (" + to_string(x.type()) + ") does not fit (" + to_string(type) +
                ").");
  GraphNode node;
  node.kind = GraphNode::Kind::kBroadcastInDim;
  node.operands = {x}, node.type = std::move(type), node.dimensions = std::move(dimensions);
  return x.graph().add(std::move(node));
}

inline Tensor broadcast_to(Tensor x, const Shape& shape) {
  require(x.shape().size() <= shape.size(), "A broadcast's result has fewer dimensions.");
  Shape dimensions;
  for (size_t i = shape.size() - x.shape().size(); i < shape.size(); ++i)
    dimensions.push_back(static_cast<int64_t>(i));
  return broadcast_in_dim(x, {x.dtype(), shape}, dimensions);
}

inline Shape broadcast_shape(const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = shape[longer.size() - shorter.size() + i];
    require(size == shorter[i] || size == 1 || shorter[i] == 1,
            "The sizes (" + std::to_string(size) + ") and (" + std::to_string(shorter[i]) +
                ") of two operands do not broadcast.");
    if (size == 1) size = shorter[i];
  }
  return shape;
}

// `name` is StableHLO's: "add", "exponential"; of one type, which is the result's.
inline Tensor elementwise(const std::string& name, std::vector<Tensor> operands) {
  require(!operands.empty(), name + " needs operands.");
  Shape shape = operands[0].shape();
  for (const Tensor& operand : operands) {
    require(operand.dtype() == operands[0].dtype(),
            "The operands of " + name + " differ in dtype.");
    shape = broadcast_shape(shape, operand.shape());
  }
  for (Tensor& operand : operands) operand = broadcast_to(operand, shape);
  GraphNode node;
  node.kind = GraphNode::Kind::kElementwise;
  node.name = name, node.type = {operands[0].dtype(), shape}, node.operands = std::move(operands);
  Graph& graph = node.operands[0].graph();
  return graph.add(std::move(node));
}

inline Tensor like(Tensor x, double value) { return x.graph().constant(value, x.type()); }

#define TUFF_GRAPH_BINARY(function, name)                                                   \
  inline Tensor function(Tensor a, Tensor b) { return elementwise(name, {a, b}); }          \
  inline Tensor function(Tensor a, double b) { return elementwise(name, {a, like(a, b)}); } \
  inline Tensor function(double a, Tensor b) { return elementwise(name, {like(b, a), b}); }
TUFF_GRAPH_BINARY(operator+, "add")
TUFF_GRAPH_BINARY(operator-, "subtract")
TUFF_GRAPH_BINARY(operator*, "multiply")
TUFF_GRAPH_BINARY(operator/, "divide")
TUFF_GRAPH_BINARY(maximum, "maximum")
TUFF_GRAPH_BINARY(minimum, "minimum")
TUFF_GRAPH_BINARY(power, "power")
#undef TUFF_GRAPH_BINARY

#define TUFF_GRAPH_UNARY(function, name) \
  inline Tensor function(Tensor x) { return elementwise(name, {x}); }
TUFF_GRAPH_UNARY(operator-, "negate")
TUFF_GRAPH_UNARY(abs, "abs")
TUFF_GRAPH_UNARY(exp, "exponential")
TUFF_GRAPH_UNARY(log, "log")
TUFF_GRAPH_UNARY(sqrt, "sqrt")
TUFF_GRAPH_UNARY(rsqrt, "rsqrt")
TUFF_GRAPH_UNARY(tanh, "tanh")
TUFF_GRAPH_UNARY(logistic, "logistic")
TUFF_GRAPH_UNARY(sin, "sine")
TUFF_GRAPH_UNARY(cos, "cosine")
#undef TUFF_GRAPH_UNARY

// `direction`: EQ, NE, LT, LE, GT, GE. The result is of booleans.
inline Tensor compare(const std::string& direction, Tensor a, Tensor b) {
  require(a.dtype() == b.dtype(), "The operands of compare differ in dtype.");
  Shape shape = broadcast_shape(a.shape(), b.shape());
  GraphNode node;
  node.kind = GraphNode::Kind::kCompare;
  node.name = direction, node.type = {DType::kBool, shape};
  node.operands = {broadcast_to(a, shape), broadcast_to(b, shape)};
  return a.graph().add(std::move(node));
}

inline Tensor select(Tensor predicate, Tensor on_true, Tensor on_false) {
  require(predicate.dtype() == DType::kBool && on_true.dtype() == on_false.dtype(),
          "select needs a predicate of booleans and two values of one dtype.");
  Shape shape = broadcast_shape(predicate.shape(), on_true.shape());
  shape = broadcast_shape(shape, on_false.shape());
  GraphNode node;
  node.kind = GraphNode::Kind::kSelect;
  node.type = {on_true.dtype(), shape};
  node.operands = {broadcast_to(predicate, shape), broadcast_to(on_true, shape),
                   broadcast_to(on_false, shape)};
  return predicate.graph().add(std::move(node));
}

inline Tensor convert(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  GraphNode node;
  node.kind = GraphNode::Kind::kConvert;
  node.operands = {x}, node.type = {dtype, x.shape()};
  return x.graph().add(std::move(node));
}

inline Tensor iota(Graph& graph, TensorType type, int64_t dimension) {
  require_dimensions("iota", type, {dimension});
  GraphNode node;
  node.kind = GraphNode::Kind::kIota;
  node.type = std::move(type), node.dimensions = {dimension};
  return graph.add(std::move(node));
}

// ---- Views ----

inline Tensor reshape(Tensor x, Shape shape) {
  if (x.shape() == shape) return x;
  GraphNode node;
  node.kind = GraphNode::Kind::kReshape;
  node.operands = {x}, node.type = {x.dtype(), std::move(shape)};
  require(node.type.num_elements() == x.type().num_elements(),
          "A reshape of (" + to_string(x.type()) + ") to (" + to_string(node.type) +
              ") changes the number of elements.");
  return x.graph().add(std::move(node));
}

inline Tensor transpose(Tensor x, Shape permutation) {
  Shape sorted = permutation, same(permutation.size());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int64_t>(i);
  require(sorted == same && static_cast<int64_t>(same.size()) == x.rank(),
          "A transpose's permutation must name each dimension once.");
  if (permutation == same) return x;
  GraphNode node;
  node.kind = GraphNode::Kind::kTranspose;
  node.operands = {x}, node.type.dtype = x.dtype();
  for (int64_t d : permutation) node.type.shape.push_back(x.size(d));
  node.dimensions = std::move(permutation);
  return x.graph().add(std::move(node));
}

inline Tensor reverse(Tensor x, Shape dimensions) {
  require_dimensions("reverse", x.type(), dimensions);
  GraphNode node;
  node.kind = GraphNode::Kind::kReverse;
  node.operands = {x}, node.type = x.type(), node.dimensions = std::move(dimensions);
  return x.graph().add(std::move(node));
}

// Elements from `starts` to before `limits`.
inline Tensor slice(Tensor x, Shape starts, Shape limits) {
  require(static_cast<int64_t>(starts.size()) == x.rank() && limits.size() == starts.size(),
          "A slice needs a start and a limit for each dimension.");
  GraphNode node;
  node.kind = GraphNode::Kind::kSlice;
  node.operands = {x}, node.type.dtype = x.dtype();
  for (size_t i = 0; i < starts.size(); ++i) {
    require(0 <= starts[i] && starts[i] <= limits[i] && limits[i] <= x.shape()[i],
            "A slice goes beyond its operand (" + to_string(x.type()) + ").");
    node.type.shape.push_back(limits[i] - starts[i]);
  }
  node.starts = std::move(starts), node.limits = std::move(limits);
  return x.graph().add(std::move(node));
}

// With zeros before and after.
inline Tensor pad(Tensor x, Shape low, Shape high) {
  require(static_cast<int64_t>(low.size()) == x.rank() && low.size() == high.size(),
          "A pad needs two widths for each dimension.");
  GraphNode node;
  node.kind = GraphNode::Kind::kPad;
  node.operands = {x, x.graph().constant(0, {x.dtype(), {}})}, node.type.dtype = x.dtype();
  for (size_t i = 0; i < low.size(); ++i)
    node.type.shape.push_back(low[i] + x.shape()[i] + high[i]);
  node.starts = std::move(low), node.limits = std::move(high);
  return x.graph().add(std::move(node));
}

inline Tensor concatenate(std::vector<Tensor> operands, int64_t dimension) {
  require(!operands.empty(), "concatenate needs operands.");
  GraphNode node;
  node.kind = GraphNode::Kind::kConcatenate;
  node.type = operands[0].type();
  auto d = static_cast<size_t>(dimension);
  require(dimension >= 0 && d < node.type.shape.size(), "concatenate has no such dimension.");
  node.type.shape[d] = 0;
  for (const Tensor& operand : operands) {
    Shape others = operand.shape();
    require(operand.rank() > dimension, "The operands of concatenate differ in rank.");
    node.type.shape[d] += others[d];
    others[d] = node.type.shape[d];
    require(others == node.type.shape && operand.dtype() == node.type.dtype,
            "The operands of concatenate differ beside its dimension.");
  }
  node.operands = std::move(operands), node.dimensions = {dimension};
  return node.operands[0].graph().add(node);
}

// Rows of a table [rows, columns...] by indices: [indices..., columns...].
inline Tensor take(Tensor table, Tensor indices) {
  require(table.rank() >= 1, "take needs a table of rows.");
  require(indices.dtype() >= DType::kI8 && indices.dtype() <= DType::kU64,
          "take needs indices of an integer type.");
  GraphNode node;
  node.kind = GraphNode::Kind::kTake;
  node.type = {table.dtype(), indices.shape()};
  node.type.shape.insert(node.type.shape.end(), table.shape().begin() + 1, table.shape().end());
  node.operands = {table, indices};
  return table.graph().add(std::move(node));
}

// ---- Reductions ----

// `body`: add, multiply, maximum or minimum.
inline Tensor reduce(const std::string& body, Tensor x, Shape dimensions, bool keep = false) {
  require(body == "add" || body == "multiply" || body == "maximum" || body == "minimum",
          "There is no reduce by " + body + " here.");
  require_dimensions("reduce", x.type(), dimensions);
  double init = body == "add"        ? 0
                : body == "multiply" ? 1
                : body == "maximum"  ? -INFINITY
                                     : INFINITY;
  GraphNode node;
  node.kind = GraphNode::Kind::kReduce;
  node.name = body, node.type.dtype = x.dtype();
  Shape kept;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool gone = std::count(dimensions.begin(), dimensions.end(), d) > 0;
    if (!gone) node.type.shape.push_back(x.size(d));
    kept.push_back(gone ? 1 : x.size(d));
  }
  node.operands = {x, x.graph().constant(init, {x.dtype(), {}})};
  node.dimensions = std::move(dimensions);
  Tensor reduced = x.graph().add(std::move(node));
  return keep ? reshape(reduced, kept) : reduced;
}
inline Shape all_dimensions(Tensor x) {
  Shape all;
  for (int64_t d = 0; d < x.rank(); ++d) all.push_back(d);
  return all;
}
inline Tensor sum(Tensor x, Shape dimensions, bool keep = false) {
  return reduce("add", x, std::move(dimensions), keep);
}
inline Tensor sum(Tensor x) { return sum(x, all_dimensions(x)); }
inline Tensor mean(Tensor x, const Shape& dimensions, bool keep = false) {
  double count = 1;
  for (int64_t d : dimensions) count *= static_cast<double>(x.size(d));
  return sum(x, dimensions, keep) / count;
}
inline Tensor mean(Tensor x) { return mean(x, all_dimensions(x)); }

// ---- Contractions ----

inline Tensor dot_general(Tensor a, Tensor b, DotDimensions dims) {
  auto free_sizes = [](Tensor x, const Shape& batch, const Shape& contracting, Shape* to) {
    for (int64_t d = 0; d < x.rank(); ++d)
      if (!std::count(batch.begin(), batch.end(), d) &&
          !std::count(contracting.begin(), contracting.end(), d))
        to->push_back(x.size(d));
  };
  require(a.dtype() == b.dtype(), "The operands of dot_general differ in dtype.");
  auto all = [](Shape some, const Shape& others) {
    some.insert(some.end(), others.begin(), others.end());
    return some;
  };
  require_dimensions("dot_general", a.type(), all(dims.lhs_batch, dims.lhs_contracting));
  require_dimensions("dot_general", b.type(), all(dims.rhs_batch, dims.rhs_contracting));
  require(dims.lhs_batch.size() == dims.rhs_batch.size() &&
              dims.lhs_contracting.size() == dims.rhs_contracting.size(),
          "dot_general needs as many dimensions of one operand as of the other.");
  GraphNode node;
  node.kind = GraphNode::Kind::kDotGeneral;
  node.type.dtype = a.dtype();
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    require(a.size(dims.lhs_batch[i]) == b.size(dims.rhs_batch[i]),
            "Batch dimensions of dot_general differ.");
    node.type.shape.push_back(a.size(dims.lhs_batch[i]));
  }
  for (size_t i = 0; i < dims.lhs_contracting.size(); ++i)
    require(a.size(dims.lhs_contracting[i]) == b.size(dims.rhs_contracting[i]),
            "Contracting dimensions of (" + to_string(a.type()) + ") and (" + to_string(b.type()) +
                ") differ.");
  free_sizes(a, dims.lhs_batch, dims.lhs_contracting, &node.type.shape);
  free_sizes(b, dims.rhs_batch, dims.rhs_contracting, &node.type.shape);
  node.operands = {a, b}, node.dot = std::move(dims);
  return a.graph().add(std::move(node));
}

// [..., m, k] x [..., k, n]: leading dimensions are batches, or `b` has none.
inline Tensor matmul(Tensor a, Tensor b) {
  require(a.rank() >= 2 && b.rank() >= 2, "matmul needs matrices.");
  DotDimensions dims;
  if (b.rank() > 2)
    for (int64_t d = 0; d + 2 < a.rank(); ++d)
      dims.lhs_batch.push_back(d), dims.rhs_batch.push_back(d);
  dims.lhs_contracting = {a.rank() - 1}, dims.rhs_contracting = {b.rank() - 2};
  require(b.rank() == 2 || a.rank() == b.rank(), "The operands of matmul differ in rank.");
  return dot_general(a, b, dims);
}

inline int64_t convolved_size(int64_t size, int64_t lhs_dilation,
                              std::pair<int64_t, int64_t> padding, int64_t window,
                              int64_t rhs_dilation, int64_t stride) {
  require(lhs_dilation > 0 && rhs_dilation > 0 && stride > 0,
          "A window's strides and dilations must be at least 1.");
  int64_t dilated = size == 0 ? 0 : (size - 1) * lhs_dilation + 1;
  int64_t room = dilated + padding.first + padding.second - ((window - 1) * rhs_dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

// By layouts, such as "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]".
inline Tensor convolution(Tensor x, Tensor kernel, Convolution how) {
  auto place = [&how](size_t part, char name) {
    const std::string& layout = how.dimensions;
    size_t begin = 0;
    for (size_t i = 0; i <= part && begin < layout.size(); ++i) begin = layout.find('[', begin) + 1;
    size_t at = 0;
    for (size_t i = begin; begin > 0 && i < layout.size() && layout[i] != ']'; ++i) {
      if (layout[i] == name && at < 4) return at;
      if (layout[i] == ',') ++at;
    }
    throw Error(TUFF_INVALID_ARGUMENT, "A convolution's layout (" + layout + ") is not one.", "");
  };
  require(x.rank() == 4 && kernel.rank() == 4, "A convolution needs operands of rank 4.");
  require(x.dtype() == kernel.dtype(), "The operands of convolution differ in dtype.");
  require(how.strides.size() == 2 && how.padding.size() == 2 && how.lhs_dilation.size() == 2 &&
              how.rhs_dilation.size() == 2,
          "A convolution's strides, padding and dilations are two each.");
  require(x.shape()[place(0, 'f')] == kernel.shape()[place(1, 'i')],
          "The channels of (" + to_string(x.type()) + ") and of the kernel (" +
              to_string(kernel.type()) + ") differ.");
  GraphNode node;
  node.kind = GraphNode::Kind::kConvolution;
  node.type = {x.dtype(), Shape(4)};
  node.type.shape[place(2, 'b')] = x.shape()[place(0, 'b')];
  node.type.shape[place(2, 'f')] = kernel.shape()[place(1, 'o')];
  for (size_t i = 0; i < 2; ++i) {
    char name = i == 0 ? '0' : '1';
    node.type.shape[place(2, name)] =
        convolved_size(x.shape()[place(0, name)], how.lhs_dilation[i], how.padding[i],
                       kernel.shape()[place(1, name)], how.rhs_dilation[i], how.strides[i]);
  }
  node.operands = {x, kernel}, node.convolution = std::move(how);
  return x.graph().add(std::move(node));
}

// [batch, height, width, channels] by windows.
inline Tensor max_pool(Tensor x, Pooling how = {}) {
  require(x.rank() == 4, "max_pool needs an operand of rank 4.");
  require(how.window.size() == 2 && how.strides.size() == 2 && how.padding.size() == 2,
          "A pooling's window, strides and padding are two each.");
  GraphNode node;
  node.kind = GraphNode::Kind::kMaxPool;
  node.type = x.type();
  for (size_t i = 0; i < 2; ++i)
    node.type.shape[i + 1] =
        convolved_size(x.shape()[i + 1], 1, how.padding[i], how.window[i], 1, how.strides[i]);
  node.operands = {x, x.graph().constant(-INFINITY, {x.dtype(), {}})},
  node.pooling = std::move(how);
  return x.graph().add(std::move(node));
}

// ---- What models are made of ----

inline Tensor relu(Tensor x) { return maximum(x, 0.0); }

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), from arXiv:1606.08415.
inline Tensor gelu(Tensor x) {
  return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

inline Tensor softmax(Tensor x, int64_t dimension) {
  Tensor e = exp(x - reduce("maximum", x, {dimension}, true));
  return e / sum(e, {dimension}, true);
}

inline Tensor log_softmax(Tensor x, int64_t dimension) {
  Tensor shifted = x - reduce("maximum", x, {dimension}, true);
  return shifted - log(sum(exp(shifted), {dimension}, true));
}

// Over the last dimension.
inline Tensor layer_norm(Tensor x, Tensor scale, Tensor shift, double epsilon = 1e-5) {
  int64_t last = x.rank() - 1;
  Tensor centred = x - mean(x, {last}, true);
  Tensor variance = mean(centred * centred, {last}, true);
  return centred * rsqrt(variance + epsilon) * scale + shift;
}

// 1 where the last dimension's index is the label, else 0.
inline Tensor one_hot(Tensor labels, int64_t count, DType dtype = DType::kF32) {
  Shape shape = labels.shape();
  shape.push_back(count);
  Tensor classes = iota(labels.graph(), {labels.dtype(), shape}, labels.rank());
  Shape column = labels.shape();
  column.push_back(1);
  return convert(compare("EQ", reshape(labels, column), classes), dtype);
}

// Mean of -log softmax(logits)[label], over all but the last dimension.
inline Tensor cross_entropy(Tensor logits, Tensor labels) {
  int64_t last = logits.rank() - 1;
  Tensor likelihood =
      log_softmax(logits, last) * one_hot(labels, logits.size(last), logits.dtype());
  return -mean(sum(likelihood, {last}));
}

}  // namespace tuff

#endif  // TUFF_OPERATIONS_HPP
