// Graph: the tensor language. Values only: no memory, no layout, no devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/attributes.h"
#include "ir/literal.h"
#include "ir/op.h"
#include "ir/value.h"

namespace tuff {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

// One operation. Immutable once in a graph.
//   Operand order is StableHLO's; attributes are the op's row of ir/attributes.def.
//   Regions are closed: a value captured in the source is made an operand
//   (while: an extra carried value; if/case: operands after the predicate are
//   passed to every branch). reduce: regions[0] = body(lhs..., rhs...).
//   while: regions = {cond, body} over the operands. sort: regions[0] = comparator.
//   fused, hosted: regions[0] over the operands; hosted says `why` it is not a kernel.
struct Node {
  Op op = Op::kParameter;
  std::vector<Value> operands;
  std::vector<TensorType> types;  // one per result
  Attrs attrs;
  std::vector<GraphPtr> regions;
  std::string loc;  // source location for messages and profiles; not part of identity
};
using NodePtr = std::shared_ptr<const Node>;

// The nodes of a graph in their order, by id.
class NodeList {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node;
    using difference_type = std::ptrdiff_t;
    using pointer = const Node*;
    using reference = const Node&;

    Iterator() = default;
    explicit Iterator(const NodePtr* at) : at_(at) {}
    const Node& operator*() const { return **at_; }
    const Node* operator->() const { return at_->get(); }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const NodePtr* at_ = nullptr;
  };

  size_t size() const { return nodes_.size(); }
  const Node& operator[](size_t id) const { return *nodes_[id]; }
  const Node& back() const { return *nodes_.back(); }
  Iterator begin() const { return Iterator(nodes_.data()); }
  Iterator end() const { return Iterator(nodes_.data() + nodes_.size()); }

 private:
  friend class Graph;
  std::vector<NodePtr> nodes_;
};

// Invariants: operands' node ids are below the node's own, so the node order is
// a topological order; parameters are the first nodes, in index order; nodes
// never change. Equal pure nodes are one node (see add), so CSE is free. Copies of a
// graph, and what passes make of it, share the nodes that stay as they are.
class Graph {
 public:
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
  void reserve(size_t nodes);

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

  // Adds the node that `make` gives, unless it is there.
  template <typename Make>
  Value add_hashed(const Node& node, uint64_t hash, const Make& make);
  void append(NodePtr node, uint64_t hash);

  // The nodes that add looks among: their ids + 1 by their hashes, each at the first free place
  // from there on; 0 is free. More than half of the places are.
  uint32_t* find_place(uint64_t hash, const Node& node);
  void grow(size_t nodes);
  std::vector<uint32_t> places_;
  std::vector<uint64_t> hashes_;  // by node
};

// Shorthands for code that builds graphs.
Value add_constant(Graph& graph, Literal value, std::string loc = {});
Value add_op(Graph& graph, Op op, std::vector<Value> operands, TensorType type, Attrs attrs = {},
             std::string loc = {});

// True iff two equal nodes of this op may be merged and an unused one dropped.
bool is_pure(Op op);
// The node has an effect outside its results, or says so.
bool has_side_effect(const Node& node);

}  // namespace tuff
