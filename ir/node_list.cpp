#include "ir/node_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/graph.h"
#include "ir/support/hash.h"

namespace tuff {

uint64_t hash_node(const Node& node) {
  uint64_t h = static_cast<uint64_t>(node.op);
  for (Value v : node.operands) h = hash_mix(h, uint64_t{v.node} << 32 | v.result);
  for (const TensorType& type : node.types) {
    h = hash_mix(h, static_cast<uint64_t>(type.dtype));
    h = hash_bytes(type.shape.data(), type.shape.size() * sizeof(int64_t), h);
  }
  h = hash_mix(h, node.attrs.hash());
  for (const GraphPtr& region : node.regions) h = hash_mix(h, region->hash());
  return h;
}

bool same_node(const Node& a, const Node& b) {
  if (&a == &b) return true;
  if (a.op != b.op || a.operands != b.operands || a.types != b.types) return false;
  if (a.regions.size() != b.regions.size() || !(a.attrs == b.attrs)) return false;
  return std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(),
                    [](const GraphPtr& x, const GraphPtr& y) { return x == y || *x == *y; });
}

bool is_pure(Op op) {
  return op != Op::kRngBitGenerator && op != Op::kCustomCall && op != Op::kHostCall &&
         op != Op::kOptimizationBarrier;
}

bool has_side_effect(const Node& node) {
  if (const auto* call = node.attrs.find<CustomCallAttrs>()) return call->has_side_effect;
  if (const auto* call = node.attrs.find<HostCallAttrs>()) return call->has_side_effect;
  return std::any_of(node.regions.begin(), node.regions.end(),
                     [](const GraphPtr& region) { return region->has_side_effects(); });
}

NodeList::NodeList(const NodeList& other, size_t size)
    : memory_(other.memory_), first_(other.first_), size_(size) {
  if (memory_) memory_->is_shared = true;
}

NodeList::NodeList(NodeList&& other) noexcept
    : memory_(std::move(other.memory_)),
      first_(std::exchange(other.first_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

NodeList& NodeList::operator=(NodeList other) noexcept {
  memory_.swap(other.memory_);
  first_ = other.first_;
  size_ = other.size_;
  return *this;
}

bool NodeList::operator==(const NodeList& other) const {
  if (size_ != other.size_) return false;
  if (size_ == 0 || first_ == other.first_) return true;
  return std::equal(memory_->hashes.begin(), memory_->hashes.begin() + static_cast<int64_t>(size_),
                    other.memory_->hashes.begin()) &&
         std::equal(begin(), end(), other.begin(), same_node);
}

void NodeList::reserve(size_t nodes) {
  own();
  memory_->reserve(nodes);
  first_ = memory_->nodes.data();
}

void NodeList::append(NodePtr node, uint64_t hash, bool findable) {
  own();
  memory_->grow_places(size_ + 1);
  auto results = static_cast<uint32_t>(node->types.size());
  memory_->result_ends.push_back(results_before(size_) + results);
  memory_->hashes.push_back(hash);
  memory_->nodes.push_back(std::move(node));
  first_ = memory_->nodes.data();
  if (findable) memory_->place(static_cast<uint32_t>(size_));
  ++size_;
}

bool NodeList::append_next(const NodeList& other, size_t id) {
  if (memory_ != other.memory_ || id != size_) return false;
  ++size_;
  return true;
}

std::optional<uint32_t> NodeList::find(uint64_t hash, const Node& node) const {
  if (!memory_ || memory_->places.empty()) return std::nullopt;
  const std::vector<uint32_t>& places = memory_->places;
  for (size_t at = hash % places.size(); places[at] != 0; at = (at + 1) % places.size()) {
    uint32_t id = places[at] - 1;
    if (id < size_ && memory_->hashes[id] == hash && same_node(*first_[id], node)) return id;
  }
  return std::nullopt;
}

void NodeList::own() {
  if (!memory_) memory_ = std::make_shared<Memory>();
  if (!memory_->is_shared) return;
  auto own = std::make_shared<Memory>();
  own->reserve(memory_->nodes.size());  // as much as in the list it was made of may follow
  auto end = static_cast<int64_t>(size_);
  own->nodes.assign(memory_->nodes.begin(), memory_->nodes.begin() + end);
  own->hashes.assign(memory_->hashes.begin(), memory_->hashes.begin() + end);
  own->result_ends.assign(memory_->result_ends.begin(), memory_->result_ends.begin() + end);
  for (uint32_t taken : memory_->places)
    if (taken != 0 && taken <= size_) own->place(taken - 1);
  memory_ = std::move(own);
}

void NodeList::Memory::reserve(size_t count) {
  nodes.reserve(count);
  hashes.reserve(count);
  result_ends.reserve(count);
  grow_places(count);
}

void NodeList::Memory::grow_places(size_t count) {
  if (2 * count < places.size()) return;
  std::vector<uint32_t> fewer =
      std::exchange(places, std::vector<uint32_t>(std::max<size_t>(16, std::bit_ceil(4 * count))));
  for (uint32_t taken : fewer)
    if (taken != 0) place(taken - 1);
}

void NodeList::Memory::place(uint32_t id) {
  size_t at = hashes[id] % places.size();
  while (places[at] != 0) at = (at + 1) % places.size();
  places[at] = id + 1;
}

}  // namespace tuff
