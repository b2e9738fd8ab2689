#include "ir/ops/sort_keys.h"

#include <utility>

namespace tuff {

namespace {

class KeyFinder {
 public:
  explicit KeyFinder(const Graph& comparator) : comparator_(comparator) {
    const uint32_t parameters = comparator.num_parameters();
    for (uint32_t i = 0; i < parameters; i += 2)
      one_sided_.add_parameter(comparator.node(i).types[0]);
    for (std::vector<std::optional<Value>>& side : sides_) side.resize(comparator.nodes().size());
    for (uint32_t id = 0; id < comparator.nodes().size(); ++id)
      for (uint32_t side : {0, 1}) place(id, side);
  }

  // Of a value that says whether the left element comes before the right one.
  bool find(Value less, std::vector<SortKey>& keys) const {
    const Node& node = comparator_.node(less);
    if (std::optional<Comparison> c = comparison(less)) return add(*c, keys);
    if (node.op == Op::kSelect)
      return find_rest(node.operands[2], node.operands[0], node.operands[1], keys);
    if (node.op != Op::kOr) return false;
    for (size_t i : {0, 1}) {
      const Node& rest = comparator_.node(node.operands[1 - i]);
      if (rest.op != Op::kAnd || !comparison(node.operands[i])) continue;
      const size_t known = keys.size();
      for (size_t j : {0, 1}) {
        if (find_rest(node.operands[i], rest.operands[j], rest.operands[1 - j], keys)) return true;
        keys.resize(known);
      }
    }
    return false;
  }

 private:
  // Of the same key of both sides; "greater" has them exchanged.
  struct Comparison {
    Value key;  // of one_sided_
    ComparisonDirection direction = ComparisonDirection::kEq;
  };

  // The node as one of the elements alone has it, if it does: equal keys become one value.
  void place(uint32_t id, uint32_t side) {
    const Node& node = comparator_.node(id);
    std::optional<Value>& value = sides_[side][id];
    if (node.op == Op::kParameter) {
      if (id % 2 == side) value = Value{id / 2, 0};
      return;
    }
    if (node.types.size() != 1 || !node.regions.empty() || !is_pure(node.op)) return;
    Node copy = node;
    for (Value& operand : copy.operands) {
      if (!sides_[side][operand.node]) return;
      operand = *sides_[side][operand.node];
    }
    value = one_sided_.add(std::move(copy));
  }

  std::optional<Comparison> comparison(Value v) const {
    const Node& node = comparator_.node(v);
    if (node.op != Op::kCompare) return std::nullopt;
    const auto& attrs = node.attrs.as<CompareAttrs>();
    const DType dtype = comparator_.type(node.operands[0]).dtype;
    if (is_complex(dtype) || is_small(dtype)) return std::nullopt;
    if (is_float(dtype) && attrs.compare_type != CompareType::kTotalOrder) return std::nullopt;
    const uint32_t x = node.operands[0].node, y = node.operands[1].node;
    if (sides_[0][x] && sides_[0][x] == sides_[1][y])
      return Comparison{*sides_[0][x], attrs.comparison_direction};
    if (sides_[1][x] && sides_[1][x] == sides_[0][y])
      return Comparison{*sides_[1][x], exchanged(attrs.comparison_direction)};
    return std::nullopt;
  }
  static ComparisonDirection exchanged(ComparisonDirection direction) {
    if (direction == ComparisonDirection::kLt) return ComparisonDirection::kGt;
    if (direction == ComparisonDirection::kGt) return ComparisonDirection::kLt;
    return direction;
  }

  // What decides where `equal` holds, after a comparison of the same key.
  bool find_rest(Value first, Value equal, Value rest, std::vector<SortKey>& keys) const {
    std::optional<Comparison> c = comparison(first), same = comparison(equal);
    return c && same && same->direction == ComparisonDirection::kEq && same->key == c->key &&
           add(*c, keys) && find(rest, keys);
  }

  bool add(const Comparison& c, std::vector<SortKey>& keys) const {
    constexpr size_t kMostKeys = 64;
    if (keys.size() == kMostKeys) return false;
    const bool descending = c.direction == ComparisonDirection::kGt;
    if (!descending && c.direction != ComparisonDirection::kLt) return false;
    SortKey key{one_sided_, descending};
    key.graph.set_outputs({c.key});
    keys.push_back(std::move(key));
    return true;
  }

  const Graph& comparator_;
  Graph one_sided_;
  std::vector<std::optional<Value>> sides_[2];  // by node, in one_sided_
};

}  // namespace

std::optional<std::vector<SortKey>> sort_keys(const Graph& comparator) {
  std::vector<SortKey> keys;
  if (!KeyFinder(comparator).find(comparator.outputs()[0], keys)) return std::nullopt;
  return keys;
}

}  // namespace tuff
