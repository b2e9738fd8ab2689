#include "ir/passes/place.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/group/group_space.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

std::optional<std::string> type_missing(const TensorType& type, const Caps& caps) {
  if (type.dtype == DType::kF64 && !caps.float64) return "the device has no f64";
  return std::nullopt;
}

// Nodes that cost nothing to compute a second time on the CPU.
bool is_copied(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  if (node.op == Op::kConstant || node.op == Op::kIota) return true;
  return node.op == Op::kBroadcastInDim && graph.node(node.operands[0]).op == Op::kConstant;
}

// A kernel binds all operands and results of what is no view: those are split otherwise.
std::optional<std::string> too_many_buffers(const Node& node, const Caps& caps) {
  auto buffers = static_cast<int64_t>(node.operands.size() + node.types.size());
  if (buffers <= caps.max_storage_buffers || is_control_flow(node.op) || is_view(node.op))
    return std::nullopt;
  return std::string(op_name(node.op)) + " of " + std::to_string(buffers) +
         " operands and results: the device's kernels have at most " +
         std::to_string(caps.max_storage_buffers);
}

// The CPU calls them itself, as steps of its programs.
std::optional<std::string> host_function_missing(const Node& node, const Caps& caps) {
  if (has_host_functions(caps)) return std::nullopt;
  const char* name = word_of(node.attrs.as<HostCallAttrs>().function);
  return std::string(name) + " runs on the host";
}

class Placer {
 public:
  Placer(const Graph& graph, const Caps& caps) : graph_(graph), why_(graph.nodes().size()) {
    for (uint32_t id = 0; id < graph.nodes().size(); ++id)
      if (auto why = kernel_missing(graph, graph.node(id), caps)) why_[id] = *why;
  }

  bool any() const {
    return std::any_of(why_.begin(), why_.end(), [](const auto& why) { return why.has_value(); });
  }

  Graph run() {
    take_work_between();
    count_turns();
    result_.name = graph_.name;
    result_.donations = graph_.donations;
    for (uint32_t turn = 0; turn <= last_turn_; ++turn) {
      for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
        if (!why_[id] && turn_[id] == turn) copy_node(id);
      host(turn);
    }
    std::vector<Value> outputs;
    for (Value v : graph_.outputs()) outputs.push_back(map_.at(v));
    result_.set_outputs(std::move(outputs), graph_.output_names());
    return rewrite_graph(
        result_, [](const RewriteSite&) { return std::nullopt; }, RewriteRegions::kNone);
  }

 private:
  // Elementwise work and views that lead only from the CPU to the CPU would send their
  // values to the device and back.
  void take_work_between() {
    std::vector<bool> made_there(why_.size());
    for (uint32_t id = 0; id < why_.size(); ++id) {
      const Node& node = graph_.node(id);
      made_there[id] = why_[id].has_value();
      if (!is_elementwise(node.op) && !is_view(node.op)) continue;
      for (Value v : node.operands) made_there[id] = made_there[id] || made_there[v.node];
    }
    std::vector<std::vector<uint32_t>> users = graph_.users();
    std::vector<bool> returned(why_.size());
    for (Value v : graph_.outputs()) returned[v.node] = true;
    for (uint32_t id = static_cast<uint32_t>(why_.size()); id-- > 0;)
      if (!why_[id] && made_there[id] && !returned[id] &&
          std::all_of(users[id].begin(), users[id].end(),
                      [&](uint32_t user) { return why_[user].has_value(); }))
        why_[id] = "";
  }

  // A node's turn is how many stays on the CPU must have ended before it. Nodes of one
  // turn that are hosted can share a stay: whatever needs one of them has a later turn.
  void count_turns() {
    turn_.resize(why_.size());
    for (uint32_t id = 0; id < why_.size(); ++id) {
      for (Value v : graph_.node(id).operands)
        turn_[id] = std::max(turn_[id], turn_[v.node] + (why_[v.node] && !why_[id] ? 1 : 0));
      last_turn_ = std::max(last_turn_, turn_[id]);
    }
  }

  void copy_node(uint32_t id) {
    if (id < graph_.num_parameters()) {
      map_[{id, 0}] = result_.add_parameter(graph_.node(id).types[0], graph_.parameter_name(id),
                                            graph_.node(id).loc);
      return;
    }
    Node node = graph_.node(id);
    for (Value& v : node.operands) v = map_.at(v);
    auto results = static_cast<uint32_t>(node.types.size());
    Value made = result_.add(std::move(node));
    for (uint32_t r = 0; r < results; ++r) map_[{id, r}] = {made.node, r};
  }

  void host(uint32_t turn) {
    std::vector<uint32_t> members;
    for (uint32_t id = 0; id < why_.size(); ++id)
      if (why_[id] && turn_[id] == turn) members.push_back(id);
    if (members.empty()) return;
    Node hosted;
    hosted.op = Op::kHosted;
    hosted.loc = graph_.node(members[0]).loc;
    hosted.attrs = HostedAttrs{reasons(members)};
    Graph region;
    region.name = "hosted";
    std::map<Value, Value> inside;
    for (Value v : inputs_of(members)) {
      inside[v] = region.add_parameter(graph_.type(v));
      hosted.operands.push_back(map_.at(v));
    }
    for (uint32_t id : members) copy_inside(region, inside, id);
    std::vector<Value> results = read_outside(members), outputs;
    for (Value v : results) {
      outputs.push_back(inside.at(v));
      hosted.types.push_back(graph_.type(v));
    }
    region.set_outputs(std::move(outputs));
    hosted.regions = {std::make_shared<const Graph>(std::move(region))};
    Value made = result_.add(std::move(hosted));
    for (uint32_t r = 0; r < results.size(); ++r) map_[results[r]] = {made.node, r};
  }

  std::string reasons(const std::vector<uint32_t>& members) const {
    std::string text;
    std::set<std::string> told;
    for (uint32_t id : members)
      if (!why_[id]->empty() && told.insert(*why_[id]).second)
        text += (text.empty() ? "" : "; ") + *why_[id];
    return text.empty() ? "it stands between work of the CPU" : text;
  }

  std::vector<Value> inputs_of(const std::vector<uint32_t>& members) const {
    std::set<uint32_t> ids(members.begin(), members.end());
    std::vector<Value> inputs;
    std::set<Value> seen;
    for (uint32_t id : members)
      for (Value v : graph_.node(id).operands)
        if (!ids.count(v.node) && !is_copied(graph_, v) && seen.insert(v).second)
          inputs.push_back(v);
    return inputs;
  }

  void copy_inside(Graph& region, std::map<Value, Value>& inside, uint32_t id) const {
    Node node = graph_.node(id);
    for (Value& v : node.operands) {
      if (!inside.count(v)) copy_inside(region, inside, v.node);
      v = inside.at(v);
    }
    auto results = static_cast<uint32_t>(node.types.size());
    Value made = region.add(std::move(node));
    for (uint32_t r = 0; r < results; ++r) inside[{id, r}] = {made.node, r};
  }

  std::vector<Value> read_outside(const std::vector<uint32_t>& members) const {
    std::set<uint32_t> ids(members.begin(), members.end());
    std::set<Value> read(graph_.outputs().begin(), graph_.outputs().end());
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (!ids.count(id))
        read.insert(graph_.node(id).operands.begin(), graph_.node(id).operands.end());
    std::vector<Value> results;
    for (Value v : read)
      if (ids.count(v.node)) results.push_back(v);
    return results;
  }

  const Graph& graph_;
  std::vector<std::optional<std::string>> why_;  // empty text: work between hosted nodes
  std::vector<uint32_t> turn_;
  uint32_t last_turn_ = 0;
  Graph result_;
  std::map<Value, Value> map_;
};

}  // namespace

bool is_series(Op op) {
  switch (op) {
    case Op::kAtan2:
    case Op::kCbrt:
    case Op::kCosine:
    case Op::kErf:
    case Op::kExponential:
    case Op::kExponentialMinusOne:
    case Op::kLog:
    case Op::kLogPlusOne:
    case Op::kLogistic:
    case Op::kPower:
    case Op::kSine:
    case Op::kTan:
    case Op::kTanh: return true;
    default: return false;
  }
}

std::optional<std::string> kernel_missing(const Graph& graph, const Node& node, const Caps& caps) {
  if (node.op == Op::kParameter || node.op == Op::kConstant || is_settled(node.op))
    return std::nullopt;
  if (node.op == Op::kHostCall) return host_function_missing(node, caps);
  if (auto why = too_many_buffers(node, caps)) return why;
  for (const TensorType& type : node.types)
    if (auto why = type_missing(type, caps)) return std::string(op_name(node.op)) + ": " + *why;
  for (Value v : node.operands)
    if (auto why = type_missing(graph.type(v), caps))
      return std::string(op_name(node.op)) + ": " + *why;
  for (const GraphPtr& region : node.regions)
    for (const Node& inner : region->nodes())
      if (is_control_flow(node.op) && inner.op == Op::kHostCall)
        continue;  // goes to the host from where it stands
      else if (auto why = kernel_missing(*region, inner, caps))
        return std::string(op_name(node.op)) + " of " + *why;
  if (has_host_functions(caps)) return std::nullopt;
  if (is_series(node.op) && node.types[0].dtype == DType::kF64)
    return std::string(op_name(node.op)) + ": the device has no kernel for it in f64";
  return std::nullopt;
}

namespace {

bool calls_host(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.op == Op::kHostCall ||
           (is_control_flow(node.op) &&
            std::any_of(node.regions.begin(), node.regions.end(),
                        [](const GraphPtr& region) { return calls_host(*region); }));
  });
}

Graph place_in(const Graph& graph, const Caps& caps);

// Loops and branches that call the host do so from their blocks.
Graph place_in_blocks(const Graph& graph, const Caps& caps) {
  return rewrite_graph(
      graph,
      [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
        if (!is_control_flow(site.node.op)) return std::nullopt;
        Node node = site.node;
        for (GraphPtr& region : node.regions)
          region = std::make_shared<const Graph>(place_in(*region, caps));
        auto results = static_cast<uint32_t>(node.types.size());
        uint32_t made = site.out.add(std::move(node)).node;
        std::vector<Value> values;
        for (uint32_t r = 0; r < results; ++r) values.push_back({made, r});
        return values;
      },
      RewriteRegions::kNone);
}

Graph place_in(const Graph& graph, const Caps& caps) {
  Placer placer(graph, caps);
  Graph placed = placer.any() ? placer.run() : graph;
  return calls_host(placed) ? place_in_blocks(placed, caps) : placed;
}

}  // namespace

Result<Graph> place(const Graph& graph, const PassContext& context) {
  return place_in(graph, *context.caps);
}

}  // namespace tuff
