// The table of tolerances.def.
#pragma once

#include <string_view>

#include "ir/type.h"

namespace tuff {

// The bound of a kind of work in a type, in the row's measure; 0, exact, where there is no row.
constexpr double tolerance(std::string_view kind, DType dtype = DType::kF32) {
#define OP_ULP(op, ulp, reason)
#define TOLERANCE(name, type, measure, bound, reason) \
  if (kind == #name && dtype == DType::k##type) return bound;
#include "ir/evaluate/tolerances.def"
#undef OP_ULP
#undef TOLERANCE
  return 0;
}

// Ulps of f32 that an elementwise operation keeps; 0, exact, where there is no row.
constexpr double op_ulp(std::string_view name) {
#define OP_ULP(op, ulp, reason) \
  if (name == #op) return ulp;
#define TOLERANCE(name, type, measure, bound, reason)
#include "ir/evaluate/tolerances.def"
#undef OP_ULP
#undef TOLERANCE
  return 0;
}

}  // namespace tuff
