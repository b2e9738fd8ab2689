// tuff_gradients.hpp: reverse-mode derivatives of graphs of tuff_graph.hpp, as further nodes of the
// graph.
#ifndef TUFF_GRADIENTS_HPP
#define TUFF_GRADIENTS_HPP

#include <optional>
#include <tuff_graph.hpp>

namespace tuff {

namespace detail {

// Collects what each node's derivative is made of, from the loss backwards.
class Gradients {
 public:
  explicit Gradients(Tensor loss) : graph_(loss.graph()), of_(loss.node() + 1) {
    require(loss.rank() == 0 && is_float(loss),
            "A loss must be a scalar of a float type; sum or average it first.");
    of_[loss.node()] = graph_.constant(1, loss.type());
    for (size_t i = loss.node() + 1; i-- > 0;)
      if (of_[i]) spread(i, *of_[i]);
  }

  Tensor at(Tensor x) const {
    require(&x.graph() == &graph_, "A parameter is of another graph than the loss.");
    if (x.node() < of_.size() && of_[x.node()]) return *of_[x.node()];
    return graph_.constant(0, x.type());  // the loss does not depend on it
  }

 private:
  static bool is_float(Tensor x) { return x.dtype() >= DType::kF16; }

  void give(Tensor to, Tensor gradient) {
    if (!is_float(to)) return;
    std::optional<Tensor>& have = of_[to.node()];
    have = have ? *have + gradient : gradient;
  }

  static Shape free_dimensions(Tensor x, const Shape& batch, const Shape& contracting) {
    Shape free;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (!std::count(batch.begin(), batch.end(), d) &&
          !std::count(contracting.begin(), contracting.end(), d))
        free.push_back(d);
    return free;
  }
  static Shape range(int64_t from, size_t count) {
    Shape numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(from + static_cast<int64_t>(i));
    return numbers;
  }

  // A dot's result has its dimensions in the order batch, free, contracting (of the other operand,
  // ascending); this puts them where the operand has them.
  static Tensor in_place_of(Tensor dot, const Shape& batch, const Shape& free,
                            const Shape& contracting, const Shape& others_contracting,
                            bool contracting_first) {
    std::vector<std::pair<int64_t, int64_t>> order;  // of the other's contracting dimensions
    for (size_t i = 0; i < contracting.size(); ++i)
      order.push_back({others_contracting[i], contracting[i]});
    std::sort(order.begin(), order.end());
    Shape places = batch;
    if (!contracting_first) places.insert(places.end(), free.begin(), free.end());
    for (const auto& [other, own] : order) places.push_back(own);
    if (contracting_first) places.insert(places.end(), free.begin(), free.end());
    Shape permutation(places.size());
    for (size_t i = 0; i < places.size(); ++i)
      permutation[static_cast<size_t>(places[i])] = static_cast<int64_t>(i);
    return transpose(dot, permutation);
  }

  void spread_dot(const GraphNode& node, Tensor dy) {
    Tensor a = node.operands[0], b = node.operands[1];
    const DotDimensions& dot = node.dot;
    Shape a_free = free_dimensions(a, dot.lhs_batch, dot.lhs_contracting);
    Shape b_free = free_dimensions(b, dot.rhs_batch, dot.rhs_contracting);
    auto batches = static_cast<int64_t>(dot.lhs_batch.size()),
         rows = static_cast<int64_t>(a_free.size());
    Shape batch = range(0, dot.lhs_batch.size());
    Tensor da =
        dot_general(dy, b, {batch, dot.rhs_batch, range(batches + rows, b_free.size()), b_free});
    give(a,
         in_place_of(da, dot.lhs_batch, a_free, dot.lhs_contracting, dot.rhs_contracting, false));
    Tensor db = dot_general(a, dy, {dot.lhs_batch, batch, a_free, range(batches, a_free.size())});
    give(b, in_place_of(db, dot.rhs_batch, b_free, dot.rhs_contracting, dot.lhs_contracting, true));
  }

  // Of layouts [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] without dilation of the operand: each
  // derivative is a convolution, whose padding makes the operand's size come out.
  void spread_convolution(const GraphNode& node, Tensor dy) {
    const Convolution& how = node.convolution;
    require(how.dimensions == Convolution().dimensions && how.lhs_dilation == Shape({1, 1}),
            "Only convolutions of [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] without lhs_dilation "
            "have derivatives.");
    Tensor x = node.operands[0], kernel = node.operands[1];
    Convolution to_x, to_kernel;
    to_x.dimensions = "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]";
    to_x.lhs_dilation = how.strides, to_x.rhs_dilation = how.rhs_dilation;
    to_kernel.dimensions = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]";
    to_kernel.strides = how.rhs_dilation, to_kernel.rhs_dilation = how.strides;
    for (size_t i = 0; i < 2; ++i) {
      int64_t reach = (kernel.shape()[i] - 1) * how.rhs_dilation[i], low = how.padding[i].first;
      int64_t dilated = (dy.shape()[i + 1] - 1) * how.strides[i] + 1, size = x.shape()[i + 1];
      to_x.padding[i] = {reach - low, size - dilated + low};
      to_kernel.padding[i] = {low, reach + dilated - size - low};
    }
    give(x, convolution(dy, reverse(kernel, {0, 1}), to_x));
    give(kernel, convolution(x, dy, to_kernel));
  }

  void spread_reduce(const GraphNode& node, Tensor y, Tensor dy) {
    Tensor x = node.operands[0];
    Shape kept;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (!std::count(node.dimensions.begin(), node.dimensions.end(), d)) kept.push_back(d);
    auto widened = [&](Tensor t) { return broadcast_in_dim(t, {t.dtype(), x.shape()}, kept); };
    if (node.name == "add") return give(x, widened(dy));
    require(node.name == "maximum" || node.name == "minimum",
            "reduce by " + node.name + " has no derivative here.");
    // Equal elements share.
    Tensor chosen = convert(compare("EQ", x, widened(y)), x.dtype());
    give(x, widened(dy / sum(chosen, node.dimensions)) * chosen);
  }

  void spread_elementwise(const GraphNode& node, Tensor y, Tensor dy) {
    const std::string& name = node.name;
    Tensor a = node.operands[0], b = node.operands.back();
    if (name == "add") return give(a, dy), give(b, dy);
    if (name == "subtract") return give(a, dy), give(b, -dy);
    if (name == "multiply") return give(a, dy * b), give(b, dy * a);
    if (name == "divide") return give(a, dy / b), give(b, -(dy * y / b));
    if (name == "maximum" || name == "minimum") {  // equal elements share
      Tensor zero = like(dy, 0), half = 0.5 * dy, equal = compare("EQ", a, b);
      Tensor first = compare(name == "maximum" ? "GT" : "LT", a, b);
      give(a, select(equal, half, select(first, dy, zero)));
      return give(b, select(equal, half, select(first, zero, dy)));
    }
    if (name == "power") return give(a, dy * b * power(a, b - 1.0)), give(b, dy * y * log(a));
    if (name == "negate") return give(a, -dy);
    if (name == "abs") return give(a, dy * elementwise("sign", {a}));
    if (name == "exponential") return give(a, dy * y);
    if (name == "log") return give(a, dy / a);
    if (name == "sqrt") return give(a, 0.5 * dy / y);
    if (name == "rsqrt") return give(a, -0.5 * dy * y / a);
    if (name == "tanh") return give(a, dy * (1.0 - y * y));
    if (name == "logistic") return give(a, dy * y * (1.0 - y));
    if (name == "sine") return give(a, dy * cos(a));
    if (name == "cosine") return give(a, -(dy * sin(a)));
    if (name == "sign" || name == "floor" || name == "ceil") return;
    require(false, "The operation " + name + " has no derivative here.");
  }

  void spread_concatenate(const GraphNode& node, Tensor dy) {
    auto d = static_cast<size_t>(node.dimensions[0]);
    Shape starts(dy.shape().size(), 0), limits = dy.shape();
    for (const Tensor& operand : node.operands) {
      limits[d] = starts[d] + operand.shape()[d];
      give(operand, slice(dy, starts, limits));
      starts[d] = limits[d];
    }
  }

  void spread_slice(const GraphNode& node, Tensor dy) {
    Shape high;
    for (size_t i = 0; i < node.limits.size(); ++i)
      high.push_back(node.operands[0].shape()[i] - node.limits[i]);
    give(node.operands[0], pad(dy, node.starts, high));
  }

  void spread_pad(const GraphNode& node, Tensor dy) {
    Shape limits;
    for (size_t i = 0; i < node.starts.size(); ++i)
      limits.push_back(node.starts[i] + node.operands[0].shape()[i]);
    give(node.operands[0], slice(dy, node.starts, limits));
  }

  void spread_transpose(const GraphNode& node, Tensor dy) {
    Shape inverse(node.dimensions.size());
    for (size_t i = 0; i < inverse.size(); ++i)
      inverse[static_cast<size_t>(node.dimensions[i])] = static_cast<int64_t>(i);
    give(node.operands[0], transpose(dy, inverse));
  }

  // The sum over what was made of one element.
  void spread_broadcast(const GraphNode& node, Tensor dy) {
    Tensor x = node.operands[0];
    Shape repeated;
    for (int64_t d = 0; d < dy.rank(); ++d) {
      auto at = std::find(node.dimensions.begin(), node.dimensions.end(), d);
      bool kept = at != node.dimensions.end() &&
                  x.shape()[static_cast<size_t>(at - node.dimensions.begin())] == dy.size(d);
      if (!kept) repeated.push_back(d);
    }
    give(x, reshape(sum(dy, repeated), x.shape()));
  }

  void spread_take(const GraphNode& node, Tensor dy) {
    GraphNode added;
    added.kind = GraphNode::Kind::kAddRows;
    added.type = node.operands[0].type();
    added.operands = {graph_.constant(0, added.type), node.operands[1], dy};
    give(node.operands[0], graph_.add(std::move(added)));
  }

  void spread_max_pool(const GraphNode& node, Tensor dy) {
    GraphNode spread;
    spread.kind = GraphNode::Kind::kMaxPoolGradient;
    spread.type = node.operands[0].type(), spread.pooling = node.pooling;
    spread.operands = {node.operands[0], dy, graph_.constant(0, {spread.type.dtype, {}})};
    give(node.operands[0], graph_.add(std::move(spread)));
  }

  // Gives the operands of node `index` their share of its derivative.
  void spread(size_t index, Tensor dy) {
    using Kind = GraphNode::Kind;
    const GraphNode node = graph_.node(index);  // a copy: nodes are added meanwhile
    switch (node.kind) {
      case Kind::kInput:
      case Kind::kConstant:
      case Kind::kLiteral:
      case Kind::kIota:
      case Kind::kCompare: return;
      case Kind::kElementwise: return spread_elementwise(node, Tensor(&graph_, index), dy);
      case Kind::kSelect: {
        Tensor zero = like(dy, 0);
        give(node.operands[1], select(node.operands[0], dy, zero));
        return give(node.operands[2], select(node.operands[0], zero, dy));
      }
      case Kind::kConvert: return give(node.operands[0], convert(dy, node.operands[0].dtype()));
      case Kind::kBroadcastInDim: return spread_broadcast(node, dy);
      case Kind::kReshape: return give(node.operands[0], reshape(dy, node.operands[0].shape()));
      case Kind::kTranspose: return spread_transpose(node, dy);
      case Kind::kReverse: return give(node.operands[0], reverse(dy, node.dimensions));
      case Kind::kReduce: return spread_reduce(node, Tensor(&graph_, index), dy);
      case Kind::kDotGeneral: return spread_dot(node, dy);
      case Kind::kConvolution: return spread_convolution(node, dy);
      case Kind::kSlice: return spread_slice(node, dy);
      case Kind::kPad: return spread_pad(node, dy);
      case Kind::kConcatenate: return spread_concatenate(node, dy);
      case Kind::kTake: return spread_take(node, dy);
      case Kind::kMaxPool: return spread_max_pool(node, dy);
      case Kind::kAddRows: return give(node.operands[2], take(dy, node.operands[1]));
      case Kind::kMaxPoolGradient: require(false, "max_pool has no second derivative here.");
    }
  }

  Graph& graph_;
  std::vector<std::optional<Tensor>> of_;  // by node
};

}  // namespace detail

// The derivatives of a scalar `loss` with respect to each of `parameters`, of their types. Where a
// loss does not depend on one, zeros. Throws for operations that have none (see the rules above);
// integers have none and pass none on.
inline std::vector<Tensor> gradients(Tensor loss, const std::vector<Tensor>& parameters) {
  detail::Gradients all(loss);
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) gradients.push_back(all.at(parameter));
  return gradients;
}

}  // namespace tuff

#endif  // TUFF_GRADIENTS_HPP
