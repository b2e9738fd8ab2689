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
#include "shaders/library_call.h"

namespace tuff {

// A range of bytes a step reads or writes.
struct Range {
  enum class Space : uint8_t { kArena, kArgument, kOutput, kConstants };
  Space space = Space::kArena;
  uint32_t index = 0;        // argument or output number; constant number
  int64_t offset_bytes = 0;  // arena only: from the arena's start, aligned
  int64_t size_bytes = 0;    // > 0: no zero-sized range exists
  bool operator==(const Range&) const = default;
};

// One unit of work. A dispatch names a kernel; a library call may carry an
// epilogue kernel that is run over its output in place.
struct Step {
  enum class Kind : uint8_t { kDispatch, kMatmul, kConvolution };
  Kind kind = Kind::kDispatch;
  uint32_t kernel = 0;          // index in Program::kernels (kDispatch)
  std::vector<int32_t> params;  // the kernel's parameters
  std::vector<Range> bindings;  // one per buffer of the kernel; calls: A, B, C
  int64_t workgroups = 0;       // product of the grid's extents
  std::optional<MatmulCall> matmul;
  std::optional<ConvolutionCall> convolution;
  bool barrier = false;          // an earlier step since the last barrier conflicts with it
  std::string label;             // "matmul: dot_general + add (model.py:12)"
  std::vector<std::string> ops;  // member operations, for profiles and explain
};

// Immutable after compile; may be shared by threads and devices of equal Caps.
struct Program {
  std::vector<Kernel> kernels;           // distinct: equal work is one kernel
  std::vector<std::string> kernel_keys;  // text of each kernel, its identity
  std::vector<Step> steps;
  int64_t arena_bytes = 0;
  std::vector<Literal> constants;  // in device storage form
  std::vector<TensorType> arguments, outputs;
  std::vector<std::string> argument_names, output_names;
};

}  // namespace tuff
