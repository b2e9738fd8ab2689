// From a partition to the graph of fused nodes.
#include <algorithm>
#include <map>
#include <set>

#include "ir/passes/composites.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

GroupView view_of_group(const Partition& p, const std::vector<uint32_t>& members) {
  const Graph& graph = *p.graph;
  GroupView view;
  view.graph = &graph;
  view.members = members;
  view.is_member = [&p, members](uint32_t id) {
    return p.roles[id] == Role::kTransparent ||
           std::binary_search(members.begin(), members.end(), id);
  };
  // A member is an output iff something outside reads it.
  for (uint32_t id : members) {
    const auto& readers = p.readers[id];
    bool read = p.returned[id] || std::any_of(readers.begin(), readers.end(), [&](uint32_t r) {
                  return !std::binary_search(members.begin(), members.end(), r);
                });
    for (uint32_t r = 0; read && r < graph.node(id).types.size(); ++r)
      view.outputs.push_back({id, r});
  }
  return view;
}

std::vector<uint32_t> inputs_of_group(const Partition& p, const std::vector<uint32_t>& members,
                                      const GroupView& view) {
  std::vector<uint32_t> inputs;
  std::vector<Value> transparent;
  auto note = [&](Value v) {
    if (!view.is_member(v.node))
      inputs.push_back(v.node);
    else if (p.roles[v.node] == Role::kTransparent)
      transparent.push_back(v);
  };
  for (uint32_t id : members)
    for (Value v : p.graph->node(id).operands) note(v);
  std::set<uint32_t> seen;
  while (!transparent.empty()) {
    Value v = transparent.back();
    transparent.pop_back();
    if (!seen.insert(v.node).second) continue;
    for (Value operand : p.graph->node(v).operands) note(operand);
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

namespace {

class GroupedGraphBuilder {
 public:
  explicit GroupedGraphBuilder(const Partition& partition)
      : p_(partition), graph_(*partition.graph) {}

  Result<Graph> build() {
    for (uint32_t i = 0; i < graph_.num_parameters(); ++i)
      values_[{i, 0}] = result_.add_parameter(graph_.node(i).types[0], graph_.parameter_name(i),
                                              graph_.node(i).loc);
    emitted_.resize(p_.groups.size());
    for (uint32_t g = 0; g < p_.groups.size(); ++g) emit_group(g);
    set_outputs();
    return std::move(result_);
  }

 private:
  // Groups this one needs come first, in the order of their numbers.
  void emit_group(uint32_t g) {
    struct Waiting {
      uint32_t group;
      std::vector<uint32_t> earlier;
      size_t next = 0;
    };
    std::vector<Waiting> stack;
    auto push = [&](uint32_t group) {
      if (p_.groups[group].members.empty() || emitted_[group]) return;
      emitted_[group] = true;
      stack.push_back({group, missing_before(group)});
    };
    push(g);
    while (!stack.empty()) {
      Waiting& top = stack.back();
      if (top.next < top.earlier.size()) {
        push(top.earlier[top.next++]);
        continue;
      }
      emit(p_.groups[top.group]);
      stack.pop_back();
    }
  }

  // All that the group depends on and that is not emitted yet, ascending.
  std::vector<uint32_t> missing_before(uint32_t group) const {
    std::set<uint32_t> missing;
    std::vector<uint32_t> pending{group};
    while (!pending.empty()) {
      uint32_t at = pending.back();
      pending.pop_back();
      for (uint32_t member : p_.groups[at].members)
        for (uint32_t source : p_.sources[member]) {
          auto producer = static_cast<uint32_t>(p_.group_of[source]);
          if (!emitted_[producer] && missing.insert(producer).second) pending.push_back(producer);
        }
    }
    return {missing.begin(), missing.end()};
  }

  void emit(const Group& group) {
    if (p_.roles[group.members[0]] == Role::kOpaque)
      emit_opaque(group.members[0]);
    else
      emit_fused(group);
  }

  void emit_opaque(uint32_t id) {
    Node node = graph_.node(id);
    for (Value& v : node.operands) v = mapped(v);
    uint32_t results = static_cast<uint32_t>(node.types.size());
    Value first = result_.add(std::move(node));
    for (uint32_t r = 0; r < results; ++r) values_[{id, r}] = {first.node, r};
  }

  // A value of the new graph; sources, and constants that are read as they are, are
  // copied over on first use.
  Value mapped(Value v) {
    if (auto it = values_.find(v); it != values_.end()) return it->second;
    const Node& node = graph_.node(v);
    TUFF_CHECK(p_.roles[v.node] == Role::kSource || node.op == Op::kConstant,
               std::string(op_name(node.op)) + " is used before its group");
    return values_[v] = result_.add(node);
  }

  void emit_fused(const Group& group) {
    GroupView view = view_of_group(p_, group.members);
    if (view.outputs.empty()) return;  // dead
    RegionBuilder region{*this, view, group.kind == GroupKind::kLoop, {}, {}, {}, {}};
    Node fused;
    fused.op = Op::kFused;
    std::vector<Value> outputs;
    region.copy(view.outputs);
    for (Value v : view.outputs) {
      outputs.push_back(region.copies.at(v));
      fused.types.push_back(graph_.type(v));
    }
    region.graph.set_outputs(outputs);
    region.graph.name = word_of(group.kind);
    fused.attrs = group_attrs(group.kind, region.graph);
    fused.regions = {std::make_shared<const Graph>(std::move(region.graph))};
    for (Value v : region.inputs) fused.operands.push_back(mapped(v));
    fused.loc = graph_.node(group.members.back()).loc;
    Value first = result_.add(std::move(fused));
    for (uint32_t r = 0; r < view.outputs.size(); ++r) values_[view.outputs[r]] = {first.node, r};
  }

  // Copies a group's nodes into a region whose parameters are the outside values.
  struct RegionBuilder {
    GroupedGraphBuilder& parent;
    const GroupView& view;
    bool with_constants;  // small ones, which others may read in memory: a loop counts from them
    Graph graph;
    std::vector<Value> inputs;
    std::set<uint32_t> inside;  // nodes that outputs need, members or transparent
    std::map<Value, Value> copies;

    // Parameters come first in a graph, so inputs are found before nodes are copied; these
    // keep the graph's order, in which the group was proved (find_group_space).
    void copy(const std::vector<Value>& outputs) {
      find_inside(outputs);
      for (Value v : inputs) copies[v] = graph.add_parameter(parent.graph_.type(v));
      for (uint32_t id : inside) copy_node(id);
    }
    // Depth first, operands from the left.
    void find_inside(const std::vector<Value>& outputs) {
      std::vector<Value> pending(outputs.rbegin(), outputs.rend());
      std::set<Value> seen;
      while (!pending.empty()) {
        Value v = pending.back();
        pending.pop_back();
        if (!seen.insert(v).second) continue;
        if (!is_inside(v)) {
          inputs.push_back(v);
        } else if (inside.insert(v.node).second) {
          const std::vector<Value>& operands = parent.graph_.node(v).operands;
          pending.insert(pending.end(), operands.rbegin(), operands.rend());
        }
      }
    }
    bool is_inside(Value v) const {
      const Node& node = parent.graph_.node(v);
      return view.is_member(v.node) ||
             (with_constants && node.op == Op::kConstant && is_leaf(node));
    }
    void copy_node(uint32_t id) {
      Node node = parent.graph_.node(id);
      for (Value& operand : node.operands) operand = copies.at(operand);
      uint32_t results = static_cast<uint32_t>(node.types.size());
      Value first = graph.add(std::move(node));
      for (uint32_t r = 0; r < results; ++r) copies[{id, r}] = {first.node, r};
    }
  };

  void set_outputs() {
    std::vector<Value> outputs;
    for (Value v : graph_.outputs()) outputs.push_back(mapped(v));
    result_.set_outputs(std::move(outputs), graph_.output_names());
    result_.name = graph_.name;
    result_.donations = graph_.donations;
  }

  const Partition& p_;
  const Graph& graph_;
  Graph result_;
  std::map<Value, Value> values_;
  std::vector<bool> emitted_;
};

}  // namespace

Result<Graph> build_grouped_graph(const Partition& partition) {
  return GroupedGraphBuilder(partition).build();
}

}  // namespace tuff
