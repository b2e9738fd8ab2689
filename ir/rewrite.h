// Help for writing passes: walk a graph in order, replace some nodes, copy the rest.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// Which values of the graph that is built the values of another one have become. Until they are
// set, its parameters are the same there.
class ValueMap {
 public:
  // `from` must outlive it.
  explicit ValueMap(const Graph& from) : from_(from), same_(from.num_parameters()) {}
  Value operator[](Value v) const { return v.node < same_ ? v : values_[place(v)]; }
  // The results of a node, in their order: those of another node, or any values.
  void set(uint32_t id, Value node);
  void set(uint32_t id, std::span<const Value> values);
  std::vector<Value> of(const std::vector<Value>& values) const;
  // Whether they are the same there.
  bool keeps(const std::vector<Value>& values) const;

 private:
  uint32_t place(Value v) const { return from_.nodes().results_before(v.node) + v.result; }
  // Where the node's values are to be written.
  Value* values_of(uint32_t id);

  const Graph& from_;
  uint32_t same_;              // nodes in front whose values are the same
  std::vector<Value> values_;  // by place, of the others; none while there are no others
};

// The node in `out`, with its operands mapped.
Value copy_node(const Graph& from, uint32_t id, const ValueMap& map, Graph& out);

// What a rewrite rule sees: the node with its operands already in `out`, so that
// nodes made by earlier replacements are seen as they now are, and its regions
// already rewritten.
struct RewriteSite {
  Graph& out;
  const Node& node;
  const Graph& old;  // the graph being walked
  uint32_t old_id;   // the node in it

  // Node that defines operand i, in `out`.
  const Node& operand(size_t i) const { return out.node(node.operands[i]); }
  const TensorType& operand_type(size_t i) const { return out.type(node.operands[i]); }
  // Adds a node with this one's location.
  Value add(Op op, std::vector<Value> operands, TensorType type, Attrs attrs = {}) const;
  Value constant(Literal value) const;
  // A constant scalar spread over `type`; the scalar itself for rank 0.
  Value splat(const TensorType& type, double value) const;
};

// The node's new results, one Value per result, or nullopt to keep the node.
using RewriteRule = std::function<std::optional<std::vector<Value>>(const RewriteSite&)>;

// Which nested graphs a rewrite enters. Fused and hosted regions are never entered:
// what stands in them is settled.
enum class RewriteRegions { kNone, kAll };

// Applies the rule to every live node, operands first. Dead nodes are left out,
// parameters, outputs, names, donations and locations stay.
Graph rewrite_graph(const Graph& graph, const RewriteRule& rule,
                    RewriteRegions regions = RewriteRegions::kAll);

// Repeats until nothing changes; the rules must make progress.
Graph rewrite_to_fixpoint(const Graph& graph, const RewriteRule& rule,
                          RewriteRegions regions = RewriteRegions::kAll);

// Adds the nodes of `region` to `out` with `arguments` for its parameters and
// returns its outputs.
std::vector<Value> inline_region(Graph& out, const Graph& region, std::span<const Value> arguments);

// live[id] is true iff the node is a parameter, reaches an output or has an effect.
std::vector<bool> live_nodes(const Graph& graph);

// Building blocks that many rules share, on values of one graph.

// The literal of a constant node, or null.
const Literal* constant_value(const Graph& graph, Value v);
// The scalar every element of the value equals: of a constant, or of one
// broadcast; null where it is not so simple. The literal has rank 0 or is a splat.
const Literal* splat_value(const Graph& graph, Value v);
// Element 0 of the literal as a scalar literal.
Literal scalar_of(const Literal& literal, int64_t index = 0);

}  // namespace tuff
