// Graph: the tensor language. Values only: no memory, no layout, no devices.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/literal.h"
#include "ir/node_list.h"

namespace tuff {

// Invariants: operands' node ids are below the node's own, so the node order is
// a topological order; parameters are the first nodes, in index order; nodes
// never change. Equal pure nodes are one node (see add), so CSE is free. Copies of a
// graph, and what passes make of it, share the nodes that stay as they are, and their list
// as far as it stays the same.
class Graph {
 public:
  // Name, donations and parameters of this graph; no other nodes, no outputs.
  Graph parameters_only() const;
  // Parameters must be added before any other node.
  Value add_parameter(TensorType type, std::string name = {}, std::string loc = {});
  // Appends a node, or returns the equal one already there. Never merged: ops with
  // identity of their own (rng_bit_generator, custom_call, host_call, optimization_barrier) and
  // what has effects.
  // The result is the node's first; others are {node, 1...}.
  Value add(Node node);
  // The same of a node of another graph that has the same operands here: it is shared.
  Value add_shared(const Graph& from, uint32_t id);
  void set_outputs(std::vector<Value> outputs, std::vector<std::string> names = {});

  const NodeList& nodes() const { return nodes_; }
  const Node& node(uint32_t id) const { return nodes_[id]; }
  const Node& node(Value v) const { return nodes_[v.node]; }
  const TensorType& type(Value v) const { return nodes_[v.node].types[v.result]; }
  uint32_t num_parameters() const { return static_cast<uint32_t>(parameter_names_.size()); }
  const std::string& parameter_name(uint32_t i) const { return parameter_names_[i]; }
  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }

  // users()[v.node] = ids of nodes with an operand of that node, each once, ascending.
  // Computed on each call: O(edges).
  std::vector<std::vector<uint32_t>> users() const;
  // Structural identity: ops, operands, types, attributes, regions, outputs; not
  // locations, not names.
  // Takes no longer for larger graphs.
  uint64_t hash() const;
  bool operator==(const Graph& other) const;
  // A node has, or one of its regions.
  bool has_side_effects() const { return has_side_effects_; }
  // Room for that many nodes.
  void reserve(size_t nodes) { nodes_.reserve(nodes); }

  // Whether it is known that each node is a parameter, reaches an output or has an effect.
  // What adds a node, or other outputs, forgets it.
  bool is_known_live() const { return is_known_live_; }
  void note_live() { is_known_live_ = true; }

  std::string name = "main";
  // Names of parameters whose argument may be overwritten by output k (donation):
  // pairs (parameter index, output index).
  std::vector<std::pair<uint32_t, uint32_t>> donations;

 private:
  NodeList nodes_;
  std::vector<std::string> parameter_names_;
  std::vector<Value> outputs_;
  std::vector<std::string> output_names_;
  uint64_t nodes_hash_ = 0;
  bool has_side_effects_ = false;
  bool is_known_live_ = false;

  // Adds the node that `make` gives, unless it is there.
  template <typename Make>
  Value add_hashed(const Node& node, uint64_t hash, const Make& make);
  // What the graph says of its nodes, of one more.
  void count(uint64_t hash, bool effect);
};

// Shorthands for code that builds graphs.
Value add_constant(Graph& graph, Literal value, std::string loc = {});
Value add_op(Graph& graph, Op op, std::vector<Value> operands, TensorType type, Attrs attrs = {},
             std::string loc = {});

}  // namespace tuff
