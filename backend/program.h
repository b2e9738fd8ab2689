// Program: what a compiled graph is, before any device has touched it. Plain
// data: kernels, a tree of steps over an arena, constants. compile.cpp and
// assemble.cpp make it; a Device loads and runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "shaders/kernel/kernel.h"
#include "shaders/library_call.h"

namespace tuff {

// A range of bytes a step reads or writes.
struct Range {
  enum class Space : uint8_t { kArena, kArgument, kOutput, kConstants };
  Space space = Space::kArena;
  uint32_t index = 0;        // argument or output number; constant number
  int64_t offset_bytes = 0;  // arena only: from the arena's start, aligned
  // > 0: no zero-sized range exists. Less than the output's where a temporary lies in it.
  int64_t size_bytes = 0;
  bool operator==(const Range&) const = default;
};

// What a step needs at least; how it is counted: cost.h.
struct StepCost {
  double flops = 0;  // operations on floats
  int64_t read_bytes = 0, written_bytes = 0;
};

// What the host itself does in a step.
struct HostCall {
  HostCallAttrs function;
  std::vector<TensorType> arguments, results;
};

struct Program;
struct Step;
using Steps = std::vector<Step>;  // run in order

// One unit of work, or control over the steps in its blocks.
struct Step {
  enum class Kind : uint8_t {
    kDispatch,  // runs a kernel
    kCall,      // a library, or C++ of our own, on the CPU device
    kCopy,      // bindings[0] to bindings[1], of one size, apart from each other
    kWhile,     // blocks: condition, body. Runs the body as long as the condition leaves
                // something other than 0 in bindings[0]; with a trip_count, the body that
                // often, and the condition is empty.
    kCase,      // blocks: the branches. Runs the one that bindings[0] (an integer of 1
                // or 4 bytes) names; the last one for an index that names none.
    kHost,  // runs the program `host` on the device's host, or does `host_call` on a device that
            // is one: bindings are the arguments, then the results, empty ones left out
  };
  Kind kind = Kind::kDispatch;
  uint32_t kernel = 0;          // index in Program::kernels (kDispatch)
  std::vector<int32_t> params;  // the kernel's parameters
  std::vector<Range> bindings;  // one per buffer of the kernel; calls: operands, then results
  int64_t workgroups = 0;       // product of the grid's extents
  Call call;                    // kCall
  std::vector<Steps> blocks;
  std::optional<int64_t> trip_count;
  std::shared_ptr<const Program> host;
  std::shared_ptr<const HostCall> host_call;
  // An earlier step since the last barrier conflicts with it. The first step of a block
  // and the step after control always wait.
  bool barrier = false;
  std::string label;             // "matmul: dot_general + add (model.py:12)"
  std::vector<std::string> ops;  // member operations, for profiles and explain
  GraphPtr region;               // the group it computes, alone or with its neighbours
  StepCost cost;
  // What it takes, where that is known not to be what the cost says: one workgroup does it all.
  double estimated_ms = 0;
};

// An argument that its caller gives up for an output.
struct Donation {
  uint32_t argument = 0, output = 0;
  // A run may be given one buffer for both; a copy from one to the other is then left
  // out. Barriers count the two as one range.
  bool in_place = false;
};

// Immutable after compile; may be shared by threads and devices of equal Caps.
struct Program {
  std::vector<Kernel> kernels;           // distinct: equal work is one kernel
  std::vector<std::string> kernel_keys;  // text of each kernel, its identity
  Steps steps;
  int64_t arena_bytes = 0;
  std::vector<Literal> constants;  // in device storage form
  std::vector<TensorType> arguments, outputs;
  std::vector<std::string> argument_names, output_names;
  std::vector<Donation> donations;
};

// Of a kHost, which has one of the two.
inline const std::vector<TensorType>& host_arguments(const Step& step) {
  return step.host_call ? step.host_call->arguments : step.host->arguments;
}
inline const std::vector<TensorType>& host_results(const Step& step) {
  return step.host_call ? step.host_call->results : step.host->outputs;
}

inline bool is_control(Step::Kind kind) {
  return kind == Step::Kind::kWhile || kind == Step::Kind::kCase;
}

// The block of a kCase that an index names.
inline size_t chosen_branch(const Step& step, int64_t index) {
  auto count = static_cast<int64_t>(step.blocks.size());
  return static_cast<size_t>(index < 0 || index >= count ? count - 1 : index);
}

// Calls visit(step, depth) on every step, a step before those of its blocks. Steps may be
// const.
template <typename AnySteps, typename Visit>
void for_each_step(AnySteps& steps, Visit&& visit, int depth = 0) {
  for (auto& step : steps) {
    visit(step, depth);
    for (auto& block : step.blocks) for_each_step(block, visit, depth + 1);
  }
}

}  // namespace tuff
