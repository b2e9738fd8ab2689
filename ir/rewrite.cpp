#include "ir/rewrite.h"

#include <algorithm>
#include <cstring>

namespace tuff {

void ValueMap::set(uint32_t id, Value node) {
  const bool is_same = node.node == id;
  if (is_same && id == same_ && values_.empty()) ++same_;
  if (is_same && id < same_) return;
  Value* values = values_of(id);
  for (uint32_t r = 0; r < from_.node(id).types.size(); ++r) values[r] = {node.node, r};
}

void ValueMap::set(uint32_t id, std::span<const Value> values) {
  std::copy(values.begin(), values.end(), values_of(id));
}

Value* ValueMap::values_of(uint32_t id) {
  const NodeList& nodes = from_.nodes();
  values_.resize(nodes.results_before(nodes.size()));
  for (uint32_t same = id; same < same_; ++same)
    for (uint32_t r = 0; r < nodes[same].types.size(); ++r) values_[place({same, r})] = {same, r};
  same_ = std::min(same_, id);
  return values_.data() + place({id, 0});
}

std::vector<Value> ValueMap::of(const std::vector<Value>& values) const {
  std::vector<Value> mapped;
  mapped.reserve(values.size());
  for (Value v : values) mapped.push_back((*this)[v]);
  return mapped;
}

bool ValueMap::keeps(const std::vector<Value>& values) const {
  // Most passes leave most graphs alone, and operands lie all over a large one's memory.
  return values_.empty() ||
         std::all_of(values.begin(), values.end(), [&](Value v) { return (*this)[v] == v; });
}

Value copy_node(const Graph& from, uint32_t id, const ValueMap& map, Graph& out) {
  const Node& old = from.node(id);
  if (map.keeps(old.operands)) return out.add_shared(from, id);
  Node node = old;
  node.operands = map.of(old.operands);
  return out.add(std::move(node));
}

Value RewriteSite::add(Op op, std::vector<Value> operands, TensorType type, Attrs attrs) const {
  return add_op(out, op, std::move(operands), std::move(type), std::move(attrs), node.loc);
}

Value RewriteSite::constant(Literal value) const {
  return add_constant(out, std::move(value), node.loc);
}

Value RewriteSite::splat(const TensorType& type, double value) const {
  Value scalar = constant(Literal::scalar(type.dtype, value));
  if (type.rank() == 0) return scalar;
  return add(Op::kBroadcastInDim, {scalar}, type, BroadcastInDimAttrs{});
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), graph.is_known_live());
  if (graph.is_known_live()) return live;
  for (Value v : graph.outputs()) live[v.node] = true;
  for (uint32_t id = static_cast<uint32_t>(live.size()); id-- > 0;) {
    if (!live[id] && id >= graph.num_parameters() && !has_side_effect(graph.node(id))) continue;
    live[id] = true;
    for (Value v : graph.node(id).operands) live[v.node] = true;
  }
  return live;
}

namespace {

// Rewrites the regions; those that stay as they are are kept. False: all are.
bool rewrite_regions(std::vector<GraphPtr>& regions, const RewriteRule& rule) {
  bool any = false;
  for (GraphPtr& region : regions) {
    Graph rewritten = rewrite_graph(*region, rule, RewriteRegions::kAll);
    if (rewritten == *region) continue;
    region = std::make_shared<const Graph>(std::move(rewritten));
    any = true;
  }
  return any;
}

// The node with operands mapped and, where asked, regions rewritten; nothing where that is the
// node as it was.
std::optional<Node> mapped_node(const Node& old, const ValueMap& map, const RewriteRule& rule,
                                RewriteRegions regions) {
  std::optional<Node> node;
  if (!map.keeps(old.operands)) {
    node = old;
    node->operands = map.of(old.operands);
  }
  if (regions == RewriteRegions::kNone || is_settled(old.op) || old.regions.empty()) return node;
  std::vector<GraphPtr> rewritten = old.regions;
  if (!rewrite_regions(rewritten, rule)) return node;
  if (!node) node = old;
  node->regions = std::move(rewritten);
  return node;
}

// The graph without nodes that nobody reads: what replaced nodes leave behind.
Graph without_dead(Graph graph) {
  std::vector<bool> live = live_nodes(graph);
  if (std::find(live.begin(), live.end(), false) == live.end()) return graph;
  return rewrite_graph(
      graph, [](const RewriteSite&) { return std::nullopt; }, RewriteRegions::kNone);
}

}  // namespace

Graph rewrite_graph(const Graph& graph, const RewriteRule& rule, RewriteRegions regions) {
  std::vector<bool> live = live_nodes(graph);
  ValueMap map(graph);
  Graph out = graph.parameters_only();
  size_t kept = graph.num_parameters(), replacements = 0;
  for (uint32_t id = graph.num_parameters(); id < graph.nodes().size(); ++id) {
    const Node& old = graph.node(id);
    if (!live[id]) continue;
    std::optional<Node> changed = mapped_node(old, map, rule, regions);
    if (auto replaced = rule(RewriteSite{out, changed ? *changed : old, graph, id})) {
      TUFF_CHECK(replaced->size() == old.types.size(),
                 "a replacement has as many values as the node");
      for (size_t r = 0; r < replaced->size(); ++r)
        TUFF_CHECK(out.type((*replaced)[r]) == old.types[r],
                   std::string("a replacement of ") + op_name(old.op) + " keeps the type");
      map.set(id, *replaced);
      ++replacements;
    } else {
      ++kept;
      map.set(id, changed ? out.add(std::move(*changed)) : out.add_shared(graph, id));
    }
  }
  out.set_outputs(map.of(graph.outputs()), graph.output_names());
  // Where the rule neither replaced nor added a node, those that are left are read as before.
  bool has_rewritten = replacements > 0 || out.nodes().size() > kept;
  if (has_rewritten) out = without_dead(std::move(out));
  out.note_live();
  return out;
}

Graph rewrite_to_fixpoint(const Graph& graph, const RewriteRule& rule, RewriteRegions regions) {
  // A rule set that never settles is our bug; the bound only keeps it from hanging.
  constexpr int kMaxRounds = 100;
  bool replaced = false;
  RewriteRule watched = [&](const RewriteSite& site) {
    std::optional<std::vector<Value>> values = rule(site);
    replaced = replaced || values;
    return values;
  };
  Graph current = rewrite_graph(graph, watched, regions);
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!replaced) return current;
    replaced = false;
    Graph next = rewrite_graph(current, watched, regions);
    if (next == current) return next;
    current = std::move(next);
  }
  TUFF_CHECK(false, "rewrite rules settle");
  return current;
}

std::vector<Value> inline_region(Graph& out, const Graph& region,
                                 std::span<const Value> arguments) {
  ValueMap map(region);
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    if (id < region.num_parameters()) {
      map.set(id, arguments.subspan(id, 1));
      continue;
    }
    map.set(id, copy_node(region, id, map, out));
  }
  return map.of(region.outputs());
}

const Literal* constant_value(const Graph& graph, Value v) {
  const Node& node = graph.node(v);
  return node.op == Op::kConstant ? &node.attrs.as<ConstantAttrs>().value : nullptr;
}

const Literal* splat_value(const Graph& graph, Value v) {
  while (graph.node(v).op == Op::kBroadcastInDim) v = graph.node(v).operands[0];
  const Literal* literal = constant_value(graph, v);
  return literal && literal->is_splat() ? literal : nullptr;
}

Literal scalar_of(const Literal& literal, int64_t index) {
  Literal scalar(TensorType{literal.type().dtype, {}});
  int64_t size = dtype_size(literal.type().dtype);
  std::memcpy(scalar.mutable_bytes(), literal.bytes() + index * size, static_cast<size_t>(size));
  return scalar;
}

}  // namespace tuff
