#include "ir/passes/eliminate_dead.h"

#include <algorithm>

#include "ir/rewrite.h"

namespace tuff {

namespace {

using Flags = std::vector<bool>;

// Parameters of the region that its outputs selected by `wanted` depend on.
Flags needed_parameters(const Graph& region, const Flags& wanted) {
  Flags live(region.nodes().size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) live[region.outputs()[i].node] = true;
  for (size_t id = live.size(); id-- > region.num_parameters();) {
    const Node& node = region.node(static_cast<uint32_t>(id));
    if (!live[id] && !has_side_effect(node)) continue;
    for (Value v : node.operands) live[v.node] = true;
  }
  live.resize(region.num_parameters());
  return live;
}

template <typename T>
std::vector<T> selected(const std::vector<T>& list, const Flags& keep, size_t offset = 0) {
  std::vector<T> out(list.begin(), list.begin() + static_cast<int64_t>(offset));
  for (size_t i = offset; i < list.size(); ++i)
    if (keep[i - offset]) out.push_back(list[i]);
  return out;
}

// Default names follow the position, which changes here: they are given anew.
std::string kept_name(const std::string& name, const char* prefix, size_t position) {
  return name == prefix + std::to_string(position) ? std::string() : name;
}

// The region with some parameters and outputs only. A dropped parameter has no
// live user when this is called, because everything dead goes with it.
GraphPtr shrink_region(const Graph& region, const Flags& keep_parameters,
                       const Flags& keep_outputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < keep_outputs.size(); ++i)
    if (keep_outputs[i]) names.push_back(kept_name(region.output_names()[i], "out", i));
  Graph selected_outputs = region;
  selected_outputs.set_outputs(selected(region.outputs(), keep_outputs), std::move(names));
  std::vector<bool> live = live_nodes(selected_outputs);
  Graph out;
  out.name = region.name;
  std::vector<Value> map(region.nodes().size());
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    const Node& old = region.node(id);
    if (id < region.num_parameters()) {
      if (!keep_parameters[id]) continue;
      map[id] =
          out.add_parameter(old.types[0], kept_name(region.parameter_name(id), "arg", id), old.loc);
    } else if (live[id]) {
      Node node = old;
      for (Value& v : node.operands) v = {map[v.node].node, v.result};
      map[id] = out.add(std::move(node));
    }
  }
  std::vector<Value> outputs;
  for (Value v : selected_outputs.outputs()) outputs.push_back({map[v.node].node, v.result});
  out.set_outputs(std::move(outputs), selected_outputs.output_names());
  return std::make_shared<const Graph>(std::move(out));
}

bool is_shrunk(Op op) { return op == Op::kWhile || op == Op::kIf || op == Op::kCase; }

// Results of each node that may shrink that someone reads; of others nothing.
std::vector<Flags> used_results(const Graph& graph) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(),
                   [](const Node& node) { return is_shrunk(node.op); }))
    return {};
  std::vector<Flags> used(graph.nodes().size());
  for (size_t id = 0; id < used.size(); ++id)
    if (is_shrunk(graph.nodes()[id].op)) used[id].resize(graph.nodes()[id].types.size());
  auto use = [&](Value v) {
    if (!used[v.node].empty()) used[v.node][v.result] = true;
  };
  for (const Node& node : graph.nodes())
    for (Value v : node.operands) use(v);
  for (Value v : graph.outputs()) use(v);
  return used;
}

// Values a while must carry: results that are read, what the condition reads,
// and what the next round's value of any of these depends on.
Flags needed_carries(const Node& loop, Flags needed) {
  Flags condition = needed_parameters(*loop.regions[0], {true});
  for (;;) {
    Flags body = needed_parameters(*loop.regions[1], needed);
    Flags next = needed;
    for (size_t i = 0; i < next.size(); ++i) next[i] = needed[i] || condition[i] || body[i];
    if (next == needed) return needed;
    needed = std::move(next);
  }
}

std::vector<Value> kept_results(Value node, const Flags& keep) {
  // Dropped results have no readers; any value of the right type would do, and
  // none is asked for.
  std::vector<Value> results(keep.size(), node);
  uint32_t next = 0;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) results[i].result = next++;
  return results;
}

struct Shrunk {
  Node node;
  Flags kept;
};

std::optional<Shrunk> shrink_while(const Node& node, const Flags& used) {
  Flags keep = needed_carries(node, used);
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return std::nullopt;
  Node out = node;
  out.operands = selected(node.operands, keep);
  out.types = selected(node.types, keep);
  out.regions = {shrink_region(*node.regions[0], keep, {true}),
                 shrink_region(*node.regions[1], keep, keep)};
  return Shrunk{std::move(out), std::move(keep)};
}

std::optional<Shrunk> shrink_branches(const Node& node, const Flags& used) {
  Flags parameters(node.operands.size() - 1);
  for (const GraphPtr& region : node.regions) {
    Flags needed = needed_parameters(*region, used);
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = parameters[i] || needed[i];
  }
  bool all_used = std::find(used.begin(), used.end(), false) == used.end();
  if (all_used && std::find(parameters.begin(), parameters.end(), false) == parameters.end())
    return std::nullopt;
  Node out = node;
  out.operands = selected(node.operands, parameters, 1);
  out.types = selected(node.types, used);
  for (GraphPtr& region : out.regions) region = shrink_region(*region, parameters, used);
  return Shrunk{std::move(out), used};
}

// Copies live nodes, shrinking control flow; regions first, so that what they no
// longer read is seen here. Sets `shrunk_any` where it shrank some.
Graph eliminate_once(const Graph& graph, bool& shrunk_any) {
  bool shrunk_here = false;
  std::vector<bool> live = live_nodes(graph);
  std::vector<Flags> used = used_results(graph);
  ValueMap map(graph);
  Graph out = graph.parameters_only();
  for (uint32_t id = graph.num_parameters(); id < graph.nodes().size(); ++id) {
    const Node& old = graph.node(id);
    if (!live[id]) continue;
    if (old.regions.empty() || is_settled(old.op)) {
      map.set(id, copy_node(graph, id, map, out));
      continue;
    }
    Node node = old;
    node.operands = map.of(old.operands);
    for (GraphPtr& region : node.regions) {
      Graph eliminated = eliminate_once(*region, shrunk_any);
      if (!(eliminated == *region)) region = std::make_shared<const Graph>(std::move(eliminated));
    }
    std::optional<Shrunk> shrunk;
    if (node.op == Op::kWhile)
      shrunk = shrink_while(node, used[id]);
    else if (is_shrunk(node.op))
      shrunk = shrink_branches(node, used[id]);
    shrunk_here = shrunk_here || shrunk;
    if (shrunk)
      map.set(id, kept_results(out.add(std::move(shrunk->node)), shrunk->kept));
    else
      map.set(id, out.add(std::move(node)));
  }
  out.set_outputs(map.of(graph.outputs()), graph.output_names());
  if (!shrunk_here) out.note_live();
  shrunk_any = shrunk_any || shrunk_here;
  return out;
}

}  // namespace

// A shrunk operation reads less, which may leave more dead: repeat until it rests.
Result<Graph> eliminate_dead(const Graph& graph, const PassContext&) {
  bool shrunk = false;
  Graph current = eliminate_once(graph, shrunk);
  while (shrunk) {
    shrunk = false;
    Graph next = eliminate_once(current, shrunk);
    if (next == current) break;
    current = std::move(next);
  }
  return current;
}

}  // namespace tuff
