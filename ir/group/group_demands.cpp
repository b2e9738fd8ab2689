#include "ir/group/group_demands.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/ops/contraction.h"
#include "ir/ops/window.h"
#include "ir/passes/group/group_table.h"

namespace tuff {

namespace {

// Work in the load of a window is done once per window that an element is in.
constexpr int64_t kMaxWindowRecompute = 4;

// A value that is read at several places is computed anew at each, with all that it is computed
// from: what reads it at two is worth that, a tower of such readers is not. A group may compute
// three values for two of its operations, and two more.
constexpr size_t kMaxPlacesInTwoOps = 3, kMorePlaces = 2;

// Follows the demands of one group. Lives for one call.
class DemandChecker {
 public:
  DemandChecker(IndexContext& context, const GroupView& view, const GroupSpace& space)
      : context_(context), view_(view), space_(space) {}

  bool all_met() {
    for (uint32_t id : space_.anchors)
      if (!(this->*kTakes[static_cast<size_t>(space_.kind)])(graph().node(id))) return false;
    for (size_t i = 0; i < view_.outputs.size(); ++i) {
      const Place& place = space_.outputs[i];
      if (!(place.window ? demand_window(graph().node(view_.outputs[i]), place.index)
                         : demand(view_.outputs[i], place.index)))
        return false;
    }
    return computed_places_ <= computed_.size() * kMaxPlacesInTwoOps / 2 + kMorePlaces ||
           fail("too much is recomputed");
  }

  const std::string& why_not() const { return why_; }

 private:
  const Graph& graph() const { return *view_.graph; }
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool demand_window(const Node& update, const IndexVector& index) {
    for (size_t i = 2; i < update.operands.size(); ++i)
      if (!demand(update.operands[i], {})) return false;
    return demand(update.operands[1], index);
  }

  // What may stand in the loads of an anchor: a rule for each family, by its name there.
  bool takes_nothing(const Node&) { return fail("an anchor in a map"); }

  bool takes_reduced(const Node& node) {
    size_t n = node.operands.size() / 2;
    for (size_t i = 0; i < n; ++i)
      if (!demand(node.operands[i], space_.vars) || !demand(node.operands[n + i], {})) return false;
    return true;
  }

  bool takes_attention(const Node& node) {
    const AttentionSpace& a = *space_.attention;
    if (node.op == Op::kReduce) return demand(node.operands[0], a.scores);
    if (&node == &graph().node(a.nodes.scores)) return takes_contracted(node);
    return demand(a.nodes.weights, a.scores) &&
           contraction_load(node.operands[1 - a.nodes.weights_operand]);
  }

  bool takes_window(const Node& node) {
    size_t n = node.types.size();
    const Shape& input = graph().type(node.operands[0]).shape;
    // A scan reads each element at most twice.
    WindowDims dims = window_dims(node, input);
    dims.skips_gaps = true;  // nothing is read there
    int64_t reads = num_elements(node.types[0].shape) *
                    (window_scan(node, input) ? 2 : num_elements(window_taps(dims)));
    IndexVector anywhere = space_vars(context_, input);
    for (size_t i = 0; i < n; ++i) {
      if (!demand(node.operands[i], anywhere) || !demand(node.operands[n + i], {})) return false;
      if (reads > kMaxWindowRecompute * num_elements(input) && !only_loads(node.operands[i]))
        return fail("work that many windows would repeat");
    }
    return true;
  }

  // One over rows reads some operands many times, and stores its results by itself.
  bool takes_loop(const Node& node) {
    bool scalars = std::all_of(node.types.begin(), node.types.end(),
                               [](const TensorType& type) { return type.rank() == 0; });
    if (scalars)
      return std::all_of(node.operands.begin(), node.operands.end(),
                         [&](Value v) { return demand(v, {}); });
    for (Value v : view_.outputs)
      if (&graph().node(v) != &node) return fail("work beside a loop over rows");
    return takes_loads_only(node);
  }

  // Each operand is read many times over.
  bool takes_loads_only(const Node& node) {
    for (Value operand : node.operands)
      if (!only_loads(operand)) return fail("work in a load that is repeated");
    return true;
  }

  // A call takes and makes tensors as they lie in memory.
  bool takes_alone(const Node&) {
    return view_.members.size() == 1 || fail("a call beside other nodes in the group");
  }

  // The input is read in place; indices and updates by many lanes.
  bool takes_scattered(const Node& node) {
    size_t n = node.types.size();
    for (size_t i = 0; i < n; ++i)
      if (!demand(node.operands[i], space_.vars)) return false;
    if (!is_light_index(node.operands[n])) return fail("indices computed in the group");
    for (size_t i = n + 1; i < node.operands.size(); ++i)
      if (!only_loads(node.operands[i])) return fail("updates computed in the group");
    return true;
  }

  // What lanes may compute again for each update: what makes a negative index count from the end,
  // what clamps it, what puts its components together.
  bool is_light_index(Value v) const {
    std::vector<uint32_t> pending{v.node};
    std::set<uint32_t> seen;
    size_t operations = 0;
    constexpr size_t kMostOperations = 16;
    while (!pending.empty()) {
      const uint32_t id = pending.back();
      pending.pop_back();
      const Node& node = graph().node(id);
      if (!seen.insert(id).second || !view_.is_member(id) || is_leaf(node)) continue;
      if (!is_free_view(graph(), node) && !(is_light(node) && ++operations <= kMostOperations))
        return false;
      for (Value operand : node.operands) pending.push_back(operand.node);
    }
    return true;
  }
  static bool is_light(const Node& node) {
    switch (node.op) {
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
      case Op::kMaximum:
      case Op::kMinimum:
      case Op::kClamp:
      case Op::kCompare:
      case Op::kSelect:
      case Op::kConvert: return true;
      default: return false;
    }
  }

  // Operands of dots and convolutions are read many times over, so only what kLoadRules names
  // may stand in their loads.
  bool takes_contracted(const Node& node) {
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [&](Value operand) { return contraction_load(operand); });
  }

  bool contraction_load(Value v) {
    while (view_.is_member(v.node) && !is_leaf(graph().node(v))) {
      const Node& node = graph().node(v);
      if (node.op == Op::kConcatenate) return fail("a concatenate in a contraction's load");
      std::optional<size_t> read = load_operand(graph(), node);
      if (!read) return fail("work in a contraction's load");
      for (size_t i = 0; i < node.operands.size(); ++i)
        if (i != *read && !only_loads(node.operands[i]))
          return fail("work beside a contraction's load");
      v = node.operands[*read];
    }
    return true;
  }

  bool demand(Value v, const IndexVector& index) {
    if (!view_.is_member(v.node)) return true;
    if (auto it = space_.anchor_places.find(v.node); it != space_.anchor_places.end())
      return index == it->second.index || fail("a reduce or dot is needed at another place");
    if (!seen_.emplace(v.node, index).second) return true;
    if (seen_.size() > 16 * view_.members.size() + 256) return fail("too much is recomputed");
    const Node& node = graph().node(v);
    if (is_leaf(node)) return true;
    if (is_free_view(graph(), node)) return demand_view(node, index);
    if (is_indexed_load(node.op)) return demand_indexed(node, index);
    if (node.op == Op::kBitcastConvert) return demand_bitcast(node, index);
    if (!is_elementwise(node.op))
      return fail(std::string(op_name(node.op)) + " has no kernel family");
    if (!from_leaves(v)) {
      computed_.insert(v.node);
      ++computed_places_;
    }
    for (Value operand : node.operands)
      if (!demand(operand, graph().type(operand).rank() == 0 ? IndexVector{} : index)) return false;
    return true;
  }

  bool demand_view(const Node& node, const IndexVector& index) {
    std::vector<Shape> shapes;
    for (Value operand : node.operands) shapes.push_back(graph().type(operand).shape);
    for (const ViewSource& source : view_sources(context_, node, shapes, index))
      if (!demand(node.operands[source.operand], source.index)) return false;
    return true;
  }

  // Views of values from outside, of leaves, and of what is computed from leaves alone.
  bool only_loads(Value v) const {
    const Node& node = graph().node(v);
    if (!view_.is_member(v.node) || from_leaves(v)) return true;
    return is_free_view(graph(), node) && std::all_of(node.operands.begin(), node.operands.end(),
                                                      [&](Value o) { return only_loads(o); });
  }

  // Found once for each node: there are exponentially many ways to the leaves.
  bool from_leaves(Value v) const {
    const Node& node = graph().node(v);
    if (!view_.is_member(v.node)) return false;
    if (is_leaf(node)) return true;
    if (!is_free_view(graph(), node) && !is_elementwise(node.op)) return false;
    auto known = from_leaves_.find(v.node);
    if (known != from_leaves_.end()) return known->second;
    bool found = std::all_of(node.operands.begin(), node.operands.end(),
                             [&](Value o) { return from_leaves(o); });
    from_leaves_.emplace(v.node, found);
    return found;
  }

  // The operand is read in place, so work may stand there; the update is read at a
  // place of its own for every element of the result.
  bool demand_update(const Node& node, const IndexVector& index) {
    for (size_t i = 2; i < node.operands.size(); ++i)
      if (!demand(node.operands[i], {})) return false;
    if (!only_loads(node.operands[1])) return fail("an update computed in the group");
    return demand(node.operands[0], index);
  }

  bool demand_bitcast(const Node& node, const IndexVector& index) {
    for (const IndexVector& at : bitcast_sources(graph(), node, index))
      if (!demand(node.operands[0], at)) return false;
    return true;
  }

  bool demand_indexed(const Node& node, const IndexVector& index) {
    if (node.op == Op::kDynamicUpdateSlice) return demand_update(node, index);
    IndexedLoad load = indexed_load(graph(), node, index);
    for (size_t i = 0; i < load.start_operand.size(); ++i)
      if (!demand(node.operands[load.start_operand[i]], load.start_index[i])) return false;
    if (!only_loads(node.operands[0]))
      return fail("an indexed load of a value computed in the group");
    return true;
  }

  static constexpr bool (DemandChecker::*kTakes[])(const Node&) = {
#define FAMILY(kind, name, takes, ...) &DemandChecker::takes_##takes,
#include "ir/group/family.def"
  };

  IndexContext& context_;
  const GroupView& view_;
  const GroupSpace& space_;
  mutable std::unordered_map<uint32_t, bool> from_leaves_;  // by node
  std::set<std::pair<uint32_t, IndexVector>> seen_;
  std::set<uint32_t> computed_;  // elementwise operations
  size_t computed_places_ = 0;   // where they are demanded, in all
  std::string why_;
};

}  // namespace

std::string unmet_demand(IndexContext& context, const GroupView& view, const GroupSpace& space) {
  DemandChecker checker(context, view, space);
  return checker.all_met() ? std::string() : checker.why_not();
}

}  // namespace tuff
