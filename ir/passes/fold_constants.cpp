#include "ir/passes/fold_constants.h"

#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"

namespace tuff {

namespace {

constexpr int64_t kMaxResultBytes = 1 << 20;
// Elements read or multiplied; a fold must not take longer than compiling does.
constexpr int64_t kMaxWork = 1 << 24;
// Up to here an iota is a literal in the kernels anyway.
constexpr int64_t kMaxIota = 16;

bool is_foldable(const Node& node) {
  switch (op_category(node.op)) {
    case OpCategory::kElementwise:
    case OpCategory::kView:
    case OpCategory::kIndexing:
    case OpCategory::kScatter:
    case OpCategory::kReduction:
    case OpCategory::kWindow:
    case OpCategory::kContraction:
    case OpCategory::kSort: break;
    default: return node.op == Op::kIota && node.types[0].num_elements() <= kMaxIota;
  }
  // A broadcast that adds elements stays symbolic.
  return node.op != Op::kBroadcastInDim;
}

// Upper bound of the elements touched: for a contraction, each result element
// reads at most a whole operand.
int64_t work(const RewriteSite& site, int64_t result_elements) {
  int64_t operands = 1, largest = 1;
  for (size_t i = 0; i < site.node.operands.size(); ++i) {
    operands += site.operand_type(i).num_elements();
    largest = std::max(largest, site.operand_type(i).num_elements());
  }
  OpCategory category = op_category(site.node.op);
  bool windowed = category == OpCategory::kContraction || category == OpCategory::kWindow;
  if (!windowed) return operands + result_elements;
  return result_elements > kMaxWork / largest ? kMaxWork + 1 : result_elements * largest;
}

// The operand's value where it is known: a constant, or a broadcast of a scalar one.
std::optional<Literal> known_value(const RewriteSite& site, size_t i) {
  Value v = site.node.operands[i];
  if (const Literal* value = constant_value(site.out, v)) return *value;
  const Literal* splat = splat_value(site.out, v);
  const TensorType& type = site.out.type(v);
  if (!splat || type.num_elements() == 0 || type.size_bytes() > kMaxResultBytes)
    return std::nullopt;
  Literal scalar = scalar_of(*splat);
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(type.size_bytes()));
  for (int64_t n = type.num_elements(); n-- > 0;)
    bytes.insert(bytes.end(), scalar.bytes(), scalar.bytes() + scalar.size_bytes());
  return Literal(type, std::move(bytes));
}

Value add_known(const RewriteSite& site, Literal value) {
  if (value.type().rank() == 0 || !value.is_splat()) return site.constant(std::move(value));
  TensorType type = value.type();
  return site.add(Op::kBroadcastInDim, {site.constant(scalar_of(value))}, type,
                  BroadcastInDimAttrs{});
}

// Elementwise over splats: one element is computed, whatever the shape.
std::optional<std::vector<Value>> fold_splats(const RewriteSite& site, const PassContext& context) {
  if (!is_elementwise(site.node.op)) return std::nullopt;
  std::vector<Literal> operands;
  for (Value v : site.node.operands) {
    const Literal* splat = splat_value(site.out, v);
    if (!splat) return std::nullopt;
    operands.push_back(scalar_of(*splat));
  }
  Node node = site.node;
  node.types[0].shape.clear();
  Result<std::vector<Literal>> result = context.evaluate_node(node, operands);
  if (!result.ok()) return std::nullopt;
  Value scalar = site.constant(std::move((*result)[0]));
  if (site.node.types[0].rank() == 0) return std::vector<Value>{scalar};
  return std::vector<Value>{
      site.add(Op::kBroadcastInDim, {scalar}, site.node.types[0], BroadcastInDimAttrs{})};
}

// The places that a gather reads or a scatter writes, where they are computed of iotas and
// constants alone. Elsewhere such a vector is computed again for each element, which is less than
// a load; of places each element of a row would.
class Places {
 public:
  Places(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  // Nothing where it depends on an argument, or takes too long.
  std::optional<Literal> value(Value v, int depth = 0) {
    constexpr int kMaxDepth = 64;
    constexpr int64_t kMaxElements = 1 << 14;
    const Node& node = graph_.node(v.node);
    if (const Literal* constant = constant_value(graph_, v)) return *constant;
    const OpCategory category = op_category(node.op);
    const bool computes = category == OpCategory::kElementwise || category == OpCategory::kView ||
                          node.op == Op::kIota;
    if (!computes || depth > kMaxDepth || node.types.size() != 1 ||
        node.types[0].num_elements() > kMaxElements)
      return std::nullopt;
    auto known = values_.find(v.node);
    if (known != values_.end()) return known->second;
    return values_[v.node] = evaluated(node, depth);
  }

 private:
  std::optional<Literal> evaluated(const Node& node, int depth) {
    std::vector<Literal> operands;
    for (Value v : node.operands) {
      std::optional<Literal> operand = value(v, depth + 1);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    }
    Result<std::vector<Literal>> results = context_.evaluate_node(node, operands);
    if (!results.ok()) return std::nullopt;
    return std::move((*results)[0]);
  }

  const Graph& graph_;
  const PassContext& context_;
  std::unordered_map<uint32_t, std::optional<Literal>> values_;
};

std::optional<std::vector<Value>> fold_places(const RewriteSite& site, const PassContext& context) {
  if (site.node.op != Op::kGather && site.node.op != Op::kScatter) return std::nullopt;
  const size_t at =  // in front of as many updates as inputs
      site.node.op == Op::kGather ? 1 : (site.node.operands.size() - 1) / 2;
  if (constant_value(site.out, site.node.operands[at])) return std::nullopt;
  if (splat_value(site.out, site.node.operands[at])) return std::nullopt;
  std::optional<Literal> places = Places(site.out, context).value(site.node.operands[at]);
  if (!places) return std::nullopt;
  Node node = site.node;
  node.operands[at] = site.constant(std::move(*places));
  const size_t results = node.types.size();
  const Value made = site.out.add(std::move(node));
  std::vector<Value> values;
  for (uint32_t r = 0; r < results; ++r) values.push_back({made.node, r});
  return values;
}

std::optional<std::vector<Value>> fold(const RewriteSite& site, const PassContext& context) {
  if (auto values = fold_places(site, context)) return values;
  if (!is_foldable(site.node)) return std::nullopt;
  if (auto values = fold_splats(site, context)) return values;
  int64_t bytes = 0, elements = 0;
  for (const TensorType& type : site.node.types) {
    if (type.size_bytes() > kMaxResultBytes) return std::nullopt;
    bytes += type.size_bytes();
    elements += type.num_elements();
  }
  if (bytes > kMaxResultBytes || work(site, elements) > kMaxWork) return std::nullopt;
  // All must be known before one is written out in full.
  for (Value v : site.node.operands)
    if (!constant_value(site.out, v) && !splat_value(site.out, v)) return std::nullopt;
  std::vector<Literal> operands;
  for (size_t i = 0; i < site.node.operands.size(); ++i) {
    std::optional<Literal> value = known_value(site, i);
    if (!value) return std::nullopt;
    operands.push_back(std::move(*value));
  }
  // What the evaluator refuses is left for the device, which says why.
  Result<std::vector<Literal>> results = context.evaluate_node(site.node, operands);
  if (!results.ok()) return std::nullopt;
  std::vector<Value> values;
  for (Literal& result : *results) values.push_back(add_known(site, std::move(result)));
  return values;
}

}  // namespace

// Operands are folded before their users, so one walk folds whole chains. Scalar
// bodies (of reductions and sorts) are entered like any region.
Result<Graph> fold_constants(const Graph& graph, const PassContext& context) {
  if (!context.evaluate_node) return graph;
  return rewrite_graph(graph, [&](const RewriteSite& site) { return fold(site, context); });
}

}  // namespace tuff
