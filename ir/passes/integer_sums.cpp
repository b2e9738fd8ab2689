#include "ir/passes/integer_sums.h"

#include <algorithm>
#include <cmath>

#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// |a - za| and |b - zb| are at most 255.
constexpr int64_t kMostSteps = INT32_MAX / (255 * 255);

// A number that all elements of a tensor share, or one for each index of one of its dimensions.
struct Spread {
  Value value;  // with as many elements as there are numbers
  std::optional<size_t> dim;
};

// (convert(bytes) - zero) * scale under views, which the bytes and the numbers are seen through.
struct Dequantised {
  std::vector<uint32_t> views;  // outermost first
  Value bytes;
  std::optional<Spread> zero, scale;
  bool views_wide = false;  // some views are of what the bytes were converted to
};

// What `v`, seen through `views` as a value of the type of `seen`, is spread from.
std::optional<Spread> spread_of(const Graph& graph, Value seen, std::vector<uint32_t> views,
                                Value v) {
  while (is_view_of_elements(graph.node(v))) {
    views.push_back(v.node);
    v = graph.node(v).operands[0];
  }
  const int64_t count = graph.type(v).num_elements();
  Spread spread{v, std::nullopt};
  if (count == 1) return spread;
  auto access = affine_internal::access_through(graph, seen, views);
  if (!access) return std::nullopt;
  const Shape& shape = graph.type(seen).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 || access->strides[d] == 0) continue;
    if (spread.dim || access->strides[d] != 1 || shape[d] != count) return std::nullopt;
    spread.dim = d;
  }
  if (!spread.dim) return std::nullopt;
  return spread;
}

// Zero points that keep differences within 255.
bool is_near(const Graph& graph, Value zero) {
  const Node* node = &graph.node(zero);
  if (node->op == Op::kConvert) return is_byte(graph.type(node->operands[0]).dtype);
  const Literal* value = constant_value(graph, zero);
  if (value == nullptr) return false;
  for (int64_t i = 0; i < value->num_elements(); ++i)
    if (value->get_int(i) < -128 || value->get_int(i) > 255) return false;
  return true;
}

class Peeler {
 public:
  Peeler(const Graph& graph, Value seen) : graph_(graph), seen_(seen), at_(seen) {}

  // Of an operand of i32, or of f32.
  std::optional<Dequantised> peel() {
    pass_views();
    if (graph_.type(at_).dtype == DType::kF32 && (!pass_scale() || !pass_convert())) return {};
    if (graph_.type(at_).dtype == DType::kI32 && (!pass_zero() || !pass_convert())) return {};
    if (!is_byte(graph_.type(at_).dtype)) return {};
    found_.views_wide = !found_.views.empty();
    pass_views();
    found_.bytes = at_;
    return found_;
  }

 private:
  const Node& node() const { return graph_.node(at_); }
  void pass_views() {
    for (; is_view_of_elements(node()); at_ = node().operands[0]) found_.views.push_back(at_.node);
  }
  bool pass_convert() {
    pass_views();
    if (node().op != Op::kConvert) return false;
    at_ = node().operands[0];
    pass_views();
    return is_byte(graph_.type(at_).dtype) || graph_.type(at_).dtype == DType::kI32;
  }
  bool pass_scale() {
    if (node().op != Op::kMultiply) return true;
    size_t integers = graph_.node(node().operands[0]).op == Op::kConvert ? 0 : 1;
    found_.scale = spread_of(graph_, seen_, found_.views, node().operands[1 - integers]);
    at_ = node().operands[integers];
    return found_.scale.has_value();
  }
  bool pass_zero() {
    if (node().op != Op::kSubtract) return true;
    found_.zero = spread_of(graph_, seen_, found_.views, node().operands[1]);
    at_ = node().operands[0];
    return found_.zero && is_near(graph_, found_.zero->value);
  }

  const Graph& graph_;
  Value seen_, at_;
  Dequantised found_;
};

Value spread_over(const RewriteSite& site, Value numbers, std::optional<size_t> dim,
                  const Shape& shape) {
  const DType dtype = site.out.type(numbers).dtype;
  TensorType flat{dtype, {}};
  BroadcastInDimAttrs attrs;
  if (dim) {
    flat.shape = {shape[*dim]};
    attrs.broadcast_dimensions = {static_cast<int64_t>(*dim)};
  }
  if (site.out.type(numbers) != flat) numbers = site.add(Op::kReshape, {numbers}, flat);
  if (shape.empty()) return numbers;
  return site.add(Op::kBroadcastInDim, {numbers}, {dtype, shape}, std::move(attrs));
}

// subtract(convert(views(bytes)), zero) of i32.
Value integers_of(const RewriteSite& site, const Dequantised& operand, const Shape& shape) {
  Value v = operand.bytes;
  for (size_t i = operand.views.size(); i-- > 0;) {
    const Node view = site.out.node(Value{operand.views[i], 0});
    TensorType type{site.out.type(operand.bytes).dtype, view.types[0].shape};
    v = site.add(view.op, {v}, type, view.attrs);
  }
  v = site.add(Op::kConvert, {v}, {DType::kI32, shape});
  if (!operand.zero) return v;
  Value zero = spread_over(site, operand.zero->value, operand.zero->dim, shape);
  return site.add(Op::kSubtract, {v, zero}, {DType::kI32, shape});
}

// The dimension of the result that goes with one of an operand; nothing where that is summed over.
std::optional<size_t> result_dim(const RewriteSite& site, size_t operand, size_t dim) {
  auto d = static_cast<int64_t>(dim);
  if (site.node.op == Op::kConvolution) {
    ConvolutionDims dims = convolution_dims(site.node);
    if (operand == 0 && d == dims.input_batch) return dims.output_batch;
    if (operand == 1 && d == dims.kernel_output_feature) return dims.output_feature;
    return std::nullopt;
  }
  DotDims dims = dot_dims(site.node, site.operand_type(0).rank(), site.operand_type(1).rank());
  auto place = [d](const std::vector<int64_t>& list) -> std::optional<size_t> {
    auto at = std::find(list.begin(), list.end(), d);
    if (at == list.end()) return std::nullopt;
    return static_cast<size_t>(at - list.begin());
  };
  const size_t batch = dims.lhs_batch.size();
  if (auto i = place(operand == 0 ? dims.lhs_batch : dims.rhs_batch)) return i;
  if (auto i = place(operand == 0 ? dims.lhs_free : dims.rhs_free))
    return batch + *i + (operand == 0 ? 0 : dims.lhs_free.size());
  return std::nullopt;
}

int64_t steps_of(const RewriteSite& site) {
  const Shape &lhs = site.operand_type(0).shape, &rhs = site.operand_type(1).shape;
  int64_t steps = 1;
  if (site.node.op == Op::kConvolution) {
    auto outs = static_cast<size_t>(convolution_dims(site.node).kernel_output_feature);
    for (size_t d = 0; d < rhs.size(); ++d) steps *= d == outs ? 1 : rhs[d];
    return steps;
  }
  DotDims dims = dot_dims(site.node, site.operand_type(0).rank(), site.operand_type(1).rank());
  for (int64_t d : dims.lhs_contract) steps *= lhs[static_cast<size_t>(d)];
  return steps;
}

// A zero point outside of what its bytes can be could not stand in the padding.
bool fits_padding(const RewriteSite& site, const Dequantised& lhs) {
  if (site.node.op != Op::kConvolution || !lhs.zero) return true;
  const Graph& graph = site.out;
  const DType bytes = graph.type(lhs.bytes).dtype;
  const Node& zero = graph.node(lhs.zero->value);
  if (lhs.zero->dim) return false;
  if (zero.op == Op::kConvert) return graph.type(zero.operands[0]).dtype == bytes;
  const int64_t value = constant_value(graph, lhs.zero->value)->get_int(0);
  return bytes == DType::kU8 ? value >= 0 : value <= 127;
}

std::optional<Value> as_integer_sum(const RewriteSite& site) {
  const Node& node = site.node;
  if (!has_byte_product(node) || node.types[0].num_elements() == 0) return std::nullopt;
  const DType type = site.operand_type(0).dtype, result = node.types[0].dtype;
  const bool wide = type == DType::kF32 && result == DType::kF32;
  if (!wide && (type != DType::kI32 || result != DType::kI32)) return std::nullopt;
  if (wide && steps_of(site) > kMostSteps) return std::nullopt;
  std::optional<Dequantised> sides[2];
  for (size_t i = 0; i < 2; ++i) {
    sides[i] = Peeler(site.out, node.operands[i]).peel();
    if (!sides[i]) return std::nullopt;
    if (sides[i]->scale && sides[i]->scale->dim && !result_dim(site, i, *sides[i]->scale->dim))
      return std::nullopt;
  }
  if (!fits_padding(site, *sides[0])) return std::nullopt;
  if (!wide && !sides[0]->views_wide && !sides[1]->views_wide) return std::nullopt;
  Node sum = node;
  for (size_t i = 0; i < 2; ++i)
    sum.operands[i] = integers_of(site, *sides[i], Shape(site.operand_type(i).shape));
  sum.types[0].dtype = DType::kI32;
  const Shape shape = node.types[0].shape;
  Value v = site.add(sum.op, sum.operands, sum.types[0], sum.attrs);
  if (!wide) return v;
  v = site.add(Op::kConvert, {v}, {DType::kF32, shape});
  for (size_t i = 0; i < 2; ++i) {
    if (!sides[i]->scale) continue;
    const Spread& scale = *sides[i]->scale;
    std::optional<size_t> dim;
    if (scale.dim) dim = result_dim(site, i, *scale.dim);
    v = site.add(Op::kMultiply, {v, spread_over(site, scale.value, dim, shape)},
                 {DType::kF32, shape});
  }
  return v;
}

// Whether elementwise work makes this value of a sum of bytes.
bool follows_sum(const Graph& graph, Value v) {
  constexpr size_t kMostNodes = 64;
  std::vector<Value> pending{v};
  for (size_t seen = 0; !pending.empty() && seen < kMostNodes; ++seen) {
    const Node& node = graph.node(pending.back());
    pending.pop_back();
    if (is_byte_product(graph, node)) return true;
    if (is_elementwise(node.op) || (is_view(node.op) && node.op != Op::kBroadcastInDim))
      pending.insert(pending.end(), node.operands.begin(), node.operands.end());
  }
  return false;
}

// round(x / scale), on the way back to bytes: a product takes a fraction of a quotient's time. The
// sums' own scales are rounded as much.
std::optional<Value> as_scaled_rounding(const RewriteSite& site) {
  if (site.node.op != Op::kRoundNearestEven) return std::nullopt;
  const Node quotient = site.operand(0);
  if (quotient.op != Op::kDivide || quotient.types[0].dtype != DType::kF32) return std::nullopt;
  const Literal* scale = splat_value(site.out, quotient.operands[1]);
  if (scale == nullptr || !follows_sum(site.out, quotient.operands[0])) return std::nullopt;
  const double inverse = 1 / scale->get_double(0);
  if (!(std::abs(inverse) > 1e-30 && std::abs(inverse) < 1e30)) return std::nullopt;
  const TensorType& type = quotient.types[0];
  Value product = site.add(Op::kMultiply, {quotient.operands[0], site.splat(type, inverse)}, type);
  return site.add(Op::kRoundNearestEven, {product}, type);
}

}  // namespace

Result<Graph> integer_sums(const Graph& graph, const PassContext& context) {
  if (!context.caps->library_calls) return graph;
  return rewrite_to_fixpoint(graph,
                             [](const RewriteSite& site) -> std::optional<std::vector<Value>> {
                               std::optional<Value> v = as_integer_sum(site);
                               if (!v) v = as_scaled_rounding(site);
                               return v ? std::optional(std::vector<Value>{*v}) : std::nullopt;
                             });
}

}  // namespace tuff
