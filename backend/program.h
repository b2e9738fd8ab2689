// Program: what a compiled graph is, before any device has touched it. Plain
// data: kernels, steps over an arena, constants. compile.cpp and plan.cpp make
// it; a Device loads and runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/literal.h"
#include "shaders/kernel.h"

namespace tuff {

// A range of bytes a step reads or writes.
struct Range {
  enum class Space : uint8_t { kArena, kArgument, kOutput, kConstants };
  Space space = Space::kArena;
  uint32_t index = 0;          // argument or output number; constant number
  int64_t offset_bytes = 0;    // arena only: from the arena's start, aligned
  int64_t size_bytes = 0;      // > 0: no zero-sized range exists
  bool operator==(const Range&) const = default;
};

// C[b] = A[b] x B[b] over strided operands, for devices with Caps::library_calls.
// batch dimensions are merged into up to 3 loops. Strides in elements; a stride
// may be 0 (broadcast). f32 only.
struct MatmulCall {
  std::vector<int64_t> batch;                        // sizes, possibly empty
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> a_batch_strides, b_batch_strides, c_batch_strides;
  int64_t a_offset = 0, a_row = 0, a_col = 0;        // element strides of A[m, k]
  int64_t b_offset = 0, b_row = 0, b_col = 0;        // of B[k, n]
  int64_t c_offset = 0, c_row = 0, c_col = 0;        // of C[m, n]
};

// NHWC x HWIO -> NHWC convolution, f32; other layouts are views resolved before.
struct ConvolutionCall {
  std::vector<int64_t> input, kernel, output;        // [n, spatial.., c], [spatial.., ci, co], [n, spatial.., c]
  std::vector<int64_t> strides, padding_low, padding_high, rhs_dilation;
  int64_t groups = 1;
};

// One unit of work. A dispatch names a kernel; a library call may carry an
// epilogue kernel that is run over its output in place.
struct Step {
  enum class Kind : uint8_t { kDispatch, kMatmul, kConvolution };
  Kind kind = Kind::kDispatch;
  uint32_t kernel = 0;                 // index in Program::kernels (kDispatch)
  std::vector<int32_t> params;         // the kernel's parameters
  std::vector<Range> bindings;         // one per buffer of the kernel; calls: A, B, C
  int64_t workgroups = 0;              // product of the grid's extents
  std::optional<MatmulCall> matmul;
  std::optional<ConvolutionCall> convolution;
  bool barrier = false;                // an earlier step since the last barrier conflicts with it
  std::string label;                   // "matmul: dot_general + add (model.py:12)"
  std::vector<std::string> ops;        // member operations, for profiles and explain
};

// Immutable after compile; may be shared by threads and devices of equal Caps.
struct Program {
  std::vector<Kernel> kernels;         // distinct: equal work is one kernel
  std::vector<std::string> kernel_keys;  // text of each kernel, its identity
  std::vector<Step> steps;
  int64_t arena_bytes = 0;
  std::vector<Literal> constants;      // in device storage form
  std::vector<TensorType> arguments, outputs;
  std::vector<std::string> argument_names, output_names;
};

}  // namespace tuff
