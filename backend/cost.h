// What a group costs, counted from its members: the only place where FLOP and bytes
// come from. The counts say what the computation needs, not what a kernel happens to do.
//
// FLOP: operations on floats. Integer arithmetic, comparisons, conversions and all that
// only moves data count nothing.
//   elementwise           1 per element of the result, whatever the function
//   dot_general           2 * elements of the result * contracted size
//   convolution           2 * elements of the result * elements of one output feature's kernel
//   reduce                body's FLOP * elements of the inputs
//   reduce_window         body's FLOP * elements of the result * window
//   scatter               body's FLOP * elements of the updates
//   select_and_scatter    body's FLOP * elements of the source
//   cholesky              n^3 / 3 a matrix
//   triangular_solve      n * elements of the result
//   fft                   5 n log2(n) of n complex numbers, half of that of real ones
// Members are counted once, also where a kernel computes one again for each use.
//
// Bytes: every tensor that a step binds is read or written once, whole; of an input that
// the group only looks into (gather, dynamic_slice, slice), the elements it takes.
#pragma once

#include <string>

#include "backend/program.h"
#include "ir/caps.h"
#include "shaders/lower.h"

namespace tuff {

// Of step `index` of a lowered group. The group's FLOP fall to its call or its main
// kernel; the map that follows a library call has the rest.
StepCost cost_of_step(const Graph& region, const LoweredGroup& group, size_t index,
                      const Caps& caps);

// The operation a step is named after in profiles: its group's costliest member; where
// none computes, the last one. after_call: the step is the map that follows a library
// call, which did the contraction.
Op main_op(const Graph& region, bool after_call);

// "f32", "bf16" ...: the element type that most FLOP of the graph's matmuls and convolutions
// take, those of nested regions once; "f32" where there are none.
std::string matmul_precision(const Graph& graph);

// What memory traffic fusion avoids: each value that stays inside the group would have
// been written once and read once per use.
int64_t fused_bytes(const Graph& region);

}  // namespace tuff
