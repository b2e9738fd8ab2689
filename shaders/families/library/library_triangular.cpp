// cholesky and triangular_solve as calls.
#include "ir/ops/triangular.h"
#include "shaders/families/family.h"

namespace tuff {

std::optional<LibraryLowering> lower_triangular_call(GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  const Shape& a = region.type(node.operands[0]).shape;
  const TensorType& result = node.types[0];
  size_t rank = result.shape.size();
  int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1];
  int64_t matrices = result.num_elements() / (rows * columns);
  Call call;
  if (node.op == Op::kCholesky) {
    call = CholeskyCall{result.dtype, matrices, columns, is_lower(node)};
  } else {
    TriangularForm form = triangular_form(node);
    call =
        TriangularSolveCall{result.dtype, matrices,   a.back(),           rows,           columns,
                            form.left,    form.lower, form.unit_diagonal, form.transposed};
  }
  std::vector<uint32_t> parameters;
  for (Value v : node.operands) parameters.push_back(v.node);
  return whole_call(std::move(call), parameters);
}

}  // namespace tuff
