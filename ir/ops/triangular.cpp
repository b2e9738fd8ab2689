#include "ir/ops/triangular.h"

namespace tuff {

bool is_lower(const Node& cholesky) { return cholesky.attrs.as<CholeskyAttrs>().lower; }

TriangularForm triangular_form(const Node& solve) {
  const auto& attrs = solve.attrs.as<TriangularSolveAttrs>();
  return {attrs.left_side, attrs.lower, attrs.unit_diagonal,
          attrs.transpose_a != Transpose::kNoTranspose};
}

int64_t triangular_block(DType dtype, const Caps& caps) {
  int64_t rows = 64, size = dtype_size(triangular_dtype(dtype));
  // The triangle, and one more column.
  auto bytes = [&] { return rows * (triangular_pitch(rows) + 1) * size; };
  while (rows > caps.max_group_invocations || bytes() > caps.max_shared_bytes) rows /= 2;
  return rows;
}

}  // namespace tuff
