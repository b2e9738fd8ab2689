#include "ir/passes/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "ir/group/byte_access.h"
#include "ir/ops/contraction.h"
#include "ir/passes/composites.h"
#include "ir/passes/group/group_table.h"

namespace tuff {

namespace {

constexpr int kMaxRecomputedOps = 24;     // of one value; more is worth a round trip to memory
constexpr int kFewOps = 8;                // of bytes in place of floats
constexpr size_t kMaxRecomputations = 2;  // groups that compute one value again
constexpr int64_t kSmall = 8;             // a value this much smaller than another is kept for free

// One operand of a group, seen from the value's producer.
struct Reader {
  uint32_t node = 0;  // the reading group
  uint32_t parameter = 0;
};

// How a region's value follows from what will be in memory anyway.
struct Slice {
  std::vector<Value> kept;  // values of the region that are read, the base among them
  int ops = 0;
  bool possible = true;
};

// What making readers recompute values from `base` would do.
struct Plan {
  Value base;
  std::vector<uint32_t> replaced;  // results of the group that nobody reads any more
  std::set<Value> kept;            // values of its region that are results then
  int64_t gain_bytes = 0;
};

bool is_small(const TensorType& type, const TensorType& beside) {
  return type.size_bytes() * kSmall <= beside.size_bytes();
}

bool has_space(const Graph& region) {
  GroupView view;
  view.graph = &region;
  for (uint32_t id = region.num_parameters(); id < region.nodes().size(); ++id)
    view.members.push_back(id);
  view.is_member = [&region](uint32_t id) { return region.node(id).op != Op::kParameter; };
  view.outputs = region.outputs();
  IndexContext context;
  return find_group_space(context, view).space.has_value();
}

// Copies nodes of a region into another graph; leaves of the walk are given.
class RegionCopier {
 public:
  RegionCopier(const Graph& from, Graph& to) : from_(from), to_(to) {}
  void set(Value from, Value to) { copies_[from] = to; }
  Value copy(Value v) {
    if (auto it = copies_.find(v); it != copies_.end()) return it->second;
    Node node = from_.node(v);
    for (Value& operand : node.operands) operand = copy(operand);
    Value first = to_.add(std::move(node));
    for (uint32_t r = 0; r < from_.node(v).types.size(); ++r)
      copies_[{v.node, r}] = {first.node, r};
    return copies_[v];
  }

 private:
  const Graph& from_;
  Graph& to_;
  std::map<Value, Value> copies_;
};

class Recomputer {
 public:
  Recomputer(const Graph& graph, const Caps& caps)
      : graph_(graph), caps_(caps), users_(graph.users()) {
    for (Value v : graph.outputs()) returned_.insert(v);
  }

  Graph run() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (is_pointwise_group(id) && (current(id).types.size() > 1 || caps_.library_calls))
        while (improve(id)) {
        }
    return rebuilt();
  }

 private:
  // The node as it is now.
  const Node& current(uint32_t id) const {
    auto it = changed_.find(id);
    return it == changed_.end() ? graph_.node(id) : it->second;
  }
  const Graph& region(uint32_t id) const { return *current(id).regions[0]; }
  void note_operands(uint32_t id) {
    for (Value v : current(id).operands) {
      std::vector<uint32_t>& users = users_[v.node];
      auto at = std::lower_bound(users.begin(), users.end(), id);
      if (at == users.end() || *at != id) users.insert(at, id);
    }
  }

  // A group whose kernel can compute, and store, any elementwise value of its space.
  bool is_pointwise_group(uint32_t id) const {
    if (current(id).op != Op::kFused) return false;
    auto kind = current(id).attrs.as<FusedAttrs>().kind;
    return kind == GroupKind::kMap || kind == GroupKind::kRows || (kind && is_contraction(*kind));
  }

  // Applies the best plan for the group that can be lowered.
  bool improve(uint32_t id) {
    std::vector<Plan> plans = make_plans(id);
    // Of equal gains, the base that leaves least to compute again.
    std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
      return std::tuple(a.gain_bytes, a.base) > std::tuple(b.gain_bytes, b.base);
    });
    return std::any_of(plans.begin(), plans.end(),
                       [&](const Plan& plan) { return apply(id, plan); });
  }

  std::vector<Plan> make_plans(uint32_t id) const {
    std::vector<uint32_t> results = replaceable_results(id);
    std::set<Value> bases;
    for (uint32_t r : results) collect_bases(id, region(id).outputs()[r], bases);
    std::vector<Plan> plans;
    for (Value base : bases)
      if (Plan plan = make_plan(id, base, results); plan.gain_bytes > 0)
        plans.push_back(std::move(plan));
    return plans;
  }

  // Results that are read by elementwise work and reduces of a few other groups only.
  std::vector<uint32_t> replaceable_results(uint32_t id) const {
    std::vector<uint32_t> found;
    for (uint32_t r = 0; r < current(id).types.size(); ++r) {
      if (returned_.count({id, r})) continue;
      std::vector<Reader> readers = readers_of({id, r});
      bool simple = !readers.empty() && readers.size() <= kMaxRecomputations &&
                    std::all_of(readers.begin(), readers.end(),
                                [&](const Reader& reader) { return reads_pointwise(reader); });
      if (simple) found.push_back(r);
    }
    return found;
  }

  std::vector<Reader> readers_of(Value v) const {
    std::vector<Reader> readers;
    for (uint32_t id : users_[v.node])
      for (uint32_t i = 0; i < current(id).operands.size(); ++i)
        if (current(id).operands[i] == v) readers.push_back({id, i});
    return readers;
  }

  bool reads_pointwise(const Reader& reader) const {
    if (!is_pointwise_group(reader.node)) return false;
    const Graph& graph = region(reader.node);
    for (Value v : graph.outputs())
      if (v.node == reader.parameter) return false;
    for (const Node& node : graph.nodes())
      for (Value v : node.operands) {
        bool pointwise = is_elementwise(node.op) || node.op == Op::kReduce;
        if (v.node == reader.parameter && !pointwise) return false;
        if (is_contraction(node.op) && is_loaded(graph, v, reader.parameter)) return false;
      }
    return true;
  }

  // What a contraction's loads compute from is read there many times over.
  static bool is_loaded(const Graph& graph, Value operand, uint32_t parameter) {
    while (auto read = load_operand(graph, graph.node(operand)))
      operand = graph.node(operand).operands[*read];
    return operand.node == parameter;
  }

  // Values of full size on the elementwise way to `v`, itself left out.
  void collect_bases(uint32_t id, Value v, std::set<Value>& bases) const {
    const Graph& graph = region(id);
    std::vector<Value> stack = {v};
    while (!stack.empty()) {
      Value at = stack.back();
      stack.pop_back();
      if (!is_elementwise(graph.node(at).op)) continue;
      for (Value operand : graph.node(at).operands) {
        const Node& source = graph.node(operand);
        bool full = graph.type(operand).shape == graph.type(v).shape;
        if (full && !is_view(source.op) && !is_leaf(source) && bases.insert(operand).second)
          stack.push_back(operand);
      }
    }
  }

  Plan make_plan(uint32_t id, Value base, const std::vector<uint32_t>& results) const {
    const Graph& graph = region(id);
    Plan plan;
    plan.base = base;
    for (uint32_t r : results) {
      Value v = graph.outputs()[r];
      if (v == base || is_small(graph.type(v), graph.type(base))) continue;
      Slice slice;
      cut(id, v, v, base, slice);
      if (!slice.possible || slice.ops > kMaxRecomputedOps) continue;
      // A group's only result is stored in any case: as bytes, where little is made of them.
      const bool few = slice.ops <= kFewOps && is_byte(graph.type(base).dtype);
      if (graph.outputs().size() == 1 && !few) continue;
      plan.replaced.push_back(r);
      plan.kept.insert(slice.kept.begin(), slice.kept.end());
      plan.gain_bytes += graph.type(v).size_bytes();
    }
    for (Value v : plan.kept)
      if (!in_memory(id, v)) plan.gain_bytes -= graph.type(v).size_bytes();
    return plan;
  }

  // True for what costs nothing to read again: results, and arguments of the program.
  bool in_memory(uint32_t id, Value v) const {
    const Graph& graph = region(id);
    if (graph.node(v).op == Op::kParameter) return is_source(current(id).operands[v.node]);
    return std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
  }
  bool is_source(Value v) const {
    return current(v.node).op == Op::kParameter || current(v.node).op == Op::kConstant;
  }

  // Follows `v`, on the way to `whole`, down to the base, leaves and what is kept.
  void cut(uint32_t id, Value v, Value whole, Value base, Slice& slice) const {
    const Graph& graph = region(id);
    const Node& node = graph.node(v);
    if (node.op == Op::kConstant || node.op == Op::kIota) return;
    bool spelled =
        is_elementwise(node.op) || node.op == Op::kBroadcastInDim || node.op == Op::kReshape;
    bool small = is_small(graph.type(v), graph.type(whole));
    bool source = node.op == Op::kParameter && is_source(current(id).operands[v.node]);
    if (v == base || source || (small && !(spelled && is_view(node.op)))) {
      if (std::find(slice.kept.begin(), slice.kept.end(), v) == slice.kept.end())
        slice.kept.push_back(v);
      return;
    }
    if (!spelled || ++slice.ops > kMaxRecomputedOps) {
      slice.possible = false;
      return;
    }
    for (Value operand : node.operands) cut(id, operand, whole, base, slice);
  }

  // The group and its readers, changed; false (and no change) where one could not be
  // lowered.
  bool apply(uint32_t id, const Plan& plan) {
    std::map<uint32_t, Node> changed;
    std::map<Value, Value> outside = keep(id, plan, changed[id]);
    std::map<uint32_t, std::map<uint32_t, Value>> recomputed;  // by reader: parameter -> value
    for (uint32_t r : plan.replaced)
      for (const Reader& reader : readers_of({id, r}))
        recomputed[reader.node][reader.parameter] = region(id).outputs()[r];
    for (const auto& [reader, values] : recomputed)
      changed[reader] = with_recomputed(current(reader), values, region(id), outside);
    for (const auto& [node_id, node] : changed) {
      auto buffers = static_cast<int64_t>(node.operands.size() + node.types.size());
      if (node_id != id && buffers > kernel_buffers(caps_)) return false;
      if (!has_space(node_id == id ? without_results(node, unread_results(id, changed))
                                   : *node.regions[0]))
        return false;
    }
    for (auto& [node_id, node] : changed) {
      changed_[node_id] = std::move(node);
      note_operands(node_id);
    }
    return true;
  }

  // Results of the group that nobody reads once the changed nodes are in place: those of this
  // plan and of plans before it.
  std::vector<uint32_t> unread_results(uint32_t id, const std::map<uint32_t, Node>& changed) const {
    std::set<Value> read(returned_);
    auto note = [&read](const Node& node) {
      read.insert(node.operands.begin(), node.operands.end());
    };
    for (uint32_t user : users_[id])
      if (!changed.count(user)) note(current(user));
    for (const auto& [node_id, node] : changed) note(node);
    std::vector<uint32_t> unread;
    for (uint32_t r = 0; r < changed.at(id).types.size(); ++r)
      if (!read.count({id, r})) unread.push_back(r);
    return unread;
  }

  // The group with the plan's kept values among its results; results that are replaced
  // stay where they are until the end, so that numbers stay. Returns where the kept
  // values are found outside.
  std::map<Value, Value> keep(uint32_t id, const Plan& plan, Node& node) const {
    node = current(id);
    Graph graph = region(id);
    std::vector<Value> outputs = graph.outputs();
    std::map<Value, Value> outside;
    for (Value v : plan.kept) {
      if (graph.node(v).op == Op::kParameter) {
        outside[v] = node.operands[v.node];
        continue;
      }
      auto at = std::find(outputs.begin(), outputs.end(), v);
      outside[v] = {id, static_cast<uint32_t>(at - outputs.begin())};
      if (at != outputs.end()) continue;
      outputs.push_back(v);
      node.types.push_back(graph.type(v));
    }
    graph.set_outputs(std::move(outputs));
    set_region(node, std::move(graph));
    return outside;
  }

  // The reader with some parameters computed as `producer` does, from values outside.
  static Node with_recomputed(const Node& reader, const std::map<uint32_t, Value>& values,
                              const Graph& producer, const std::map<Value, Value>& outside) {
    const Graph& old = *reader.regions[0];
    Node node = reader;
    node.operands.clear();
    Graph graph;
    graph.name = old.name;
    auto parameter = [&](Value operand, const TensorType& type) -> Value {
      auto at = std::find(node.operands.begin(), node.operands.end(), operand);
      auto number = static_cast<uint32_t>(at - node.operands.begin());
      if (at != node.operands.end()) return {number, 0};
      node.operands.push_back(operand);
      return graph.add_parameter(type);
    };
    RegionCopier copy_old(old, graph), copy_new(producer, graph);
    for (uint32_t i = 0; i < reader.operands.size(); ++i)
      if (!values.count(i)) copy_old.set({i, 0}, parameter(reader.operands[i], old.type({i, 0})));
    // Only what these values are computed from becomes a parameter.
    std::set<Value> needed;
    for (const auto& [i, v] : values) needed_outside(producer, v, outside, needed);
    for (Value v : needed) copy_new.set(v, parameter(outside.at(v), producer.type(v)));
    for (const auto& [i, v] : values) copy_old.set({i, 0}, copy_new.copy(v));
    std::vector<Value> outputs;
    for (Value v : old.outputs()) outputs.push_back(copy_old.copy(v));
    graph.set_outputs(std::move(outputs));
    set_region(node, std::move(graph));
    return node;
  }

  // With its region a group changes what it is as a whole.
  static void set_region(Node& node, Graph region) {
    if (auto kind = node.attrs.as<FusedAttrs>().kind) node.attrs = group_attrs(*kind, region);
    node.regions = {std::make_shared<const Graph>(std::move(region))};
  }

  static void needed_outside(const Graph& graph, Value v, const std::map<Value, Value>& outside,
                             std::set<Value>& needed) {
    if (outside.count(v)) {
      needed.insert(v);
      return;
    }
    for (Value operand : graph.node(v).operands) needed_outside(graph, operand, outside, needed);
  }

  // The region with some results and what only they need left out.
  static Graph without_results(const Node& node, const std::vector<uint32_t>& dropped) {
    const Graph& old = *node.regions[0];
    Graph graph;
    graph.name = old.name;
    RegionCopier copier(old, graph);
    for (uint32_t i = 0; i < old.num_parameters(); ++i)
      copier.set({i, 0}, graph.add_parameter(old.type({i, 0})));
    std::vector<Value> outputs;
    for (uint32_t r = 0; r < old.outputs().size(); ++r)
      if (std::find(dropped.begin(), dropped.end(), r) == dropped.end())
        outputs.push_back(copier.copy(old.outputs()[r]));
    graph.set_outputs(std::move(outputs));
    return graph;
  }

  // The graph of the changed nodes, without results that nobody reads.
  Graph rebuilt() const {
    auto num_nodes = static_cast<uint32_t>(graph_.nodes().size());
    std::vector<uint32_t> places(num_nodes + 1);  // by node, of its results among all
    for (uint32_t id = 0; id < num_nodes; ++id)
      places[id + 1] = places[id] + static_cast<uint32_t>(current(id).types.size());
    std::vector<bool> read(places[num_nodes]);
    for (Value v : returned_) read[places[v.node] + v.result] = true;
    for (uint32_t id = 0; id < num_nodes; ++id)
      for (Value v : current(id).operands) read[places[v.node] + v.result] = true;
    Graph out = graph_.parameters_only();
    std::vector<Value> moved(read.size());
    for (uint32_t id = 0; id < graph_.num_parameters(); ++id) moved[places[id]] = {id, 0};
    for (uint32_t id = graph_.num_parameters(); id < num_nodes; ++id) {
      const Node& now = current(id);
      std::vector<uint32_t> dropped;
      for (uint32_t r = 0; now.op == Op::kFused && r < now.types.size(); ++r)
        if (!read[places[id] + r]) dropped.push_back(r);
      bool same = dropped.empty() && !changed_.count(id) &&
                  std::all_of(now.operands.begin(), now.operands.end(),
                              [&](Value v) { return moved[places[v.node] + v.result] == v; });
      uint32_t made = 0;
      if (same) {
        made = out.add_shared(graph_, id).node;
      } else {
        Node copy = now;
        if (!dropped.empty()) drop_results(copy, dropped);
        for (Value& v : copy.operands) v = moved[places[v.node] + v.result];
        made = out.add(std::move(copy)).node;
      }
      for (uint32_t r = 0, to = 0; r < now.types.size(); ++r)
        if (std::find(dropped.begin(), dropped.end(), r) == dropped.end())
          moved[places[id] + r] = {made, to++};
    }
    std::vector<Value> outputs;
    for (Value v : graph_.outputs()) outputs.push_back(moved[places[v.node] + v.result]);
    out.set_outputs(std::move(outputs), graph_.output_names());
    return out;
  }

  static void drop_results(Node& node, const std::vector<uint32_t>& dropped) {
    set_region(node, without_results(node, dropped));
    for (size_t i = dropped.size(); i-- > 0;) node.types.erase(node.types.begin() + dropped[i]);
  }

  const Graph& graph_;
  const Caps& caps_;
  std::unordered_map<uint32_t, Node> changed_;  // results keep their numbers; new ones follow
  std::vector<std::vector<uint32_t>> users_;    // by node: who reads it, or did once; ascending
  std::set<Value> returned_;
};

}  // namespace

Result<Graph> recompute(const Graph& graph, const PassContext& context) {
  return Recomputer(graph, *context.caps).run();
}

}  // namespace tuff
