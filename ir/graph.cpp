#include "ir/graph.h"

#include "ir/support/hash.h"

namespace tuff {

Graph Graph::parameters_only() const {
  Graph out;
  out.name = name;
  out.donations = donations;
  out.parameter_names_ = parameter_names_;
  out.nodes_ = NodeList(nodes_, parameter_names_.size());
  for (size_t id = 0; id < out.nodes_.size(); ++id) out.count(nodes_.hash(id), false);
  return out;
}

Value Graph::add_parameter(TensorType type, std::string name, std::string loc) {
  TUFF_CHECK(nodes_.size() == parameter_names_.size(), "parameters come first");
  auto id = static_cast<uint32_t>(nodes_.size());
  Node node;
  node.types = {std::move(type)};
  node.attrs = ParameterAttrs{static_cast<int64_t>(id)};
  node.loc = std::move(loc);
  uint64_t hash = hash_node(node);
  count(hash, false);
  nodes_.append(std::make_shared<const Node>(std::move(node)), hash, false);
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
  const Node& node = from.node(id);
  uint64_t hash = from.nodes_.hash(id);
  if (nodes_.append_next(from.nodes_, id)) {
    count(hash, has_side_effect(node));
    return {id, 0};
  }
  return add_hashed(node, hash, [&] { return from.nodes_.pointer(id); });
}

template <typename Make>
Value Graph::add_hashed(const Node& node, uint64_t hash, const Make& make) {
  bool effect = has_side_effect(node);
  bool findable = is_pure(node.op) && !effect;
  if (findable)
    if (std::optional<uint32_t> id = nodes_.find(hash, node)) return {*id, 0};
  auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.append(make(), hash, findable);
  count(hash, effect);
  return {id, 0};
}

void Graph::count(uint64_t hash, bool effect) {
  nodes_hash_ = hash_mix(nodes_hash_, hash);
  has_side_effects_ = has_side_effects_ || effect;
  is_known_live_ = false;
}

void Graph::set_outputs(std::vector<Value> outputs, std::vector<std::string> names) {
  is_known_live_ = false;
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
  return outputs_ == other.outputs_ && donations == other.donations && nodes_ == other.nodes_;
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
