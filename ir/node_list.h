// Operations, and the list of them that a graph is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/attributes.h"
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

// True iff two equal nodes of this op may be merged and an unused one dropped.
bool is_pure(Op op);
// The node has an effect outside its results, or says so.
bool has_side_effect(const Node& node);
// Both are of what makes nodes equal: op, operands, types, attributes and regions.
uint64_t hash_node(const Node& node);
bool same_node(const Node& a, const Node& b);

// The nodes of a graph in their order, by id. Copies share the memory. Only a list that shares
// its memory with none writes to it; others copy it first.
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

  NodeList() = default;
  NodeList(const NodeList& other) : NodeList(other, other.size_) {}
  // The first `size` of the other's.
  NodeList(const NodeList& other, size_t size);
  NodeList(NodeList&& other) noexcept;
  NodeList& operator=(NodeList other) noexcept;
  ~NodeList() = default;

  size_t size() const { return size_; }
  const Node& operator[](size_t id) const { return *first_[id]; }
  const Node& back() const { return *first_[size_ - 1]; }
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(first_ + size_); }
  const NodePtr& pointer(size_t id) const { return first_[id]; }
  uint64_t hash(size_t id) const { return memory_->hashes[id]; }
  // Results of all nodes before this one; `id` may be size().
  uint32_t results_before(size_t id) const { return id == 0 ? 0 : memory_->result_ends[id - 1]; }
  bool operator==(const NodeList& other) const;

  void reserve(size_t nodes);
  // `findable`: find may give it.
  void append(NodePtr node, uint64_t hash, bool findable);
  // Appends the other's node where the memory that both share has it as the next one.
  bool append_next(const NodeList& other, size_t id);
  // The node that equals this one.
  std::optional<uint32_t> find(uint64_t hash, const Node& node) const;

 private:
  struct Memory {
    std::vector<NodePtr> nodes;
    std::vector<uint64_t> hashes;
    std::vector<uint32_t> result_ends;
    // What find looks among: ids + 1 by their hashes, each at the first free place from there on;
    // 0 is free. More than half of the places are.
    std::vector<uint32_t> places;
    // Another list has it, or had.
    std::atomic<bool> is_shared = false;

    void reserve(size_t count);
    void grow_places(size_t count);
    void place(uint32_t id);
  };

  // Makes the memory one that no other list has.
  void own();

  std::shared_ptr<Memory> memory_;
  const NodePtr* first_ = nullptr;  // of memory_->nodes
  size_t size_ = 0;                 // as many of them, or fewer
};

}  // namespace tuff
