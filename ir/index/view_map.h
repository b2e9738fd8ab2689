// Views as index arithmetic: where an element of a view's result comes from.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/index/index_expr.h"

namespace tuff {

using IndexVector = std::vector<IndexExpr>;

// One source of a view's element: operand `operand` at `index`, taken iff every
// condition holds. Conditions that always hold are left out.
struct ViewSource {
  uint32_t operand = 0;
  IndexVector index;
  std::vector<IndexCondition> conditions;
  // Hold wherever the source is taken, but not elsewhere: a load of `index` that runs
  // before the choice is made must be guarded by these and the conditions.
  std::vector<IndexCondition> implied;
};

// The sources of element `index` of a view node's result, first match wins; the
// last one has no conditions. Sources that can never match are left out.
//   pad: {operand if inside, padding value}; concatenate: one per operand;
//   others: exactly one. bitcast_convert is a view only between equal widths.
// operand_shapes: the operands' shapes in order.
std::vector<ViewSource> view_sources(IndexContext& context, const Node& node,
                                     const std::vector<Shape>& operand_shapes,
                                     const IndexVector& index);

// The reverse for views that only rename elements (reshape, transpose, reverse,
// broadcast_in_dim that adds unit dimensions): where operand element `index` goes.
// Nothing for other views.
std::optional<IndexVector> forward_view(IndexContext& context, const Node& node,
                                        const Shape& operand_shape, const IndexVector& index);

}  // namespace tuff
