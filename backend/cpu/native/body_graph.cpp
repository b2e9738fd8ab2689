#include "backend/cpu/native/body_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "backend/cpu/native/body_reader.h"
#include "shaders/prelude/prelude_text.h"

namespace tuff::cpu::native {

namespace {

// Arms shorter than this are cheaper than a branch.
constexpr size_t kLeastDetour = 24;

bool is_leaf(const BodyNode& node) {
  return node.prim == Prim::kArgument || node.prim == Prim::kConstant;
}

// The nodes that only this arm of these selects needs.
size_t count_nodes_of_arm(const BodyGraph& graph, const std::vector<uint16_t>& selects,
                          size_t arm) {
  std::vector<bool> inside(graph.nodes.size(), true);
  inside[graph.result] = false;
  size_t count = 0;
  for (size_t id = graph.nodes.size(); id-- > 0;) {
    const BodyNode& node = graph.nodes[id];
    bool within = inside[id] && !is_leaf(node);
    count += within;
    bool select = std::find(selects.begin(), selects.end(), id) != selects.end();
    for (size_t i = 0; i < static_cast<size_t>(arity_of(node.prim)); ++i)
      if (!within && !(select && i == arm)) inside[node.in[i]] = false;
  }
  return count;
}

std::vector<bool> live_nodes(const BodyGraph& graph) {
  std::vector<bool> live(graph.nodes.size());
  live[graph.result] = true;
  for (size_t id = graph.nodes.size(); id-- > 0;)
    for (int i = 0; live[id] && i < arity_of(graph.nodes[id].prim); ++i)
      live[graph.nodes[id].in[static_cast<size_t>(i)]] = true;
  return live;
}

void find_detour(BodyGraph& graph) {
  std::map<uint16_t, std::vector<uint16_t>> by_condition;
  for (size_t id = 0; id < graph.nodes.size(); ++id)
    if (graph.nodes[id].prim == Prim::kSelect)
      by_condition[graph.nodes[id].in[0]].push_back(static_cast<uint16_t>(id));
  size_t longest = kLeastDetour - 1;
  for (const auto& [condition, selects] : by_condition) {
    if (selects.size() < 2) continue;  // one picks out special values, which are rare
    for (size_t arm : {size_t{1}, size_t{2}}) {
      size_t nodes = count_nodes_of_arm(graph, selects, arm);
      if (nodes <= longest) continue;
      longest = nodes;
      graph.detour = {condition, arm == 1};
    }
  }
}

void drop_dead(BodyGraph& graph) {
  std::vector<bool> live = live_nodes(graph);
  std::vector<uint16_t> renumbered(graph.nodes.size());
  size_t kept = 0;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (!live[id]) continue;
    BodyNode node = graph.nodes[id];
    for (uint16_t& in : node.in) in = renumbered[in];
    renumbered[id] = static_cast<uint16_t>(kept);
    graph.nodes[kept++] = node;
  }
  graph.nodes.resize(kept);
  graph.result = renumbered[graph.result];
}

// Graphs of texts already read; null where it cannot be.
const BodyGraph* kept_graph(int what, DType first, DType second,
                            const std::function<bool(BodyReader&)>& read) {
  static std::mutex mutex;
  static std::map<std::tuple<int, DType, DType>, std::unique_ptr<BodyGraph>> kept;
  std::lock_guard lock(mutex);
  auto [it, fresh] = kept.try_emplace({what, first, second});
  if (!fresh) return it->second.get();
  BodyReader reader;
  if (read(reader)) {
    it->second = std::make_unique<BodyGraph>(reader.take());
    drop_dead(*it->second);
    find_detour(*it->second);
  }
  return it->second.get();
}

}  // namespace

int arity_of(Prim prim) {
  switch (prim) {
    case Prim::kArgument:
    case Prim::kConstant: return 0;
    case Prim::kSqrtF:
    case Prim::kFloorF:
    case Prim::kCeilF:
    case Prim::kTruncF:
    case Prim::kRoundF:
    case Prim::kFloatFromSigned:
    case Prim::kFloatFromUnsigned:
    case Prim::kSignedFromFloat: return 1;
    case Prim::kFmaF:
    case Prim::kSelect: return 3;
    default: return 2;
  }
}

std::optional<Kind> kind_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32: return Kind::kFloat;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32: return Kind::kSigned;
    case DType::kU8:
    case DType::kU16:
    case DType::kU32: return Kind::kUnsigned;
    case DType::kBool: return Kind::kBool;
    default: return std::nullopt;
  }
}

const BodyGraph* body_graph(Op op, DType dtype) {
  return kept_graph(static_cast<int>(op), dtype, dtype, [&](BodyReader& reader) {
    const OpInfo& info = op_info(op);
    const char* text = op_body(op, dtype);
    if (text == nullptr || info.type_rule == TypeRule::kPrecision) return false;
    bool select = info.type_rule == TypeRule::kSelect;
    Kind kind = *kind_of(dtype);
    std::vector<Kind> kinds{select ? Kind::kBool : kind, kind, kind};
    Kind result = info.type_rule == TypeRule::kPredicate    ? Kind::kBool
                  : info.type_rule == TypeRule::kTotalOrder ? Kind::kSigned
                                                            : kind;
    return reader.read(text, kinds, kind, result, static_cast<uint32_t>(8 * dtype_size(dtype)));
  });
}

const BodyGraph* convert_graph(DType from, DType to) {
  return kept_graph(-1, from, to, [&](BodyReader& reader) {
    Kind first = *kind_of(from), second = *kind_of(to);
    // The processor rounds to nearest.
    bool plain = first == Kind::kSigned && second == Kind::kFloat;
    std::string text = plain ? "float(a)" : convert_expression(from, to, "a");
    return reader.read(text, {first}, first, second);
  });
}

}  // namespace tuff::cpu::native
