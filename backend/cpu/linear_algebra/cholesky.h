// Cholesky factors of dense matrices.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Operands: the matrices, the factors. The other triangle of a factor is zero; a
// matrix that is not positive definite gives NaN.
LibraryCallPtr create_cholesky(const CholeskyCall& call, const LaneTable& table);

}  // namespace tuff::cpu
