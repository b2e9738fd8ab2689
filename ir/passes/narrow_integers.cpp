#include "ir/passes/narrow_integers.h"

#include <algorithm>
#include <map>

#include "ir/integer_range.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

bool is_wide(DType dtype) { return dtype == DType::kI64 || dtype == DType::kU64; }

// Ops whose result is the same in i32 where operands and result are values of i32. (Not those
// that see the width: shift_left, popcnt, count_leading_zeros.)
bool keeps_values(const Node& node) {
  switch (node.op) {
    case Op::kAbs:
    case Op::kAdd:
    case Op::kAnd:
    case Op::kClamp:
    case Op::kDivide:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kMultiply:
    case Op::kNegate:
    case Op::kNot:
    case Op::kOr:
    case Op::kRemainder:
    case Op::kSelect:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical:
    case Op::kSign:
    case Op::kSubtract:
    case Op::kXor:
    case Op::kBroadcastInDim:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kPad:
    case Op::kConcatenate: return true;
    default: return false;
  }
}

// Which operands are indices: [first, last).
std::pair<size_t, size_t> index_operands(const Node& node) {
  size_t count = node.operands.size();
  switch (node.op) {
    case Op::kGather: return {1, 2};
    case Op::kDynamicSlice: return {1, count};
    case Op::kDynamicUpdateSlice: return {2, count};
    case Op::kScatter: return {count / 2, count / 2 + 1};
    default: return {0, 0};
  }
}

Graph narrow_graph(const Graph& graph);

class Narrower {
 public:
  std::optional<std::vector<Value>> rewrite(const RewriteSite& site) {
    for (Value v : site.node.operands) ranges_.of(site.out, v);
    switch (site.node.op) {
      case Op::kCompare: return compare(site);
      case Op::kConvert: return convert(site);
      case Op::kWhile:
      case Op::kIf:
      case Op::kCase: return with_regions(site);
      default: return indices(site);
    }
  }

 private:
  bool fits(const Graph& graph, Value v) {
    return is_wide(graph.type(v).dtype) && ranges_.of(graph, v).within(kRangeOfI32);
  }

  std::optional<std::vector<Value>> compare(const RewriteSite& site) {
    Node node = site.node;
    if (!fits(site.out, node.operands[0]) || !fits(site.out, node.operands[1])) return std::nullopt;
    for (Value& v : node.operands) v = narrow(site.out, v);
    if (node.attrs.as<CompareAttrs>().compare_type != CompareType::kNoType)
      node.attrs.edit<CompareAttrs>().compare_type = CompareType::kSigned;
    return std::vector<Value>{site.out.add(std::move(node))};
  }

  std::optional<std::vector<Value>> convert(const RewriteSite& site) {
    Value v = site.node.operands[0];
    if (!fits(site.out, v)) return std::nullopt;
    Value i32 = narrow(site.out, v);
    if (site.node.types[0].dtype == DType::kI32) return std::vector<Value>{i32};
    return std::vector<Value>{site.add(Op::kConvert, {i32}, site.node.types[0])};
  }

  // A node takes its indices in one type.
  std::optional<std::vector<Value>> indices(const RewriteSite& site) {
    auto [first, last] = index_operands(site.node);
    if (first == last) return std::nullopt;
    Node node = site.node;
    for (size_t i = first; i < last; ++i)
      if (!fits(site.out, node.operands[i])) return std::nullopt;
    for (size_t i = first; i < last; ++i) node.operands[i] = narrow(site.out, node.operands[i]);
    return results_of(site, std::move(node));
  }

  std::optional<std::vector<Value>> with_regions(const RewriteSite& site) {
    Node node = site.node;
    for (GraphPtr& region : node.regions)
      region = std::make_shared<const Graph>(narrow_graph(*region));
    return results_of(site, std::move(node));
  }

  static std::vector<Value> results_of(const RewriteSite& site, Node node) {
    size_t count = node.types.size();
    uint32_t id = site.out.add(std::move(node)).node;
    std::vector<Value> results;
    for (uint32_t r = 0; r < count; ++r) results.push_back({id, r});
    return results;
  }

  // The value, which fits, in i32.
  Value narrow(Graph& graph, Value v, int depth = 0) {
    auto it = narrowed_.find(v);
    if (it == narrowed_.end()) it = narrowed_.emplace(v, made_narrow(graph, v, depth)).first;
    return it->second;
  }

  Value made_narrow(Graph& graph, Value v, int depth) {
    constexpr int kDeepest = 100;  // of the recursion; longer chains are cut by a convert
    Node node = graph.node(v);
    TensorType type{DType::kI32, graph.type(v).shape};
    if (node.op == Op::kConstant) {
      const auto& wide = node.attrs.as<ConstantAttrs>().value;
      Literal literal(type);
      for (int64_t i = 0; i < literal.num_elements(); ++i) literal.set_int(i, wide.get_int(i));
      return add_constant(graph, std::move(literal), node.loc);
    }
    if (node.op == Op::kIota) return add_op(graph, node.op, {}, type, node.attrs, node.loc);
    if (node.op == Op::kConvert && !is_wide(graph.type(node.operands[0]).dtype)) {
      Value origin = node.operands[0];
      if (graph.type(origin).dtype == DType::kI32) return origin;
      return add_op(graph, Op::kConvert, {origin}, type, {}, node.loc);
    }
    // i64 to u64 or back, of a value that both hold.
    if (node.op == Op::kConvert && fits(graph, node.operands[0]))
      return narrow(graph, node.operands[0], depth + 1);
    auto can = [&](Value operand) {
      return !is_wide(graph.type(operand).dtype) || fits(graph, operand);
    };
    if (depth == kDeepest || !keeps_values(node) ||
        !std::all_of(node.operands.begin(), node.operands.end(), can))
      return add_op(graph, Op::kConvert, {v}, type, {}, node.loc);
    for (Value& operand : node.operands)
      if (is_wide(graph.type(operand).dtype)) operand = narrow(graph, operand, depth + 1);
    return add_op(graph, node.op, node.operands, type, node.attrs, node.loc);
  }

  IntegerRanges ranges_;
  std::map<Value, Value> narrowed_;
};

Graph narrow_graph(const Graph& graph) {
  Narrower narrower;
  return rewrite_graph(
      graph, [&](const RewriteSite& site) { return narrower.rewrite(site); },
      RewriteRegions::kNone);
}

}  // namespace

Result<Graph> narrow_integers(const Graph& graph, const PassContext&) {
  return narrow_graph(graph);
}

}  // namespace tuff
