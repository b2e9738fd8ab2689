// Branches that are known are taken, constants live inside the regions that use
// them, values a loop only hands on are read from outside.
#include <algorithm>

#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

Values inlined(const RewriteSite& site, const Graph& region, size_t first_operand) {
  std::span<const Value> arguments(site.node.operands);
  return inline_region(site.out, region, arguments.subspan(first_operand));
}

Values branch_known(const RewriteSite& site) {
  auto last = static_cast<int64_t>(site.node.regions.size()) - 1;
  if (site.node.op == Op::kCase && last == 0) return inlined(site, *site.node.regions[0], 1);
  const Literal* index = splat_value(site.out, site.node.operands[0]);
  if (!index) return std::nullopt;
  int64_t taken = index->get_int(0);
  // if: the first region is for true. case: what is out of range takes the last.
  if (site.node.op == Op::kIf) taken = taken ? 0 : 1;
  if (taken < 0 || taken > last) taken = last;
  return inlined(site, *site.node.regions[static_cast<size_t>(taken)], 1);
}

// Both branches together may cost this many elementwise operations before one is chosen.
constexpr int kMaxSelectedOps = 8;

// Operations that cost about as much as reading their operands.
bool is_cheap(Op op) {
  switch (op) {
    case Op::kAbs:
    case Op::kAdd:
    case Op::kAnd:
    case Op::kClamp:
    case Op::kCompare:
    case Op::kConvert:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kMultiply:
    case Op::kNegate:
    case Op::kNot:
    case Op::kOr:
    case Op::kSelect:
    case Op::kSubtract:
    case Op::kXor: return true;
    default: return false;
  }
}

int selected_ops(const Graph& branch) {
  int ops = 0;
  for (const Node& node : branch.nodes()) {
    if (node.op == Op::kParameter || node.op == Op::kConstant || node.op == Op::kBroadcastInDim)
      continue;
    ops += is_cheap(node.op) ? 1 : kMaxSelectedOps + 1;
  }
  return ops;
}

// Two cheap branches are both computed, element by element, and one is chosen: nobody
// has to wait for the predicate.
Values select_between(const RewriteSite& site) {
  if (site.node.regions.size() != 2 ||
      selected_ops(*site.node.regions[0]) + selected_ops(*site.node.regions[1]) > kMaxSelectedOps)
    return std::nullopt;
  std::vector<Value> first = *inlined(site, *site.node.regions[0], 1);
  std::vector<Value> second = *inlined(site, *site.node.regions[1], 1);
  Value takes_first = site.node.operands[0];
  if (site.node.op == Op::kCase) {
    takes_first =
        site.add(Op::kCompare, {takes_first, site.constant(Literal::scalar(DType::kI32, 0))},
                 {DType::kBool, {}}, CompareAttrs{ComparisonDirection::kEq});
  }
  std::vector<Value> results;
  for (size_t i = 0; i < first.size(); ++i) {
    TensorType type = site.out.type(first[i]);
    Value predicate =
        type.rank() == 0 ? takes_first : add_broadcast(site, takes_first, type.shape, {});
    results.push_back(site.add(Op::kSelect, {predicate, first[i], second[i]}, type));
  }
  return results;
}

bool is_invariant(const Graph& body, size_t i) {
  return body.outputs()[i] == Value{static_cast<uint32_t>(i), 0};
}

// The condition is false from the start.
bool never_runs(const Node& loop) {
  const Graph& condition = *loop.regions[0];
  const Literal* value = splat_value(condition, condition.outputs()[0]);
  return value && value->get_int(0) == 0 && !condition.has_side_effects();
}

// A carried value that the body hands on unchanged is the operand it started as.
// Answers only while someone still reads the result, so that it comes to rest.
Values loop_results_from_outside(const RewriteSite& site) {
  if (site.node.op != Op::kWhile) return std::nullopt;
  if (never_runs(site.node)) return site.node.operands;
  const Graph& body = *site.node.regions[1];
  std::vector<Value> results;
  for (size_t i = 0; i < site.node.operands.size(); ++i)
    if (is_invariant(body, i)) results.push_back(site.node.operands[i]);
  if (results.empty()) return std::nullopt;
  Value loop = site.out.add(site.node);
  results.clear();
  for (uint32_t i = 0; i < site.node.operands.size(); ++i)
    results.push_back(is_invariant(body, i) ? site.node.operands[i] : Value{loop.node, i});
  return results;
}

// The region with parameter i read from a scalar constant instead.
GraphPtr with_constants(const Graph& region, const std::vector<const Literal*>& constants) {
  Graph out;
  out.name = region.name;
  std::vector<Value> parameters(region.num_parameters()), map(region.nodes().size());
  for (uint32_t i = 0; i < region.num_parameters(); ++i)
    parameters[i] =
        out.add_parameter(region.node(i).types[0], region.parameter_name(i), region.node(i).loc);
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    Node node = region.node(id);
    if (id < region.num_parameters()) {
      map[id] = parameters[id];
      if (!constants[id]) continue;
      map[id] = add_constant(out, scalar_of(*constants[id]), node.loc);
      if (node.types[0].rank() == 0) continue;
      map[id] = add_op(out, Op::kBroadcastInDim, {map[id]}, node.types[0], BroadcastInDimAttrs{},
                       node.loc);
      continue;
    }
    for (Value& v : node.operands) v = {map[v.node].node, v.result};
    map[id] = out.add(std::move(node));
  }
  std::vector<Value> outputs;
  for (Value v : region.outputs()) outputs.push_back({map[v.node].node, v.result});
  out.set_outputs(std::move(outputs), region.output_names());
  return std::make_shared<const Graph>(std::move(out));
}

bool reads_parameter(const Graph& region, uint32_t parameter) {
  for (const Node& node : region.nodes())
    for (Value v : node.operands)
      if (v.node == parameter) return true;
  return false;
}

// A splat constant passed into regions is made there anew: nothing to carry, and
// trip counts are seen where they are compared.
Values sink_constants(const RewriteSite& site) {
  bool loop = site.node.op == Op::kWhile;
  size_t first = loop ? 0 : 1;
  std::vector<const Literal*> constants;
  bool any = false;
  for (size_t i = first; i < site.node.operands.size(); ++i) {
    auto parameter = static_cast<uint32_t>(i - first);
    const Literal* value = splat_value(site.out, site.node.operands[i]);
    if (loop && !is_invariant(*site.node.regions[1], i)) value = nullptr;
    bool read = false;
    for (const GraphPtr& region : site.node.regions) {
      read |= reads_parameter(*region, parameter);
      for (Value v : region->outputs()) read |= !loop && v.node == parameter;
    }
    constants.push_back(read ? value : nullptr);
    any |= constants.back() != nullptr;
  }
  if (!any) return std::nullopt;
  Node node = site.node;
  for (GraphPtr& region : node.regions) {
    auto sunk = with_constants(*region, constants);
    // What the loop carries is still handed on, as the parameter it was.
    if (loop && region == site.node.regions[1]) {
      Graph body = *sunk;
      std::vector<Value> outputs = body.outputs();
      for (uint32_t i = 0; i < outputs.size(); ++i)
        if (constants[i]) outputs[i] = {i, 0};
      body.set_outputs(std::move(outputs), body.output_names());
      sunk = std::make_shared<const Graph>(std::move(body));
    }
    region = std::move(sunk);
  }
  std::vector<Value> results;
  size_t count = node.types.size();
  Value made = site.out.add(std::move(node));
  for (uint32_t r = 0; r < count; ++r) results.push_back({made.node, r});
  return results;
}

}  // namespace

Values control_flow(const RewriteSite& site) {
  if (site.node.op == Op::kIf || site.node.op == Op::kCase) {
    if (Values values = branch_known(site)) return values;
    if (Values values = select_between(site)) return values;
    return sink_constants(site);
  }
  if (site.node.op != Op::kWhile) return std::nullopt;
  if (Values values = sink_constants(site)) return values;
  return loop_results_from_outside(site);
}

}  // namespace tuff::canonical
