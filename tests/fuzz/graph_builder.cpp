#include "tests/fuzz/graph_builder.h"

#include <algorithm>
#include <limits>

#include "ir/infer/infer.h"

namespace tuff::fuzz {

GraphBuilder::GraphBuilder(uint32_t seed) : random_(seed) {}

Value GraphBuilder::parameter(TensorType type, const std::string& name) {
  Value v = graph_.add_parameter(std::move(type), name);
  precisions_.push_back({is_integer(graph_.type(v).dtype) || name == kWholeName, 0, 0, false});
  values_.push_back(v);
  return v;
}

Value GraphBuilder::constant(Literal literal) {
  Value v = add_constant(graph_, std::move(literal));
  if (v.node == precisions_.size())
    precisions_.push_back(precision_of(graph_.node(v), precisions_));
  return v;
}

Value GraphBuilder::any(bool moved) {
  for (int tries = 0; tries < 8; ++tries) {
    auto count = static_cast<int64_t>(values_.size());
    int64_t newest = std::min<int64_t>(count, 3);
    Value v = values_[static_cast<size_t>(chance(2) ? count - 1 - pick(newest) : pick(count))];
    if (moved || exact(v)) return v;
  }
  return values_[0];
}

Value GraphBuilder::scalar(DType dtype) {
  if (chance(2))
    if (auto v = find([&](Value c) { return type(c) == TensorType{dtype, {}}; })) return *v;
  return constant(Literal::scalar(dtype, static_cast<double>(pick(4))));
}

std::optional<Value> GraphBuilder::summable(Value v) {
  DType dtype = type(v).dtype;
  if (!is_float(dtype)) return v;
  if (!integral(v)) return std::nullopt;
  // bf16 holds whole numbers up to 256; products of 16 sum up to 2^24 in f32.
  double bound = dtype_size(dtype) == 2 ? 2 : 16;
  Value low = constant(Literal::scalar(dtype, -bound)),
        high = constant(Literal::scalar(dtype, bound));
  return add(Op::kClamp, {low, v, high}, {}, type(v));
}

std::optional<Value> GraphBuilder::with_one_nan(Value v) {
  if (!is_float(type(v).dtype)) return v;
  Value nan = constant(Literal::scalar(type(v).dtype, std::numeric_limits<double>::quiet_NaN()));
  auto is_nan =
      add(Op::kCompare, {v, v}, CompareAttrs{ComparisonDirection::kNe, CompareType::kFloat},
          {DType::kBool, shape(v)});
  auto nans = add(Op::kBroadcastInDim, {nan}, BroadcastInDimAttrs{}, type(v));
  return is_nan && nans ? add(Op::kSelect, {*is_nan, *nans, v}, {}, type(v)) : std::nullopt;
}

std::optional<Value> GraphBuilder::add(Op op, std::vector<Value> operands, Attrs attrs,
                                       TensorType guess, std::vector<GraphPtr> regions,
                                       size_t results) {
  Node node{op,
            std::move(operands),
            Types(results, std::move(guess)),
            std::move(attrs),
            std::move(regions),
            ""};
  auto types = infer_types(graph_, node);
  if (!types.ok()) return std::nullopt;
  for (const TensorType& type : *types)
    if (num_elements(type.shape) > kMaxElements) return std::nullopt;
  node.types = *types;
  Precision precision = precision_of(node, precisions_);
  Value v = graph_.add(std::move(node));
  if (v.node < precisions_.size()) return v;  // an equal node was there
  precisions_.push_back(precision);
  for (uint32_t i = 0; i < types->size(); ++i) values_.push_back({v.node, i});
  return v;
}

Graph GraphBuilder::finish() {
  std::vector<Value> outputs;
  std::vector<std::vector<uint32_t>> users = graph_.users();
  for (uint32_t id = graph_.num_parameters(); id < graph_.nodes().size(); ++id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::kConstant || (!users[id].empty() && !chance(8))) continue;
    for (uint32_t i = 0; i < node.types.size(); ++i) outputs.push_back({id, i});
  }
  if (outputs.empty()) outputs.push_back(values_[0]);
  graph_.set_outputs(outputs);
  donate();
  return std::move(graph_);
}

// Some parameters are given up for outputs of their type.
void GraphBuilder::donate() {
  std::vector<bool> taken(graph_.outputs().size());
  for (uint32_t parameter = 0; parameter < graph_.num_parameters(); ++parameter)
    for (uint32_t k = 0; k < taken.size(); ++k) {
      if (taken[k] || graph_.type(graph_.outputs()[k]) != graph_.node(parameter).types[0] ||
          !chance(2))
        continue;
      graph_.donations.emplace_back(parameter, k);
      taken[k] = true;
      break;
    }
}

GraphPtr GraphBuilder::binary_region(Op op, DType dtype) {
  auto body = std::make_shared<Graph>();
  Value a = body->add_parameter({dtype, {}}), b = body->add_parameter({dtype, {}});
  body->set_outputs({add_op(*body, op, {a, b}, {dtype, {}})});
  return body;
}

GraphPtr GraphBuilder::compare_region(ComparisonDirection direction, DType dtype, size_t operands) {
  auto body = std::make_shared<Graph>();
  for (size_t i = 0; i < 2 * operands; ++i) body->add_parameter({dtype, {}});
  // By number, NaNs would have no place in an order, and any result of a sort were right.
  CompareAttrs attrs{direction,
                     is_float(dtype) ? CompareType::kTotalOrder : compare_type_of(dtype)};
  body->set_outputs({add_op(*body, Op::kCompare, {{0, 0}, {1, 0}}, {DType::kBool, {}}, attrs)});
  return body;
}

}  // namespace tuff::fuzz
