#include "ir/passes/hoist_invariants.h"

#include <algorithm>
#include <span>

#include "ir/rewrite.h"

namespace tuff {

namespace {

// A round that saves less is not worth another carry.
constexpr double kLeastWork = 64;

bool is_hoisted(const Node& node) {
  if (has_side_effect(node) || !is_pure(node.op) || node.types.size() != 1) return false;
  switch (op_category(node.op)) {
    case OpCategory::kElementwise:
    case OpCategory::kView:
    case OpCategory::kIndexing:
    case OpCategory::kReduction:
    case OpCategory::kContraction: return true;
    default: return false;
  }
}

// About how many operations, within a few times.
double work_of(const Graph& graph, const Node& node) {
  auto elements = [](const TensorType& type) { return static_cast<double>(type.num_elements()); };
  switch (op_category(node.op)) {
    case OpCategory::kElementwise: return elements(node.types[0]);
    case OpCategory::kReduction: return elements(graph.type(node.operands[0]));
    case OpCategory::kContraction:
      return elements(graph.type(node.operands[0])) + elements(graph.type(node.operands[1])) +
             elements(node.types[0]);
    default: return 0;  // moved within the kernel that needs it
  }
}

// Elements that neighbours are taken from, where lanes would have to gather them. Contractions read
// their operands in any order.
double moves_of(const Node& node) {
  if (node.op != Op::kTranspose) return 0;
  const auto rank = static_cast<int64_t>(node.types[0].shape.size());
  const bool keeps_rows = node.attrs.as<TransposeAttrs>().permutation.back() == rank - 1;
  return keeps_rows ? 0 : static_cast<double>(node.types[0].num_elements());
}

// The body of one while.
class Body {
 public:
  explicit Body(const Graph& graph) : graph_(graph), facts_(graph.nodes().size()) {
    for (uint32_t id = 0; id < facts_.size(); ++id) facts_[id] = fact_of(id);
  }

  // Values to compute in front of the loop, each once.
  std::vector<Value> worthwhile() const {
    Found found{{}, {std::vector<bool>(facts_.size()), std::vector<bool>(facts_.size())}};
    for (uint32_t id = 0; id < facts_.size(); ++id) {
      if (facts_[id].kind != Kind::kChanges) continue;
      const Node& user = graph_.node(id);
      const bool gathers = op_category(user.op) == OpCategory::kElementwise;
      for (Value v : user.operands) add(v, gathers, found);
    }
    for (Value v : graph_.outputs()) add(v, false, found);
    return found.values;
  }

 private:
  enum class Kind : uint8_t { kChanges, kConstant, kStays };
  struct Fact {
    Kind kind = Kind::kChanges;
    double work = 0, moves = 0;  // to compute it; what is used twice counts twice
    int64_t largest_source = 0;  // bytes
  };

  Fact fact_of(uint32_t id) const {
    const Node& node = graph_.node(id);
    if (node.op == Op::kConstant || node.op == Op::kIota) return {Kind::kConstant};
    if (node.op == Op::kParameter)
      return graph_.outputs()[id] == Value{id, 0}
                 ? Fact{Kind::kStays, 0, 0, node.types[0].size_bytes()}
                 : Fact{};
    if (!is_hoisted(node)) return {};
    Fact fact{Kind::kConstant, work_of(graph_, node), moves_of(node)};
    for (Value v : node.operands) {
      const Fact& operand = facts_[v.node];
      if (operand.kind == Kind::kChanges) return {};
      if (operand.kind == Kind::kStays) fact.kind = Kind::kStays;
      fact.work += operand.work, fact.moves += operand.moves;
      fact.largest_source = std::max(fact.largest_source, operand.largest_source);
    }
    return fact;
  }

  struct Found {
    std::vector<Value> values;
    // By whether lanes gather: what was looked at. There are exponentially many ways to a node.
    std::vector<bool> seen[2];
  };

  // The value, or those that it is made of that are small enough.
  void add(Value value, bool gathers, Found& found) const {
    for (std::vector<Value> pending{value}; !pending.empty();) {
      const Value v = pending.back();
      pending.pop_back();
      if (found.seen[gathers][v.node]) continue;
      found.seen[gathers][v.node] = true;
      const Fact& fact = facts_[v.node];
      const double work = fact.work + (gathers ? fact.moves : 0);
      if (fact.kind != Kind::kStays || work < kLeastWork) continue;
      const std::vector<Value>& operands = graph_.node(v).operands;
      if (graph_.type(v).size_bytes() > fact.largest_source)
        pending.insert(pending.end(), operands.begin(), operands.end());
      else if (std::find(found.values.begin(), found.values.end(), v) == found.values.end())
        found.values.push_back(v);
    }
  }

  const Graph& graph_;
  std::vector<Fact> facts_;
};

// Values of the body, from the carries as they come in.
std::vector<Value> computed_before(const RewriteSite& site, const Graph& body,
                                   const std::vector<Value>& values) {
  std::vector<bool> needed(body.nodes().size());
  for (Value v : values) needed[v.node] = true;
  for (size_t id = needed.size(); id-- > 0;)
    for (Value v :
         needed[id] ? body.node(static_cast<uint32_t>(id)).operands : std::vector<Value>())
      needed[v.node] = true;
  ValueMap map(body);
  for (uint32_t id = 0; id < needed.size(); ++id) {
    if (!needed[id]) continue;
    Node made = body.node(id);
    if (made.op == Op::kParameter) {
      map.set(id, std::span(&site.node.operands[id], 1));
      continue;
    }
    made.operands = map.of(made.operands);
    map.set(id, site.out.add(std::move(made)));
  }
  return map.of(values);
}

// The region with parameters of these types behind its own, in place of the values `known`. A body
// hands them on.
GraphPtr with_carries(const Graph& region, const std::vector<TensorType>& types,
                      const std::vector<Value>& known, bool hands_on) {
  Graph out;
  out.name = region.name;
  ValueMap map(region);
  for (uint32_t id = 0; id < region.num_parameters(); ++id)
    map.set(id, out.add_parameter(region.node(id).types[0], region.parameter_name(id),
                                  region.node(id).loc));
  std::vector<Value> more;
  for (const TensorType& type : types) more.push_back(out.add_parameter(type));
  for (uint32_t id = region.num_parameters(); id < region.nodes().size(); ++id) {
    const auto at = std::find(known.begin(), known.end(), Value{id, 0});
    if (at != known.end()) {
      map.set(id, more[static_cast<size_t>(at - known.begin())]);
      continue;
    }
    map.set(id, copy_node(region, id, map, out));
  }
  std::vector<Value> outputs = map.of(region.outputs());
  std::vector<std::string> names = region.output_names();
  if (hands_on) {
    outputs.insert(outputs.end(), more.begin(), more.end());
    names.resize(outputs.size());
  }
  out.set_outputs(std::move(outputs), std::move(names));
  // Without what only the values were made of.
  auto keep = [](const RewriteSite&) -> std::optional<std::vector<Value>> { return std::nullopt; };
  return std::make_shared<const Graph>(rewrite_graph(out, keep, RewriteRegions::kNone));
}

std::optional<std::vector<Value>> hoisted(const RewriteSite& site) {
  if (site.node.op != Op::kWhile) return std::nullopt;
  const Graph &cond = *site.node.regions[0], &body = *site.node.regions[1];
  const std::vector<Value> values = Body(body).worthwhile();
  if (values.empty()) return std::nullopt;
  Node loop = site.node;
  for (Value v : computed_before(site, body, values)) loop.operands.push_back(v);
  for (Value v : values) loop.types.push_back(body.type(v));
  const std::vector<TensorType> types(loop.types.begin() + std::ssize(site.node.types),
                                      loop.types.end());
  loop.regions = {with_carries(cond, types, {}, false), with_carries(body, types, values, true)};
  const Value made = site.out.add(std::move(loop));
  std::vector<Value> results;
  for (uint32_t r = 0; r < site.node.types.size(); ++r) results.push_back({made.node, r});
  return results;
}

}  // namespace

Result<Graph> hoist_invariants(const Graph& graph, const PassContext&) {
  return rewrite_graph(graph, hoisted);
}

}  // namespace tuff
