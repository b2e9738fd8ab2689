#include "ir/evaluate/region.h"

#include <algorithm>

#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/ops.h"

namespace tuff::eval {

namespace {

bool is_scalar(const Node& node) {
  return std::all_of(node.types.begin(), node.types.end(),
                     [](const TensorType& type) { return type.shape.empty(); });
}

// Nodes that the cells can hold: leaves and elementwise ops on scalars.
bool is_scalar_step(const Node& node) {
  return is_scalar(node) && node.types.size() == 1 &&
         (node.op == Op::kParameter || node.op == Op::kConstant || is_elementwise(node.op));
}

}  // namespace

Status ScalarRegion::add_step(const Node& node, uint32_t id) {
  if (node.op == Op::kParameter) return {};
  if (node.op == Op::kConstant) {
    const auto& value = node.attrs.as<ConstantAttrs>().value;
    cells_[id] = load_cell(value.bytes(), value.size_bytes());
    return {};
  }
  DType operand = region_->type(node.operands[value_operand(node.op)]).dtype;
  TUFF_ASSIGN(ElementwiseFunction function, elementwise_function(node, operand));
  Step step{function, {}};
  for (size_t i = 0; i < node.operands.size(); ++i)
    step.call.operands[i] = cells_[node.operands[i].node].bytes;
  step.call.result = cells_[id].bytes;
  step.call.count = 1;
  set_precision(node, &step.call);
  steps_.push_back(step);
  return {};
}

Result<ScalarRegion> ScalarRegion::compile(const Graph& region) {
  ScalarRegion compiled;
  compiled.region_ = &region;
  compiled.num_parameters_ = region.num_parameters();
  const auto& nodes = region.nodes();
  compiled.walked_ = !std::all_of(nodes.begin(), nodes.end(), is_scalar_step);
  if (compiled.walked_) return compiled;
  // Steps point into cells_, whose memory moves with the vector.
  compiled.cells_.resize(nodes.size());
  for (uint32_t id = 0; id < nodes.size(); ++id)
    TUFF_RETURN_IF_ERROR(compiled.add_step(nodes[id], id));
  for (Value v : region.outputs()) compiled.outputs_.push_back(v.node);
  return compiled;
}

Status ScalarRegion::run(const Cell* arguments, Cell* results) {
  if (walked_) return run_graph(arguments, results);
  std::copy_n(arguments, num_parameters_, cells_.begin());
  for (const Step& step : steps_) step.function(step.call);
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = cells_[outputs_[i]];
  return {};
}

Status ScalarRegion::run_graph(const Cell* arguments, Cell* results) {
  Literals literals;
  for (uint32_t i = 0; i < num_parameters_; ++i) {
    Literal literal(region_->node(i).types[0]);
    store_cell(arguments[i], literal.mutable_bytes(), literal.size_bytes());
    literals.push_back(std::move(literal));
  }
  TUFF_ASSIGN(Literals outputs, evaluate(*region_, literals));
  for (size_t i = 0; i < outputs.size(); ++i)
    results[i] = load_cell(outputs[i].bytes(), outputs[i].size_bytes());
  return {};
}

std::optional<Op> single_op(const Graph& region) {
  if (region.num_parameters() != 2 || region.outputs().size() != 1) return std::nullopt;
  Value output = region.outputs()[0];
  const Node& node = region.node(output);
  // In node order the parameters are 0 and 1; other nodes may be dead.
  bool both = node.operands == std::vector<Value>{{0, 0}, {1, 0}} ||
              node.operands == std::vector<Value>{{1, 0}, {0, 0}};
  if (!both || !node.types[0].shape.empty()) return std::nullopt;
  bool boolean = node.types[0].dtype == DType::kBool;
  switch (node.op) {
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kMaximum:
    case Op::kMinimum: return node.op;
    // On booleans these are minimum and maximum.
    case Op::kAnd: return boolean ? std::optional(Op::kMinimum) : std::nullopt;
    case Op::kOr: return boolean ? std::optional(Op::kMaximum) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace tuff::eval
