#include "ir/graph.h"

#include <algorithm>
#include <bit>

#include "ir/support/hash.h"

namespace tuff {

void Attrs::set(std::string name, AttrValue value) {
  auto it =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const auto& entry, const std::string& n) { return entry.first < n; });
  if (it != entries_.end() && it->first == name)
    it->second = std::move(value);
  else
    entries_.emplace(it, std::move(name), std::move(value));
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

int64_t Attrs::get_int(std::string_view name, int64_t missing) const {
  const AttrValue* value = find(name);
  return value && std::holds_alternative<int64_t>(*value) ? std::get<int64_t>(*value) : missing;
}

double Attrs::get_double(std::string_view name, double missing) const {
  const AttrValue* value = find(name);
  return value && std::holds_alternative<double>(*value) ? std::get<double>(*value) : missing;
}

std::string Attrs::get_string(std::string_view name, std::string missing) const {
  const AttrValue* value = find(name);
  return value && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value)
                                                              : missing;
}

const std::vector<int64_t>& Attrs::get_ints(std::string_view name) const {
  static const std::vector<int64_t> kEmpty;
  const AttrValue* value = find(name);
  return value && std::holds_alternative<std::vector<int64_t>>(*value)
             ? std::get<std::vector<int64_t>>(*value)
             : kEmpty;
}

namespace {

uint64_t hash_attr(const AttrValue& value, uint64_t h) {
  h = hash_mix(h, value.index());
  if (auto* i = std::get_if<int64_t>(&value)) return hash_mix(h, static_cast<uint64_t>(*i));
  if (auto* d = std::get_if<double>(&value)) return hash_bytes(d, sizeof *d, h);
  if (auto* s = std::get_if<std::string>(&value)) return hash_string(*s, h);
  if (auto* v = std::get_if<std::vector<int64_t>>(&value))
    return hash_bytes(v->data(), v->size() * sizeof(int64_t), h);
  if (auto* v = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& s : *v) h = hash_string(s, h);
    return h;
  }
  return hash_mix(h, std::get<Literal>(value).hash());
}

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
  if (a.op != b.op || a.operands != b.operands || a.types != b.types) return false;
  if (a.regions.size() != b.regions.size() || !(a.attrs == b.attrs)) return false;
  return std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(),
                    [](const GraphPtr& x, const GraphPtr& y) { return x == y || *x == *y; });
}

}  // namespace

bool Attrs::operator==(const Attrs& other) const {
  return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                    [](const auto& a, const auto& b) {
                      if (a.first != b.first) return false;
                      auto *x = std::get_if<double>(&a.second), *y = std::get_if<double>(&b.second);
                      if (x && y) return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
                      return a.second == b.second;
                    });
}

uint64_t Attrs::hash() const {
  uint64_t h = entries_.size();
  for (const auto& [name, value] : entries_) h = hash_attr(value, hash_string(name, h));
  return h;
}

bool is_pure(Op op) {
  return op != Op::kRngBitGenerator && op != Op::kCustomCall && op != Op::kOptimizationBarrier;
}

Value Graph::add_parameter(TensorType type, std::string name, std::string loc) {
  TUFF_CHECK(nodes_.size() == parameter_names_.size(), "parameters come first");
  Node node;
  node.types = {std::move(type)};
  node.attrs.set("index", static_cast<int64_t>(nodes_.size()));
  node.loc = std::move(loc);
  nodes_.push_back(std::move(node));
  parameter_names_.push_back(name.empty() ? "arg" + std::to_string(nodes_.size() - 1)
                                          : std::move(name));
  return {static_cast<uint32_t>(nodes_.size() - 1), 0};
}

Value Graph::add(Node node) {
  for (Value v : node.operands)
    TUFF_CHECK(v.node < nodes_.size() && v.result < nodes_[v.node].types.size(),
               std::string("operand of ") + op_name(node.op) + " does not exist");
  uint64_t h = hash_node(node);
  if (is_pure(node.op)) {
    auto [first, last] = interned_.equal_range(h);
    for (auto it = first; it != last; ++it)
      if (same_node(nodes_[it->second], node)) return {it->second, 0};
  }
  auto id = static_cast<uint32_t>(nodes_.size());
  interned_.emplace(h, id);
  nodes_.push_back(std::move(node));
  return {id, 0};
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
  uint64_t h = nodes_.size();
  for (const Node& node : nodes_) h = hash_mix(h, hash_node(node));
  for (Value v : outputs_) h = hash_mix(h, uint64_t{v.node} << 32 | v.result);
  return h;
}

bool Graph::operator==(const Graph& other) const {
  return outputs_ == other.outputs_ && nodes_.size() == other.nodes_.size() &&
         donations == other.donations &&
         std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), same_node);
}

Value add_constant(Graph& graph, Literal value, std::string loc) {
  Node node;
  node.op = Op::kConstant;
  node.types = {value.type()};
  node.attrs.set("value", std::move(value));
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
