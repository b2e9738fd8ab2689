#include "ir/passes/composites.h"

#include <cmath>
#include <set>
#include <vector>

#include "ir/group/affine_access.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

bool is_float_convert(const Graph& graph, const Node& node) {
  return node.op == Op::kConvert && is_float(node.types[0].dtype) &&
         is_float(graph.type(node.operands[0]).dtype);
}

Value behind_converts(const Graph& graph, Value v) {
  while (is_float_convert(graph, graph.node(v))) v = graph.node(v).operands[0];
  return v;
}

bool only_renames(const Node& node) {
  return node.op == Op::kReshape || node.op == Op::kTranspose || node.op == Op::kBroadcastInDim;
}

Value behind_views(const Graph& graph, Value v) {
  while (only_renames(graph.node(v)) || is_float_convert(graph, graph.node(v)))
    v = graph.node(v).operands[0];
  return v;
}

// A reduce of one value by one operation, from `init`.
bool is_reduce(const Graph& graph, Value v, Op op, double init) {
  const Node& node = graph.node(v);
  if (node.op != Op::kReduce || node.types.size() != 1) return false;
  const Graph& body = *node.regions[0];
  const Literal* start = splat_value(graph, node.operands[1]);
  if (body.nodes().size() != 3 || body.node(body.outputs()[0]).op != op || !start) return false;
  const auto& sides = body.node(body.outputs()[0]).operands;
  return is_float(node.types[0].dtype) && sides[0].node != sides[1].node &&
         start->get_double(0) == init;
}

// The one dot of the logits' own shape that elementwise work makes them from.
std::optional<uint32_t> find_scores(const Graph& graph, Value logits) {
  std::optional<uint32_t> found;
  std::set<uint32_t> seen;
  std::vector<Value> pending{logits};
  while (!pending.empty()) {
    Value v = pending.back();
    pending.pop_back();
    if (!seen.insert(v.node).second) continue;
    const Node& node = graph.node(v);
    if (node.op == Op::kDotGeneral && node.types[0].shape == graph.type(logits).shape) {
      if (found) return std::nullopt;
      found = v.node;
    }
    if (is_elementwise(node.op) && node.types[0].shape == graph.type(logits).shape)
      pending.insert(pending.end(), node.operands.begin(), node.operands.end());
  }
  return found;
}

std::optional<Attention> match_operand(const Graph& graph, uint32_t values, size_t operand) {
  Attention a;
  a.values = values;
  a.weights_operand = operand;
  a.weights = behind_views(graph, graph.node(values).operands[operand]);
  const Node& divide = graph.node(a.weights);
  if (divide.op != Op::kDivide) return std::nullopt;
  Value e = behind_converts(graph, divide.operands[0]);
  Value sum = behind_views(graph, divide.operands[1]);
  if (graph.node(e).op != Op::kExponential || !is_reduce(graph, sum, Op::kAdd, 0) ||
      behind_converts(graph, graph.node(sum).operands[0]) != e)
    return std::nullopt;
  const Node& difference = graph.node(behind_converts(graph, graph.node(e).operands[0]));
  if (difference.op != Op::kSubtract) return std::nullopt;
  a.logits = behind_converts(graph, difference.operands[0]);
  Value max = behind_views(graph, difference.operands[1]);
  if (!is_reduce(graph, max, Op::kMaximum, -INFINITY) ||
      behind_converts(graph, graph.node(max).operands[0]) != a.logits)
    return std::nullopt;
  std::optional<uint32_t> scores = find_scores(graph, a.logits);
  bool narrow = dtype_size(graph.type(a.logits).dtype) <= 4;  // computed in f32
  if (!scores || !narrow ||
      graph.node(sum).attrs.as<DimensionsAttrs>().dimensions !=
          graph.node(max).attrs.as<DimensionsAttrs>().dimensions)
    return std::nullopt;
  a.scores = *scores;
  a.max = max.node;
  a.sum = sum.node;
  return a;
}

// Matches the region of a group as a composite of rows. Lives for one call.
class RowMatcher {
 public:
  explicit RowMatcher(const Graph& region) : region_(region) {}

  Composite match() {
    if (region_.outputs().size() != 1) return {};
    Value v = through_reshapes(region_, region_.outputs()[0]);
    type_ = region_.type(v);
    if (!is_float(type_.dtype) || type_.shape.empty() || type_.num_elements() == 0) return {};
    if (std::optional<Softmax> softmax = match_softmax(v)) return *softmax;
    if (std::optional<LayerNorm> norm = match_layer_norm(v)) return *norm;
    if (std::optional<RmsNorm> norm = match_rms_norm(v)) return *norm;
    return {};
  }

 private:
  int64_t columns() const { return type_.shape.back(); }

  // The parameter that has these elements in this order.
  std::optional<uint32_t> parameter(Value v) const {
    Value source = through_reshapes(region_, v);
    if (region_.node(source).op != Op::kParameter) return std::nullopt;
    return source.node;
  }

  std::optional<Softmax> match_softmax(Value v) const {
    const Node& quotient = region_.node(v);
    if (quotient.op != Op::kDivide) return std::nullopt;
    const Node& power = region_.node(quotient.operands[0]);
    if (power.op != Op::kExponential ||
        folded(quotient.operands[1], Op::kAdd, 0) != quotient.operands[0])
      return std::nullopt;
    const Node& difference = region_.node(power.operands[0]);
    if (difference.op != Op::kSubtract ||
        folded(difference.operands[1], Op::kMaximum, -INFINITY) != difference.operands[0])
      return std::nullopt;
    std::optional<uint32_t> input = parameter(difference.operands[0]);
    return input ? std::optional(Softmax{*input, columns()}) : std::nullopt;
  }

  std::optional<LayerNorm> match_layer_norm(Value v) const {
    LayerNorm norm;
    norm.columns = columns();
    norm.shift = peel_column(v, Op::kAdd);
    norm.scale = peel_column(v, Op::kMultiply);
    std::optional<Value> deviation = normalized(v, norm.epsilon);
    std::optional<Value> x = deviation ? centred(*deviation) : std::nullopt;
    std::optional<uint32_t> input = x ? parameter(*x) : std::nullopt;
    if (!input) return std::nullopt;
    norm.input = *input;
    return norm;
  }

  std::optional<RmsNorm> match_rms_norm(Value v) const {
    RmsNorm norm;
    norm.columns = columns();
    norm.scale = peel_column(v, Op::kMultiply);
    std::optional<Value> x = normalized(v, norm.epsilon);
    std::optional<uint32_t> input = x ? parameter(*x) : std::nullopt;
    if (!input) return std::nullopt;
    norm.input = *input;
    return norm;
  }

  // v = op(rest, a vector along the columns): v becomes the rest.
  std::optional<RowVector> peel_column(Value& v, Op op) const {
    const Node& node = region_.node(v);
    if (node.op != op) return std::nullopt;
    for (size_t side : {1, 0}) {
      auto access = affine_access(region_, node.operands[side], [](uint32_t) { return true; });
      if (!access || region_.node(access->base).op != Op::kParameter ||
          region_.type(access->base).dtype != type_.dtype || access->strides.back() != 1)
        continue;
      bool vector = true;
      for (size_t d = 0; d + 1 < type_.shape.size(); ++d)
        vector &= type_.shape[d] == 1 || access->strides[d] == 0;
      if (!vector) continue;
      v = node.operands[1 - side];
      return RowVector{access->base.node, access->offset};
    }
    return std::nullopt;
  }

  // v = d * rsqrt(mean(d * d) + epsilon), or d / sqrt of that: d.
  std::optional<Value> normalized(Value v, double& epsilon) const {
    const Node& product = region_.node(v);
    const bool divides = product.op == Op::kDivide;
    if (product.op != Op::kMultiply && !divides) return std::nullopt;
    for (size_t side : {0, 1}) {
      if (divides && side == 1) break;
      Value d = product.operands[side];
      auto root = row_value(product.operands[1 - side]);
      if (!root || region_.node(*root).op != (divides ? Op::kSqrt : Op::kRsqrt)) continue;
      const Node& sum = region_.node(through_reshapes(region_, region_.node(*root).operands[0]));
      const Literal* added = sum.op == Op::kAdd ? splat_value(region_, sum.operands[1]) : nullptr;
      auto squares = added ? mean_of(sum.operands[0]) : std::nullopt;
      if (!squares) continue;
      const Node& square = region_.node(*squares);
      if (square.op != Op::kMultiply || square.operands[0] != d || square.operands[1] != d)
        continue;
      epsilon = added->get_double(0);
      return d;
    }
    return std::nullopt;
  }

  // v = x - mean: x.
  std::optional<Value> centred(Value v) const {
    const Node& node = region_.node(v);
    if (node.op != Op::kSubtract) return std::nullopt;
    auto mean = row_value(node.operands[1]);
    Value x = node.operands[0];
    return mean && mean_of(*mean) == x ? std::optional(x) : std::nullopt;
  }

  // The value of one element per row that `v` repeats along its columns.
  std::optional<Value> row_value(Value v) const {
    auto access = affine_access(region_, v, [](uint32_t) { return true; });
    const Shape& shape = type_.shape;
    if (!access || access->offset != 0 || region_.type(v).shape != shape) return std::nullopt;
    Shape rows = shape;
    rows.back() = 1;
    std::vector<int64_t> expected = row_major_strides(rows);
    for (size_t d = 0; d < rows.size(); ++d)
      if (shape[d] > 1 && access->strides[d] != (rows[d] > 1 ? expected[d] : 0))
        return std::nullopt;
    if (region_.type(access->base).num_elements() != num_elements(rows)) return std::nullopt;
    return access->base;
  }

  // What `v`, one element per row, folds along its columns.
  std::optional<Value> folded_row(Value v, Op op, double init) const {
    if (!is_reduce(region_, v, op, init)) return std::nullopt;
    const Node& reduce = region_.node(v);
    auto last = static_cast<int64_t>(type_.shape.size()) - 1;
    if (reduce.attrs.as<DimensionsAttrs>().dimensions != std::vector<int64_t>{last} ||
        region_.type(reduce.operands[0]).shape != type_.shape)
      return std::nullopt;
    return reduce.operands[0];
  }
  // The same of a value that repeats the result along its columns.
  std::optional<Value> folded(Value v, Op op, double init) const {
    auto row = row_value(v);
    return row ? folded_row(*row, op, init) : std::nullopt;
  }

  // `v`, one element per row, is the mean of what over the columns?
  std::optional<Value> mean_of(Value v) const {
    const Node& quotient = region_.node(through_reshapes(region_, v));
    if (quotient.op != Op::kDivide && quotient.op != Op::kMultiply) return std::nullopt;
    const Literal* by = splat_value(region_, quotient.operands[1]);
    // Canonical form multiplies where the divisor is a power of two.
    auto count = static_cast<double>(columns());
    if (!by || by->get_double(0) != (quotient.op == Op::kDivide ? count : 1 / count))
      return std::nullopt;
    return folded_row(through_reshapes(region_, quotient.operands[0]), Op::kAdd, 0);
  }

  const Graph& region_;
  TensorType type_;  // of the rows
};

}  // namespace

std::optional<Attention> find_attention(const Graph& graph, uint32_t values) {
  if (graph.node(values).op != Op::kDotGeneral) return std::nullopt;
  for (size_t operand : {0, 1})
    if (std::optional<Attention> found = match_operand(graph, values, operand)) return found;
  return std::nullopt;
}

Composite find_row_composite(const Graph& region) { return RowMatcher(region).match(); }

Attrs group_attrs(GroupKind kind, const Graph& region) {
  FusedAttrs attrs{kind};
  switch (kind) {
    case GroupKind::kRows: attrs.composite = find_row_composite(region); break;
    case GroupKind::kAttention:
      for (uint32_t id = 0; id < region.nodes().size(); ++id)
        if (auto attention = find_attention(region, id)) attrs.composite = *attention;
      break;
    case GroupKind::kMap:
    case GroupKind::kMatmul:
    case GroupKind::kConvolution:
      if (Gelu found = find_gelus(region); !found.by_erf.empty() || !found.by_tanh.empty())
        attrs.composite = found;
      break;
    default: break;
  }
  return attrs;
}

}  // namespace tuff
