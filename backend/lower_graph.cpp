#include <fmt/format.h>

#include <unordered_map>

#include "backend/assemble.h"
#include "shaders/emit_glsl.h"
#include "shaders/kernel_text.h"

namespace tuff {

namespace {

class GraphLowerer {
 public:
  GraphLowerer(const Graph& graph, const Caps& caps) : graph_(graph), caps_(caps) {}

  Result<LoweredGraph> run() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kParameter || node.op == Op::kConstant) continue;
      if (node.op != Op::kFused)
        return Error{
            ErrorCode::kUnsupported,
            fmt::format(
                "Operation ({}) has no kernel on device ({}) yet; --device reference runs it.",
                op_name(node.op), caps_.name),
            node.loc};
      TUFF_RETURN_IF_ERROR(lower_node(id));
    }
    return std::move(result_);
  }

 private:
  Status lower_node(uint32_t id) {
    const Node& node = graph_.node(id);
    TUFF_ASSIGN(LoweredGraph::Group group, lower_region(node));
    group.node = id;
    result_.groups.push_back(std::move(group));
    return {};
  }

  // Layers of a network have equal regions: they are lowered once.
  Result<LoweredGraph::Group> lower_region(const Node& node) {
    const GraphPtr& region = node.regions[0];
    uint64_t hash = region->hash();
    auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (*it->second.first == *region) return it->second.second;
    auto lowered = lower_group(*region, caps_);
    if (!lowered.ok()) {
      Error error = lowered.take_error();
      if (error.where.empty()) error.where = node.loc;
      return error;
    }
    LoweredGraph::Group group;
    for (const LoweredStep& step : lowered->steps)
      group.kernels.push_back(step.kernel ? kernel_number(*step.kernel) : 0);
    group.lowered = std::make_shared<const LoweredGroup>(std::move(*lowered));
    known_.emplace(hash, std::make_pair(region, group));
    return group;
  }

  uint32_t kernel_number(const Kernel& kernel) {
    std::string key = print_kernel(kernel);
    auto [it, fresh] = numbers_.try_emplace(key, static_cast<uint32_t>(result_.kernels.size()));
    if (fresh) {
      result_.kernels.push_back(kernel);
      result_.kernel_keys.push_back(std::move(key));
    }
    return it->second;
  }

  const Graph& graph_;
  const Caps& caps_;
  LoweredGraph result_;
  std::unordered_multimap<uint64_t, std::pair<GraphPtr, LoweredGraph::Group>> known_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

const char* step_name(const LoweredStep& step) {
  return step.kernel   ? step.kernel->family.c_str()
         : step.matmul ? "library matmul"
                       : "library convolution";
}

}  // namespace

Result<LoweredGraph> lower_graph(const Graph& grouped, const Caps& caps) {
  return GraphLowerer(grouped, caps).run();
}

std::string print_lowered(const LoweredGraph& lowered) {
  std::string text;
  for (size_t k = 0; k < lowered.kernels.size(); ++k)
    text += fmt::format("// kernel {}\n{}\n", k, lowered.kernel_keys[k]);
  for (const LoweredGraph::Group& group : lowered.groups)
    for (size_t s = 0; s < group.lowered->steps.size(); ++s) {
      const LoweredStep& step = group.lowered->steps[s];
      text += fmt::format("%{}: {}", group.node, step_name(step));
      if (step.kernel)
        text += fmt::format(" kernel {} workgroups {} params [{}]", group.kernels[s],
                            step.workgroups, fmt::join(step.params, ", "));
      text += "\n";
    }
  return text;
}

Result<std::string> print_glsl(const LoweredGraph& lowered, const Caps& caps) {
  std::string text;
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    TUFF_ASSIGN(GlslShader shader, emit_glsl(lowered.kernels[k], caps));
    text += fmt::format("// kernel {}\n{}\n", k, shader.text);
  }
  return text;
}

}  // namespace tuff
