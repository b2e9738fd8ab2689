#include "ir/passes/decompose/decompose.h"

#include <algorithm>

#include "ir/passes/decompose/decompose_rules.h"

namespace tuff {

namespace decomposition {

Value broadcast(const RewriteSite& site, Value v, const Shape& shape, std::vector<int64_t> dims) {
  if (site.out.type(v).shape == shape) return v;
  return site.add(Op::kBroadcastInDim, {v}, {site.out.type(v).dtype, shape},
                  BroadcastInDimAttrs{std::move(dims)});
}

Value convert(const RewriteSite& site, Value v, DType dtype) {
  if (site.out.type(v).dtype == dtype) return v;
  return site.add(Op::kConvert, {v}, {dtype, site.out.type(v).shape});
}

Value reshape(const RewriteSite& site, Value v, Shape shape) {
  if (site.out.type(v).shape == shape) return v;
  return site.add(Op::kReshape, {v}, {site.out.type(v).dtype, std::move(shape)});
}

Value slice(const RewriteSite& site, Value v, size_t dimension, int64_t from, int64_t to) {
  TensorType type = site.out.type(v);
  size_t rank = type.shape.size();
  Shape start(rank, 0), limit = type.shape;
  if (from == 0 && to == type.shape[dimension]) return v;
  start[dimension] = from, limit[dimension] = to, type.shape[dimension] = to - from;
  SliceAttrs attrs{std::move(start), std::move(limit), std::vector<int64_t>(rank, 1)};
  return site.add(Op::kSlice, {v}, std::move(type), std::move(attrs));
}

Value sum(const RewriteSite& site, Value v, std::vector<int64_t> dims) {
  const TensorType type = site.out.type(v), scalar{type.dtype, {}};
  Shape kept;
  for (int64_t d = 0; d < type.rank(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      kept.push_back(type.shape[static_cast<size_t>(d)]);
  Graph body;
  Value a = body.add_parameter(scalar), b = body.add_parameter(scalar);
  body.set_outputs({add_op(body, Op::kAdd, {a, b}, scalar)});
  Node node;
  node.op = Op::kReduce;
  node.loc = site.node.loc;
  node.types = {{type.dtype, std::move(kept)}};
  node.operands = {v, site.constant(Literal::scalar(type.dtype, 0))};
  node.attrs = DimensionsAttrs{std::move(dims)};
  node.regions = {std::make_shared<const Graph>(std::move(body))};
  return site.out.add(std::move(node));
}

bool is_elementwise_region(const Graph& region) {
  for (uint32_t id = region.num_parameters(); id < region.nodes().size(); ++id) {
    const Node& node = region.node(id);
    if (!is_elementwise(node.op) && node.op != Op::kConstant) return false;
  }
  return true;
}

Value elementwise_region(const RewriteSite& site, const Graph& region,
                         const std::vector<Value>& arguments) {
  const Shape shape = site.out.type(arguments[0]).shape;
  std::vector<Value> values = arguments;
  for (uint32_t id = region.num_parameters(); id < region.nodes().size(); ++id) {
    Node node = region.node(id);
    if (node.op == Op::kConstant) {
      values.push_back(broadcast(site, site.out.add(std::move(node)), shape, {}));
    } else {
      for (Value& v : node.operands) v = values[v.node];
      node.types[0].shape = shape;
      values.push_back(site.out.add(std::move(node)));
    }
  }
  return values[region.outputs()[0].node];
}

}  // namespace decomposition

namespace {

using namespace decomposition;
using Ints = std::vector<int64_t>;

// Batch normalisation over every dimension but the feature's.
class BatchNorm {
 public:
  explicit BatchNorm(const RewriteSite& site)
      : site_(site),
        type_(site.operand_type(0)),
        feature_(site.node.attrs.as<BatchNormAttrs>().feature_index) {
    one_each_ = {type_.dtype, {type_.shape[static_cast<size_t>(feature_)]}};
  }

  std::vector<Value> inference() {
    const std::vector<Value>& v = site_.node.operands;
    return {normalise(v[0], v[1], v[2], v[3], v[4])};
  }

  std::vector<Value> training() {
    const std::vector<Value>& v = site_.node.operands;
    Value mean = mean_of(v[0]);
    Value centered = full(Op::kSubtract, {v[0], spread(mean)});
    Value variance = mean_of(full(Op::kMultiply, {centered, centered}));
    return {normalise(v[0], v[1], v[2], mean, variance), mean, variance};
  }

  // Operands: input, scale, mean, variance, gradient of the output.
  std::vector<Value> gradient() {
    const std::vector<Value>& v = site_.node.operands;
    Value grad = v[4], variance = add_epsilon(v[3]);
    Value deviation = spread(site_.add(Op::kSqrt, {variance}, one_each_));
    Value centered = full(Op::kSubtract, {v[0], spread(v[2])});
    Value normalised = full(Op::kDivide, {centered, deviation});
    Value count = site_.splat(type_, per_feature());
    Value grad_offset = sum(grad);
    Value slope = sum(full(Op::kMultiply, {grad, centered}));
    Value i4 = full(Op::kMultiply, {spread(slope), centered});
    Value i5 = full(Op::kDivide, {i4, spread(variance)});
    Value i6 = full(Op::kSubtract, {full(Op::kMultiply, {grad, count}), spread(grad_offset)});
    i6 = full(Op::kSubtract, {i6, i5});
    Value factor = full(Op::kDivide, {full(Op::kDivide, {spread(v[1]), deviation}), count});
    return {full(Op::kMultiply, {factor, i6}), sum(full(Op::kMultiply, {grad, normalised})),
            grad_offset};
  }

 private:
  // Lists of operands are made from left to right, whatever the compiler.
  Value full(Op op, std::vector<Value> operands) {
    return site_.add(op, std::move(operands), type_);
  }
  Value spread(Value v) { return broadcast(site_, v, type_.shape, {feature_}); }

  double per_feature() const {
    int64_t features = one_each_.shape[0];
    return features ? static_cast<double>(type_.num_elements() / features) : 0;
  }

  Value sum(Value v) {
    Ints dims;
    for (int64_t d = 0; d < type_.rank(); ++d)
      if (d != feature_) dims.push_back(d);
    return decomposition::sum(site_, v, std::move(dims));
  }

  Value mean_of(Value v) {
    return site_.add(Op::kDivide, {sum(v), site_.splat(one_each_, per_feature())}, one_each_);
  }

  Value add_epsilon(Value variance) {
    Value epsilon = site_.splat(one_each_, site_.node.attrs.as<BatchNormAttrs>().epsilon);
    return site_.add(Op::kAdd, {variance, epsilon}, one_each_);
  }

  Value normalise(Value x, Value scale, Value offset, Value mean, Value variance) {
    Value centered = full(Op::kSubtract, {x, spread(mean)});
    Value deviation = site_.add(Op::kSqrt, {add_epsilon(variance)}, one_each_);
    Value normalised = full(Op::kDivide, {centered, spread(deviation)});
    return full(Op::kAdd, {full(Op::kMultiply, {spread(scale), normalised}), spread(offset)});
  }

  const RewriteSite& site_;
  TensorType type_, one_each_;
  int64_t feature_;
};

// map: its scalar computation, done on whole tensors.
Values inline_map(const RewriteSite& site) {
  if (!is_elementwise_region(*site.node.regions[0])) return std::nullopt;
  return std::vector<Value>{elementwise_region(site, *site.node.regions[0], site.node.operands)};
}

// A scalar mask or bound becomes one for each element.
Values spread_scalars(const RewriteSite& site) {
  Node node = site.node;
  for (Value& v : node.operands)
    if (site.out.type(v).rank() == 0) v = broadcast(site, v, node.types[0].shape, {});
  if (node.operands == site.node.operands) return std::nullopt;
  return std::vector<Value>{site.out.add(std::move(node))};
}

// A dense constant of equal elements is one element, spread: later passes need
// not read its bytes again.
Values spread_constant(const RewriteSite& site) {
  const auto& literal = site.node.attrs.as<ConstantAttrs>().value;
  if (literal.type().rank() == 0 || !literal.is_splat()) return std::nullopt;
  Value scalar = site.constant(scalar_of(literal));
  return std::vector<Value>{broadcast(site, scalar, site.node.types[0].shape, {})};
}

// The body's element type may be wider than the inputs': convert before.
Values convert_before(const RewriteSite& site, size_t inputs, size_t first_updates) {
  Node node = site.node;
  for (size_t i = 0; i < inputs; ++i) {
    DType dtype = node.types[i].dtype;
    node.operands[i] = convert(site, node.operands[i], dtype);
    node.operands[first_updates + i] = convert(site, node.operands[first_updates + i], dtype);
  }
  if (node.operands == site.node.operands) return std::nullopt;
  std::vector<Value> results;
  size_t count = node.types.size();
  Value made = site.out.add(std::move(node));
  for (uint32_t r = 0; r < count; ++r) results.push_back({made.node, r});
  return results;
}

Values expand(const RewriteSite& site, const Caps& caps) {
  size_t operands = site.node.operands.size();
  switch (site.node.op) {
    case Op::kBatchNormInference: return BatchNorm(site).inference();
    case Op::kBatchNormTraining: return BatchNorm(site).training();
    case Op::kBatchNormGrad: return BatchNorm(site).gradient();
    case Op::kMap: return inline_map(site);
    case Op::kConstant: return spread_constant(site);
    case Op::kRngBitGenerator: return random_bits(site);
    case Op::kFft: return fourier(site, caps);
    case Op::kCholesky: return blocked_cholesky(site, caps);
    case Op::kTriangularSolve: return blocked_triangular_solve(site, caps);
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr: return interleaved(site, caps);
    case Op::kTopK: return selected_top_k(site, caps);
    case Op::kConvolution: return batch_groups(site);
    case Op::kDotGeneral: return small_product(site, caps.library_calls);
    case Op::kSelect:
    case Op::kClamp: return spread_scalars(site);
    case Op::kReduce:
    case Op::kReduceWindow: return convert_before(site, operands / 2, operands / 2);
    case Op::kScatter: {
      Values converted = convert_before(site, operands / 2, operands / 2 + 1);
      return converted ? converted : many_updates(site, caps);
    }
    default: return std::nullopt;
  }
}

}  // namespace

Result<Graph> decompose(const Graph& graph, const PassContext& context) {
  return rewrite_graph(graph, [&](const RewriteSite& site) { return expand(site, *context.caps); });
}

}  // namespace tuff
