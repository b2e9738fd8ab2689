#include "frontend/onnx/build/emitter.h"

#include <fmt/format.h>

#include "ir/evaluate/evaluate.h"
#include "ir/infer/infer.h"

namespace tuff::onnx {

namespace {

// What is folded at once: shapes and what they are computed from.
constexpr int64_t kMaxFolded = 128;
// What is computed to find a value that a shape needs.
constexpr int64_t kMaxKnown = int64_t{1} << 16;
constexpr int kMaxDepth = 200;

}  // namespace

void refuse(ErrorCode code, std::string sentence) {
  throw Refusal{{code, std::move(sentence), ""}};
}
void refuse_input(std::string sentence) { refuse(ErrorCode::kBadInput, std::move(sentence)); }
void refuse_unsupported(std::string sentence) {
  refuse(ErrorCode::kUnsupported, std::move(sentence));
}

bool Emitter::is_small(const std::vector<Value>& operands,
                       const std::vector<TensorType>& types) const {
  for (Value v : operands)
    if (graph_.node(v).op != Op::kConstant || type(v).num_elements() > kMaxFolded) return false;
  for (const TensorType& t : types)
    if (t.num_elements() > kMaxFolded) return false;
  return true;
}

std::vector<Value> Emitter::add(Op op, std::vector<Value> operands, std::vector<TensorType> types,
                                Attrs attrs, std::vector<GraphPtr> regions) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.types = std::move(types);
  node.attrs = std::move(attrs);
  node.regions = std::move(regions);
  node.loc = loc_;
  auto inferred = infer_types(graph_, node);
  if (!inferred.ok()) refuse(inferred.error().code, inferred.error().message);
  node.types = std::move(*inferred);
  if (is_pure(op) && is_small(node.operands, node.types)) {
    std::vector<Literal> values;
    for (Value v : node.operands) values.push_back(graph_.node(v).attrs.as<ConstantAttrs>().value);
    if (auto results = evaluate_node(node, values); results.ok()) {
      std::vector<Value> folded;
      for (Literal& literal : *results) folded.push_back(constant(std::move(literal)));
      return folded;
    }
  }
  size_t count = node.types.size();
  Value first = graph_.add(std::move(node));
  std::vector<Value> results;
  for (uint32_t i = 0; i < count; ++i) results.push_back({first.node, i});
  return results;
}

Value Emitter::constant(Literal value) { return add_constant(graph_, std::move(value), loc_); }

std::optional<Literal> Emitter::known(Value v, const AskParameter& ask) {
  if (type(v).num_elements() > kMaxKnown) return std::nullopt;
  // What was not known may be now.
  if (ask) std::erase_if(evaluated_, [](const auto& entry) { return !entry.second; });
  auto values = evaluated(v.node, ask, 0);
  if (!values) return std::nullopt;
  return (*values)[v.result];
}

std::optional<std::vector<Literal>> Emitter::evaluated(uint32_t id, const AskParameter& ask,
                                                       int depth) {
  auto found = evaluated_.find(id);
  if (found != evaluated_.end()) return found->second;
  const Node& node = graph_.node(Value{id, 0});
  std::optional<std::vector<Literal>> results;
  if (node.op == Op::kConstant) {
    results = std::vector<Literal>{node.attrs.as<ConstantAttrs>().value};
  } else if (node.op == Op::kParameter) {
    const Literal* value = nullptr;
    if (parameters_ && parameters_->contains(id)) value = &parameters_->at(id);
    if (!value && ask) value = ask(id);
    if (value) results = std::vector<Literal>{*value};
  } else if (depth < kMaxDepth && is_pure(node.op)) {
    std::vector<Literal> operands;
    bool all = true;
    for (const TensorType& t : node.types) all = all && t.num_elements() <= kMaxKnown;
    for (Value v : node.operands) {
      all = all && type(v).num_elements() <= kMaxKnown;
      auto operand = all ? evaluated(v.node, ask, depth + 1) : std::nullopt;
      if (!operand) {
        all = false;
        break;
      }
      operands.push_back((*operand)[v.result]);
    }
    if (all)
      if (auto got = evaluate_node(node, operands); got.ok()) results = std::move(*got);
  }
  evaluated_[id] = results;
  return results;
}

}  // namespace tuff::onnx
