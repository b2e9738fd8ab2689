#include "ir/evaluate/difference.h"

#include <algorithm>
#include <cmath>

#include "ir/evaluate/tolerances.h"

namespace tuff {

namespace {

void visit_types(const Graph& graph, double& coarsest) {
  for (const Node& node : graph.nodes()) {
    for (const TensorType& type : node.types)
      coarsest = std::max(coarsest, tolerance("check", type.dtype));
    for (const GraphPtr& region : node.regions) visit_types(*region, coarsest);
  }
}

}  // namespace

Difference compare_outputs(const Literal& got, const Literal& expected, double tolerance) {
  Difference d;
  if (got.type() != expected.type()) return {INFINITY, INFINITY, 0, false};
  bool exact = !is_float(got.type().dtype), comparable = true;
  double largest = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    double a = got.get_double(i), b = expected.get_double(i);
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
    bool equal =
        exact ? got.get_int(i) == expected.get_int(i) : a == b || (std::isnan(a) && std::isnan(b));
    if (equal) continue;
    double distance = std::fabs(a - b);
    if (!std::isfinite(distance)) {
      if (comparable) d.at = i;
      comparable = false;
    } else if (comparable && distance >= d.max_abs) {
      d.at = i;
    }
    d.max_abs = std::max(d.max_abs, std::isfinite(distance) ? distance : INFINITY);
  }
  d.max_rel = d.max_abs == 0 ? 0 : largest > 0 ? d.max_abs / largest : d.max_abs;
  d.within = exact ? d.at < 0 : comparable && d.max_rel <= tolerance;
  return d;
}

double check_tolerance(const Graph& graph) {
  double coarsest = tolerance("check", DType::kF64);
  visit_types(graph, coarsest);
  return coarsest;
}

}  // namespace tuff
