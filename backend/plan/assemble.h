// The last stops of the walk: groups to lowered steps, steps to a Program with
// its memory plan, and the text of both.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "shaders/lower.h"

namespace tuff {

// The nodes of a graph, or of a region of control flow, that do something.
struct LoweredBlock {
  struct Item {
    uint32_t node = 0;
    std::shared_ptr<const LoweredGroup> group;  // of a fused node
    std::vector<uint32_t> kernels;        // by step of the group: its kernel (unused for calls)
    std::vector<LoweredBlock> blocks;     // of control flow: one per region
    std::shared_ptr<const Program> host;  // of a hosted node
  };
  const Graph* graph = nullptr;
  std::vector<Item> items;
};

// A grouped graph, lowered; it must outlive this. Equal groups are lowered once.
struct LoweredGraph {
  std::vector<Kernel> kernels;           // distinct
  std::vector<std::string> kernel_keys;  // their texts
  LoweredBlock main;
};

// How a hosted region becomes a program of the host.
using CompileHosted = std::function<Result<std::shared_ptr<const Program>>(const Graph& region)>;

// Errors: kUnsupported naming the first op that has no kernel on the device.
Result<LoweredGraph> lower_graph(const Graph& grouped, const Caps& caps,
                                 const CompileHosted& compile_hosted);
std::string print_lowered(const LoweredGraph& lowered);
Result<std::string> print_glsl(const LoweredGraph& lowered, const Caps& caps);

// Lays out memory and places barriers; fills the report's sizes. `verify`: checks the result
// (verify/verify_values.h, verify/verify_program.h); without it there are no errors.
Result<std::shared_ptr<const Program>> assemble_program(LoweredGraph lowered, const Caps& caps,
                                                        CompileReport& report, bool verify);
std::string print_plan(const Program& program);

}  // namespace tuff
