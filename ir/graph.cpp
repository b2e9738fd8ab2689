#include "ir/graph.h"

#include <algorithm>
#include <bit>

#include "ir/support/hash.h"

namespace tuff {

namespace {

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

}  // namespace

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

Value Graph::add_parameter(TensorType type, std::string name, std::string loc) {
  TUFF_CHECK(nodes_.size() == parameter_names_.size(), "parameters come first");
  auto id = static_cast<uint32_t>(nodes_.size());
  Node node;
  node.types = {std::move(type)};
  node.attrs = ParameterAttrs{static_cast<int64_t>(id)};
  node.loc = std::move(loc);
  uint64_t hash = hash_node(node);
  append(std::make_shared<const Node>(std::move(node)), hash);
  parameter_names_.push_back(name.empty() ? "arg" + std::to_string(id) : std::move(name));
  return {id, 0};
}

Value Graph::add(Node node) {
  for (Value v : node.operands)
    TUFF_CHECK(v.node < nodes_.size() && v.result < nodes_[v.node].types.size(),
               std::string("operand of ") + op_name(node.op) + " does not exist");
  TUFF_CHECK(node.attrs.complete(node.op),
             std::string(op_name(node.op)) + " has attributes of its own");
  return add_hashed(node, hash_node(node),
                    [&] { return std::make_shared<const Node>(std::move(node)); });
}

Value Graph::add_shared(const Graph& from, uint32_t id) {
  const NodePtr& node = from.nodes_.nodes_[id];
  return add_hashed(*node, from.hashes_[id], [&] { return node; });
}

template <typename Make>
Value Graph::add_hashed(const Node& node, uint64_t hash, const Make& make) {
  bool effect = has_side_effect(node);
  grow(nodes_.size() + 1);
  uint32_t* place = is_pure(node.op) && !effect ? find_place(hash, node) : nullptr;
  if (place != nullptr && *place != 0) return {*place - 1, 0};
  auto id = static_cast<uint32_t>(nodes_.size());
  if (place != nullptr) *place = id + 1;
  has_side_effects_ = has_side_effects_ || effect;
  append(make(), hash);
  return {id, 0};
}

void Graph::append(NodePtr node, uint64_t hash) {
  nodes_hash_ = hash_mix(nodes_hash_, hash);
  hashes_.push_back(hash);
  nodes_.nodes_.push_back(std::move(node));
}

uint32_t* Graph::find_place(uint64_t hash, const Node& node) {
  for (size_t at = hash % places_.size();; at = (at + 1) % places_.size()) {
    uint32_t id = places_[at];
    if (id == 0 || (hashes_[id - 1] == hash && same_node(nodes_[id - 1], node)))
      return &places_[at];
  }
}

void Graph::grow(size_t nodes) {
  if (2 * nodes < places_.size()) return;
  std::vector<uint32_t> larger(std::max<size_t>(16, std::bit_ceil(4 * nodes)));
  for (uint32_t id : places_) {
    if (id == 0) continue;
    size_t at = hashes_[id - 1] % larger.size();
    while (larger[at] != 0) at = (at + 1) % larger.size();
    larger[at] = id;
  }
  places_ = std::move(larger);
}

void Graph::reserve(size_t nodes) {
  nodes_.nodes_.reserve(nodes);
  hashes_.reserve(nodes);
  grow(nodes);
}

void Graph::set_outputs(std::vector<Value> outputs, std::vector<std::string> names) {
  outputs_ = std::move(outputs);
  output_names_ = std::move(names);
  output_names_.resize(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (output_names_[i].empty()) output_names_[i] = "out" + std::to_string(i);
}

std::vector<std::vector<uint32_t>> Graph::users() const {
  std::vector<std::vector<uint32_t>> users(nodes_.size());
  for (uint32_t id = 0; id < nodes_.size(); ++id)
    for (Value v : nodes_[id].operands)
      if (users[v.node].empty() || users[v.node].back() != id) users[v.node].push_back(id);
  return users;
}

uint64_t Graph::hash() const {
  uint64_t h = hash_mix(nodes_hash_, nodes_.size());
  for (Value v : outputs_) h = hash_mix(h, uint64_t{v.node} << 32 | v.result);
  return h;
}

bool Graph::operator==(const Graph& other) const {
  return outputs_ == other.outputs_ && hashes_ == other.hashes_ && donations == other.donations &&
         std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), same_node);
}

Value add_constant(Graph& graph, Literal value, std::string loc) {
  Node node;
  node.op = Op::kConstant;
  node.types = {value.type()};
  node.attrs = ConstantAttrs{std::move(value)};
  node.loc = std::move(loc);
  return graph.add(std::move(node));
}

Value add_op(Graph& graph, Op op, std::vector<Value> operands, TensorType type, Attrs attrs,
             std::string loc) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.types = {std::move(type)};
  node.attrs = std::move(attrs);
  node.loc = std::move(loc);
  return graph.add(std::move(node));
}

}  // namespace tuff
