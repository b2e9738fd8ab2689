// Systems of equations with triangular matrices.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Operands: the triangular matrices, the right-hand sides, the solutions. Only the
// named triangle is read, and not its diagonal where that is said to be one.
LibraryCallPtr create_triangular_solve(const TriangularSolveCall& call, const LaneTable& table);

}  // namespace tuff::cpu
