#include "ir/group/affine_access.h"

#include "ir/index/view_map.h"

namespace tuff {

std::optional<int64_t> merged_stride(const std::vector<int64_t>& dims, const Shape& shape,
                                     const std::vector<int64_t>& strides) {
  std::optional<int64_t> innermost;
  int64_t expected = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    auto d = static_cast<size_t>(dims[i]);
    if (shape[d] == 1) continue;
    if (!innermost)
      innermost = strides[d];
    else if (strides[d] != expected)
      return std::nullopt;
    expected = strides[d] * shape[d];
  }
  return innermost.value_or(1);
}

namespace affine_internal {

std::optional<AffineAccess> access_through(const Graph& graph, Value value,
                                           const std::vector<uint32_t>& chain) {
  IndexContext context;
  const Shape& shape = graph.type(value).shape;
  IndexVector vars;
  for (int64_t size : shape) vars.push_back(context.symbol("i", 0, std::max<int64_t>(size - 1, 0)));
  IndexVector index = vars;
  AffineAccess access{value, 0, std::vector<int64_t>(shape.size(), 0)};
  for (uint32_t id : chain) {
    const Node& node = graph.node(id);
    if (node.op == Op::kConvert) {
      access.base = node.operands[0];
      continue;
    }
    std::vector<Shape> shapes;
    for (Value operand : node.operands) shapes.push_back(graph.type(operand).shape);
    auto sources = view_sources(context, node, shapes, index);
    if (sources.size() != 1 || !sources[0].conditions.empty()) return std::nullopt;
    access.base = node.operands[sources[0].operand];
    index = sources[0].index;
    // A chain may only continue through the operand that was followed.
    if (sources[0].operand != 0 && id != chain.back()) return std::nullopt;
  }
  IndexExpr linear = linearize(index, graph.type(access.base).shape);
  access.offset = linear.constant;
  for (auto [atom, coefficient] : linear.terms) {
    bool found = false;
    for (size_t d = 0; d < vars.size(); ++d) {
      if (vars[d].terms.empty() || vars[d].terms[0].first != atom) continue;
      access.strides[d] = coefficient;
      found = true;
    }
    if (!found) return std::nullopt;  // a division is left
  }
  return access;
}

}  // namespace affine_internal

Value through_reshapes(const Graph& graph, Value v) {
  while (graph.node(v).op == Op::kReshape) v = graph.node(v).operands[0];
  return v;
}

}  // namespace tuff
