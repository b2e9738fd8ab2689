// What cholesky and triangular_solve nodes say, and how large a matrix one kernel takes.
#pragma once

#include "ir/caps.h"
#include "ir/graph.h"

namespace tuff {

bool is_lower(const Node& cholesky);

// op(a) * x = b, or x * op(a) = b where the matrix stands right; op transposes or does nothing.
struct TriangularForm {
  bool left = true, lower = true, unit_diagonal = false, transposed = false;

  // A right-hand side at a time, t * x = b: t is a, or flipped, the transpose of a.
  bool flipped() const { return transposed == left; }
  bool solves_downwards() const { return lower != flipped(); }
};
TriangularForm triangular_form(const Node& solve);

// The type that a kernel computes in.
inline DType triangular_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}
// Rows of a triangle in shared memory: kernels need no more, since `decompose` makes blocks of
// larger matrices.
int64_t triangular_block(DType dtype, const Caps& caps);
// From one row of it to the next: lanes that read a column each read another bank.
inline int64_t triangular_pitch(int64_t n) { return n + 1; }

}  // namespace tuff
