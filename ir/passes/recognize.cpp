#include "ir/passes/recognize.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ir/passes/recognize_powers.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

// Fewer operations are no spelled-out function, more are not only that.
constexpr size_t kMinCone = 12, kMaxCone = 200;
constexpr int64_t kSamples = 97;
constexpr double kSampleRange = 5.5;

// The elementwise operations between z and root, ascending, root last. Everything
// else they read is a splat constant; nullopt where that is not so.
std::optional<std::vector<uint32_t>> cone_between(const Graph& graph, Value root, Value z) {
  std::vector<uint32_t> found, pending{root.node};
  while (!pending.empty()) {
    uint32_t id = pending.back();
    pending.pop_back();
    Value v{id, 0};
    if (v == z || splat_value(graph, v) || std::find(found.begin(), found.end(), id) != found.end())
      continue;
    const Node& node = graph.node(id);
    bool same_space = is_elementwise(node.op) && node.types[0].shape == graph.type(root).shape;
    if (!same_space || found.size() == kMaxCone) return std::nullopt;
    found.push_back(id);
    for (Value operand : node.operands) pending.push_back(operand.node);
  }
  if (found.size() < kMinCone) return std::nullopt;
  std::sort(found.begin(), found.end());
  return found;
}

Literal samples(DType dtype) {
  Literal points(TensorType{dtype, {kSamples}});
  for (int64_t i = 0; i < kSamples; ++i)
    points.set_double(i, kSampleRange * (2 * static_cast<double>(i) / (kSamples - 1) - 1));
  return points;
}

// The cone's values at the sample points of z.
std::optional<Literal> evaluate_cone(const Graph& graph, const std::vector<uint32_t>& cone, Value z,
                                     const Literal& points, const PassContext& context) {
  std::map<Value, Literal> values{{z, points}};
  for (uint32_t id : cone) {
    Node node = graph.node(id);
    node.types[0].shape = {kSamples};
    std::vector<Literal> operands;
    for (Value v : node.operands) {
      auto known = values.find(v);
      if (known != values.end()) {
        operands.push_back(known->second);
        continue;
      }
      const Literal* splat = splat_value(graph, v);
      if (!splat) return std::nullopt;
      operands.push_back(Literal::splat({splat->type().dtype, {kSamples}}, splat->get_double(0)));
    }
    Result<std::vector<Literal>> result = context.evaluate_node(node, operands);
    if (!result.ok()) return std::nullopt;
    values[{id, 0}] = std::move((*result)[0]);
  }
  return values[{cone.back(), 0}];
}

// root(z) is the function, as well as its type can say at the sample points.
bool computes(const Graph& graph, Value root, Value z, double (*function)(double),
              const PassContext& context) {
  DType dtype = graph.type(z).dtype;
  if ((dtype != DType::kF32 && dtype != DType::kF64) || graph.type(root) != graph.type(z))
    return false;
  std::optional<std::vector<uint32_t>> cone = cone_between(graph, root, z);
  if (!cone) return false;
  Literal points = samples(dtype);
  std::optional<Literal> values = evaluate_cone(graph, *cone, z, points, context);
  if (!values) return false;
  double tolerance = dtype == DType::kF32 ? 1e-5 : 1e-12;
  for (int64_t i = 0; i < kSamples; ++i) {
    double expected = function(points.get_double(i));
    if (!(std::abs(values->get_double(i) - expected) <= tolerance * std::abs(expected)))
      return false;
  }
  return true;
}

const Node* defined_by(const Graph& graph, Value v, Op op) {
  return graph.node(v).op == op ? &graph.node(v) : nullptr;
}

// erfc switches its series at |z| < 1: the root says what z is.
std::optional<Value> erfc_argument(const Graph& graph, const Node& root) {
  const Node* compare =
      root.op == Op::kSelect ? defined_by(graph, root.operands[0], Op::kCompare) : nullptr;
  const Node* abs = compare ? defined_by(graph, compare->operands[0], Op::kAbs) : nullptr;
  return abs ? std::optional(abs->operands[0]) : std::nullopt;
}

// erf is clamp(-1, c P(c^2) / Q(c^2), 1) of c = clamp(z).
std::optional<Value> erf_argument(const Graph& graph, const Node& root) {
  const Node* quotient =
      root.op == Op::kClamp ? defined_by(graph, root.operands[1], Op::kDivide) : nullptr;
  const Node* product =
      quotient ? defined_by(graph, quotient->operands[0], Op::kMultiply) : nullptr;
  const Node* inner = product ? defined_by(graph, product->operands[0], Op::kClamp) : nullptr;
  return inner ? std::optional(inner->operands[1]) : std::nullopt;
}

// What the value is a multiple of.
Value unscaled(const Graph& graph, Value v) {
  for (;;) {
    const Node& node = graph.node(v);
    bool scaled = node.op == Op::kMultiply && splat_value(graph, node.operands[1]);
    if (!scaled && node.op != Op::kNegate && node.op != Op::kConvert) return v;
    v = node.operands[0];
  }
}

struct ScaledUse {
  bool all_products = true;
  bool by_argument = false;
};

// How a value is used: in products only, and in one with a multiple of `argument`.
void collect_uses(const Graph& graph, uint32_t id, Value argument, ScaledUse& use) {
  for (Value v : graph.outputs()) use.all_products &= v.node != id;
  for (uint32_t user = id + 1; user < graph.nodes().size(); ++user) {
    const Node& node = graph.node(user);
    bool reads =
        std::find(node.operands.begin(), node.operands.end(), Value{id, 0}) != node.operands.end();
    if (!reads) continue;
    if (node.op == Op::kConvert && is_float(node.types[0].dtype)) {
      collect_uses(graph, user, argument, use);
    } else if (node.op == Op::kMultiply) {
      Value other = node.operands[node.operands[0] == Value{id, 0} ? 1 : 0];
      use.by_argument |= unscaled(graph, other) == argument;
    } else {
      use.all_products = false;
    }
  }
}

// 1 - erf(z); a negative factor of z turns into the sign of the odd function.
Value complement_of_erf(const RewriteSite& site, Value z) {
  const TensorType& type = site.node.types[0];
  const Node* product = defined_by(site.out, z, Op::kMultiply);
  const Literal* factor = product ? splat_value(site.out, product->operands[1]) : nullptr;
  Value one = site.splat(type, 1);
  if (!factor || factor->get_double(0) >= 0)
    return site.add(Op::kSubtract, {one, site.add(Op::kErf, {z}, type)}, type);
  product = defined_by(site.out, z, Op::kMultiply);  // adding nodes may have moved it
  factor = splat_value(site.out, product->operands[1]);
  Value x = product->operands[0];
  Value positive = site.add(Op::kMultiply, {x, site.splat(type, -factor->get_double(0))}, type);
  return site.add(Op::kAdd, {site.add(Op::kErf, {positive}, type), one}, type);
}

std::optional<Value> find_function(const RewriteSite& site, const PassContext& context) {
  // Uses and cones are read in the old graph: it is whole.
  const Node& root = site.old.node(site.old_id);
  Value root_value{site.old_id, 0};
  if (std::optional<Value> z = erf_argument(site.old, root)) {
    auto erf = [](double x) { return std::erf(x); };
    if (!computes(site.old, root_value, *z, erf, context)) return std::nullopt;
    Value argument = *erf_argument(site.out, site.node);
    return site.add(Op::kErf, {argument}, site.node.types[0]);
  }
  std::optional<Value> z = erfc_argument(site.old, root);
  if (!z) return std::nullopt;
  ScaledUse use;
  collect_uses(site.old, site.old_id, unscaled(site.old, *z), use);
  auto erfc = [](double x) { return std::erfc(x); };
  if (!use.all_products || !use.by_argument || !computes(site.old, root_value, *z, erfc, context))
    return std::nullopt;
  return complement_of_erf(site, *erfc_argument(site.out, site.node));
}

}  // namespace

Result<Graph> recognize(const Graph& graph, const PassContext& context) {
  return rewrite_graph(graph, [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    if (site.node.types.size() != 1) return std::nullopt;
    std::optional<Value> v = recognize_power(site);
    if (!v) v = recognize_inverse_root(site);
    if (!v && context.evaluate_node) v = find_function(site, context);
    return v ? std::optional(std::vector<Value>{*v}) : std::nullopt;
  });
}

}  // namespace tuff
