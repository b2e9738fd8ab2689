#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend/plan/assemble.h"
#include "shaders/emit/emit_glsl.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {

namespace {

class GraphLowerer {
 public:
  GraphLowerer(const Caps& caps, const CompileHosted& compile_hosted)
      : caps_(caps),
        is_host_(caps.device_class == DeviceClass::kCpu),
        compile_hosted_(compile_hosted) {}

  Result<LoweredGraph> run(const Graph& graph) {
    TUFF_ASSIGN(result_.main, lower_block(graph));
    return std::move(result_);
  }

 private:
  Result<LoweredBlock> lower_block(const Graph& graph) {
    LoweredBlock block{&graph, {}};
    const Donations donations = donations_of(graph);
    for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
      const Node& node = graph.node(id);
      if (node.op == Op::kParameter || node.op == Op::kConstant) continue;
      TUFF_ASSIGN(LoweredBlock::Item item, lower_node(node, replacements_of(graph, donations, id)));
      item.node = id;
      block.items.push_back(std::move(item));
    }
    return block;
  }

  // Outputs that take a donated argument's place, by the node that makes them.
  using Donations = std::multimap<uint32_t, std::pair<uint32_t, Value>>;
  static Donations donations_of(const Graph& graph) {
    Donations donations;
    for (auto [argument, output] : graph.donations) {
      Value result = graph.outputs()[output];
      donations.emplace(result.node, std::pair(argument, result));
    }
    return donations;
  }

  // Donated arguments that the node reads and gives what shall replace them.
  static std::vector<Replacement> replacements_of(const Graph& graph, const Donations& donations,
                                                  uint32_t id) {
    std::vector<Replacement> found;
    const std::vector<Value>& operands = graph.node(id).operands;
    auto [first, last] = donations.equal_range(id);
    for (auto it = first; it != last; ++it) {
      auto [argument, result] = it->second;
      auto read = std::find(operands.begin(), operands.end(), Value{argument, 0});
      if (read != operands.end())
        found.push_back({result.result, static_cast<uint32_t>(read - operands.begin())});
    }
    return found;
  }

  Result<LoweredBlock::Item> lower_node(const Node& node,
                                        const std::vector<Replacement>& replacements) {
    if (node.op == Op::kFused) return lower_region(node, replacements);
    if (node.op == Op::kHosted) return lower_hosted(node);
    if (node.op == Op::kHostCall && is_host_) return LoweredBlock::Item{};
    if (node.op != Op::kWhile && node.op != Op::kIf && node.op != Op::kCase)
      return Error{
          ErrorCode::kUnsupported,
          fmt::format(
              "Operation ({}) has no kernel on device ({}) yet; the device reference runs it.",
              op_name(node.op), caps_.name),
          node.loc};
    LoweredBlock::Item item;
    for (const GraphPtr& region : node.regions) {
      TUFF_ASSIGN(LoweredBlock block, lower_block(*region));
      item.blocks.push_back(std::move(block));
    }
    return item;
  }

  Result<LoweredBlock::Item> lower_hosted(const Node& node) {
    LoweredBlock::Item item;
    auto program = compile_hosted_(*node.regions[0]);
    if (program.ok()) {
      item.host = std::move(program).value();
      return item;
    }
    Error error = program.take_error();
    if (error.where.empty()) error.where = node.loc;
    return error;
  }

  // Layers of a network have equal regions: they are lowered once.
  Result<LoweredBlock::Item> lower_region(const Node& node,
                                          const std::vector<Replacement>& replacements) {
    const GraphPtr& region = node.regions[0];
    uint64_t hash = region->hash();
    auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (*it->second.region == *region && it->second.attrs == node.attrs &&
          it->second.replacements == replacements)
        return it->second.item;
    auto lowered = lower_group(node, caps_, replacements);
    if (!lowered.ok()) {
      Error error = lowered.take_error();
      if (error.where.empty()) error.where = node.loc;
      return error;
    }
    LoweredBlock::Item item;
    for (const LoweredStep& step : lowered->steps)
      item.kernels.push_back(step.kernel ? kernel_number(*step.kernel) : 0);
    item.group = std::make_shared<const LoweredGroup>(std::move(*lowered));
    known_.emplace(hash, Known{region, node.attrs, replacements, item});
    return item;
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

  const Caps& caps_;
  const bool is_host_;
  const CompileHosted& compile_hosted_;
  LoweredGraph result_;
  struct Known {
    GraphPtr region;
    Attrs attrs;
    std::vector<Replacement> replacements;
    LoweredBlock::Item item;
  };
  std::unordered_multimap<uint64_t, Known> known_;  // by the region's hash
  std::unordered_map<std::string, uint32_t> numbers_;
};

void print_block(const LoweredBlock& block, int depth, std::string& text) {
  for (const LoweredBlock::Item& item : block.items) {
    std::string head = fmt::format("{:{}}%{}: ", "", 2 * depth, item.node);
    if (!item.group) {
      text += head + op_name(block.graph->node(item.node).op) + "\n";
      for (const LoweredBlock& inner : item.blocks) {
        text += fmt::format("{:{}}{} {{\n", "", 2 * depth, inner.graph->name);
        print_block(inner, depth + 1, text);
        text += fmt::format("{:{}}}}\n", "", 2 * depth);
      }
      continue;
    }
    for (size_t s = 0; s < item.group->steps.size(); ++s) {
      const LoweredStep& step = item.group->steps[s];
      text += head + step_name(step);
      if (step.kernel)
        text += fmt::format(" kernel {} workgroups {} params [{}]", item.kernels[s],
                            step.workgroups, fmt::join(step.params, ", "));
      text += "\n";
    }
  }
}

}  // namespace

Result<LoweredGraph> lower_graph(const Graph& grouped, const Caps& caps,
                                 const CompileHosted& compile_hosted) {
  return GraphLowerer(caps, compile_hosted).run(grouped);
}

std::string print_lowered(const LoweredGraph& lowered) {
  std::string text;
  for (size_t k = 0; k < lowered.kernels.size(); ++k)
    text += fmt::format("// kernel {}\n{}\n", k, lowered.kernel_keys[k]);
  print_block(lowered.main, 0, text);
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
