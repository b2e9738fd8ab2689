#include "tests/fuzz/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "frontend/conformance/compare.h"
#include "ir/evaluate/tolerances.h"
#include "tests/ops/op_check.h"

namespace tuff::fuzz {

namespace {

// Whole numbers in, whole numbers out.
bool keeps_whole(Op op) {
  switch (op) {
    case Op::kAbs:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kNegate:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kClamp:
    case Op::kSelect:
    case Op::kSign:
    case Op::kConvert: return true;
    default: return !is_elementwise(op) && op_category(op) != OpCategory::kComposite;
  }
}

bool is_library(Op op) {
  return op == Op::kCholesky || op == Op::kTriangularSolve ||
         op_category(op) == OpCategory::kComposite;
}

// Convolutions with two spatial dimensions and steps of 1 may go by Winograd's filtering.
bool may_be_filtered(const Node& node) {
  auto* attrs = node.attrs.find<ConvolutionAttrs>();
  return attrs && node.types[0].dtype != DType::kI32 && attrs->precision_config.empty() &&
         attrs->window_strides == std::vector<int64_t>{1, 1};
}

bool is_least_normal_or_less(double x, DType dtype) {
  double least = dtype == DType::kF16 ? 0x1p-14 : dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126;
  return std::fabs(x) <= least;
}

double largest(const Literal& value) {
  double scale = 0;
  for (int64_t i = 0; i < value.num_elements(); ++i)
    if (double x = std::fabs(value.get_double(i)); std::isfinite(x)) scale = std::max(scale, x);
  return scale;
}

bool agrees(const Literal& got, const Literal& want, int64_t i, const Precision& precision,
            double scale) {
  DType dtype = want.type().dtype;
  auto size = static_cast<size_t>(dtype_size(dtype));
  if (std::memcmp(got.bytes() + i * dtype_size(dtype), want.bytes() + i * dtype_size(dtype),
                  size) == 0)
    return true;
  if (!is_float(dtype)) return false;
  double x = got.get_double(i), y = want.get_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  // A device may flush what is below the normal numbers, and then knows no sign of it.
  if (is_least_normal_or_less(x, dtype) && is_least_normal_or_less(y, dtype)) return true;
  if (precision.relative > 0 && std::fabs(x - y) <= precision.relative * scale) return true;
  return static_cast<double>(conformance::ulp_distance(dtype, x, y)) <= precision.ulp;
}

}  // namespace

Precision precision_of(const Node& node, const std::vector<Precision>& of_nodes) {
  Precision p;
  for (Value operand : node.operands) {
    const Precision& q = of_nodes[operand.node];
    p.integral = p.integral && q.integral;
    p.ulp = std::max(p.ulp, q.ulp);
    p.relative = std::max(p.relative, q.relative);
    p.contracted = p.contracted || q.contracted;
  }
  DType dtype = node.types.empty() ? DType::kI32 : node.types[0].dtype;
  if (node.op == Op::kConstant) {
    const Literal& value = node.attrs.as<ConstantAttrs>().value;
    for (int64_t i = 0; i < value.num_elements() && is_float(dtype); ++i)
      p.integral = p.integral && value.get_double(i) == std::trunc(value.get_double(i));
  }
  if (is_float(dtype) && is_elementwise(node.op)) {
    double ulp = op_ulp(op_name(node.op));
    // The evaluator rounds too; a narrow type's bound is a rounding to either side.
    if (ulp > 0) p.ulp = std::max(p.ulp, dtype_size(dtype) == 2 ? 1.0 : std::ceil(ulp + 0.5));
    if (dtype == DType::kF64 && ulp > 0) p.relative = tolerance("op", dtype);
  }
  if (is_library(node.op)) p.relative = tolerance("library");
  if (may_be_filtered(node)) p.relative = std::max(p.relative, tolerance("filtered"));
  p.contracted = p.contracted || op_category(node.op) == OpCategory::kContraction;
  // A library may divide an operand, or multiply by the reciprocal as it stores.
  if (node.op == Op::kDivide && p.contracted && is_float(dtype))
    p.relative = std::max(p.relative, tolerance("stored_quotient"));
  // What is known nearly may fall on either side of a rounding.
  if (node.op == Op::kConvert && p.relative > 0)
    p.relative = std::max(p.relative, tolerance("narrowed", dtype));
  p.integral = !is_float(dtype) || (p.integral && keeps_whole(node.op) && p.exact());
  return p;
}

std::vector<Precision> precisions(const Graph& graph) {
  std::vector<Precision> all;
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    all.push_back(precision_of(node, all));
    if (node.op == Op::kParameter && is_float(node.types[0].dtype))
      all.back().integral = graph.parameter_name(id) == kWholeName;
  }
  return all;
}

std::vector<Literal> make_arguments(const Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i) {
    Literal value(graph.node(i).types[0]);
    const std::string& name = graph.parameter_name(i);
    for (int64_t k = 0; k < value.num_elements(); ++k) {
      uint32_t bits = random();
      double any = static_cast<double>(bits % 2001) / 8 - 125;
      value.set_double(k, name == kIndexName   ? static_cast<double>(bits % 12) - 2
                          : name == kWholeName ? static_cast<double>(bits % 17) - 8
                          : name == kPowerName ? std::ldexp(bits % 2 == 0 ? 1 : -1, bits / 2 % 4)
                                               : any);
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

std::string difference(const Graph& graph, const std::vector<Literal>& got,
                       const std::vector<Literal>& expected) {
  std::vector<Precision> all = precisions(graph);
  for (size_t o = 0; o < expected.size(); ++o) {
    const Literal& want = expected[o];
    if (got[o].type() != want.type()) return fmt::format("output {} has another type", o);
    double scale = std::max(largest(want), 1e-30);
    for (int64_t i = 0; i < want.num_elements(); ++i)
      if (!agrees(got[o], want, i, all[graph.outputs()[o].node], scale))
        return fmt::format("output {} differs at {}: got {}, want {}", o, i, got[o].get_double(i),
                           want.get_double(i));
  }
  return "";
}

}  // namespace tuff::fuzz
