// x * g(x) after a contraction, however g is spelled: silu and its piecewise linear likeness.
#include <algorithm>
#include <cmath>

#include "ir/rewrite.h"
#include "shaders/families/library/library.h"

namespace tuff {

namespace {

double silu_gate(double x) { return 1 / (1 + std::exp(-x)); }
double hard_swish_gate(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }

constexpr struct {
  PostOp::Kind kind;
  double (*gate)(double);
} kGates[] = {{PostOp::Kind::kSilu, silu_gate}, {PostOp::Kind::kHardSwish, hard_swish_gate}};

// A gate is spelled in up to four operations.
constexpr size_t kMaxGateSteps = 6;

std::vector<uint32_t> users_of(const Graph& region, Value v) {
  std::vector<uint32_t> found;
  for (uint32_t id = v.node + 1; id < region.nodes().size(); ++id) {
    const auto& operands = region.node(id).operands;
    if (std::find(operands.begin(), operands.end(), v) != operands.end()) found.push_back(id);
  }
  return found;
}

bool is_returned(const Graph& region, Value v) {
  const auto& outputs = region.outputs();
  return std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

// One step of a gate: an operation on `from` and constants, of `at`. Nothing for others.
std::optional<double> step_value(const Graph& region, const Node& node, Value from, double at) {
  double v[3] = {};
  if (node.operands.empty() || node.operands.size() > 3) return std::nullopt;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Literal* splat = splat_value(region, node.operands[i]);
    if (node.operands[i] != from && !splat) return std::nullopt;
    v[i] = node.operands[i] == from ? at : splat->get_double(0);
  }
  switch (node.op) {
    case Op::kAdd: return v[0] + v[1];
    case Op::kSubtract: return v[0] - v[1];
    case Op::kMultiply: return v[0] * v[1];
    case Op::kDivide: return v[0] / v[1];
    case Op::kMaximum: return std::max(v[0], v[1]);
    case Op::kMinimum: return std::min(v[0], v[1]);
    case Op::kClamp: return std::min(std::max(v[1], v[0]), v[2]);
    case Op::kLogistic: return silu_gate(v[0]);
    default: return std::nullopt;
  }
}

// The nodes from x to what it is multiplied by, each read by the next one alone; the product is
// last. It may be scaled before or after.
std::optional<std::vector<uint32_t>> steps_to_product(const Graph& region, Value x) {
  std::vector<uint32_t> users = users_of(region, x), steps;
  if (users.size() != 2 || is_returned(region, x)) return std::nullopt;
  const uint32_t product = users[1];
  for (Value at{users[0], 0}; steps.size() < kMaxGateSteps; at = {users_of(region, at)[0], 0}) {
    steps.push_back(at.node);
    if (at.node == product) break;
    if (users_of(region, at).size() != 1 || is_returned(region, at)) return std::nullopt;
  }
  const Node& last = region.node(Value{product, 0});
  bool multiplies = steps.back() == product && steps.size() > 1 && last.op == Op::kMultiply;
  return multiplies ? std::optional(steps) : std::nullopt;
}

bool computes_at(const Graph& region, const std::vector<uint32_t>& steps, Value x,
                 double (*gate)(double), double at) {
  double value = at;
  Value from = x;
  for (size_t s = 0; s + 1 < steps.size(); ++s) {
    auto next = step_value(region, region.node(Value{steps[s], 0}), from, value);
    if (!next) return false;
    value = *next;
    from = {steps[s], 0};
  }
  return std::abs(at * (value - gate(at))) <= 1e-6;
}

// The product is the gate's: where that bends, and far out, where one of a bounded x differs.
bool computes(const Graph& region, const std::vector<uint32_t>& steps, Value x,
              double (*gate)(double)) {
  for (double at = -8; at <= 8; at += 0.375)
    if (!computes_at(region, steps, x, gate, at)) return false;
  for (double at = 8; at <= 1e6; at *= 2)
    for (double side : {-at, at})
      if (!computes_at(region, steps, x, gate, side)) return false;
  return true;
}

}  // namespace

std::optional<Gate> find_gate(const Graph& region, Value x) {
  std::optional<std::vector<uint32_t>> steps = steps_to_product(region, x);
  if (!steps) return std::nullopt;
  for (const auto& [kind, gate] : kGates)
    if (computes(region, *steps, x, gate)) return Gate{kind, {steps->back(), 0}};
  return std::nullopt;
}

}  // namespace tuff
