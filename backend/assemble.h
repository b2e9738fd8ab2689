// The last stops of the walk: groups to lowered steps, steps to a Program with
// its memory plan, and the text of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "shaders/lower.h"

namespace tuff {

// Every fused node of a graph, lowered. Equal regions are lowered once.
struct LoweredGraph {
  std::vector<Kernel> kernels;           // distinct
  std::vector<std::string> kernel_keys;  // their texts
  struct Group {
    uint32_t node = 0;  // the fused node
    std::shared_ptr<const LoweredGroup> lowered;
    std::vector<uint32_t> kernels;  // by step: number of its kernel (unused for calls)
  };
  std::vector<Group> groups;
};

// Errors: kUnsupported naming the first op that has no kernel on the device.
Result<LoweredGraph> lower_graph(const Graph& grouped, const Caps& caps);
std::string print_lowered(const LoweredGraph& lowered);
Result<std::string> print_glsl(const LoweredGraph& lowered, const Caps& caps);

// Lays out memory and places barriers; fills the report's sizes.
std::shared_ptr<const Program> assemble_program(const Graph& grouped, LoweredGraph lowered,
                                                const Caps& caps, CompileReport& report);
std::string print_plan(const Program& program);

}  // namespace tuff
