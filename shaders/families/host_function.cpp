// Operations that only C++ computes, on devices that run it: one node as a call.
#include "ir/passes/place.h"
#include "shaders/families/family.h"

namespace tuff {

Result<LoweredGroup> lower_host_function(GroupContext& group) {
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  if (auto missing = kernel_missing(region, node, group.caps))
    return Error{ErrorCode::kUnsupported, *missing + ".", node.loc};
  const Shape& a = region.type(node.operands[0]).shape;
  const TensorType& result = node.types[0];
  size_t rank = result.shape.size();
  int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1];
  int64_t matrices = result.num_elements() / (rows * columns);
  auto flag = [&](const char* name) { return node.attrs.get_int(name) != 0; };
  Call call;
  if (node.op == Op::kCholesky)
    call = CholeskyCall{result.dtype, matrices, columns, flag("lower")};
  else
    call =
        TriangularSolveCall{result.dtype,
                            matrices,
                            a.back(),
                            rows,
                            columns,
                            flag("left_side"),
                            flag("lower"),
                            flag("unit_diagonal"),
                            node.attrs.get_string("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"};
  std::vector<uint32_t> parameters;
  for (Value v : node.operands) parameters.push_back(v.node);
  return one_step(whole_call(std::move(call), parameters).step);
}

}  // namespace tuff
