#include "tests/fuzz/sketch.h"

#include <algorithm>
#include <numeric>

#include "ir/infer/infer.h"
#include "ir/support/result.h"

namespace tuff::fuzz {

// An operation whose result is a view, with the type it is a view of.
struct Sketch::Step {
  Op op;
  TensorType from;
  Attrs attrs;
};

Sketch::Place Sketch::push(Item item) {
  items_.push_back(std::move(item));
  return items_.size() - 1;
}

Sketch::Place Sketch::parameter(TensorType type, const std::string& name) {
  Item item;
  item.node.op = Op::kParameter;
  item.node.types = {std::move(type)};
  item.name = name;
  return push(std::move(item));
}

Sketch::Place Sketch::constant(Literal literal) {
  Item item;
  item.node.op = Op::kConstant;
  item.node.types = {literal.type()};
  item.value = std::move(literal);
  return push(std::move(item));
}

std::optional<Sketch::Place> Sketch::add(Op op, const std::vector<Place>& operands, Attrs attrs,
                                         TensorType guess, std::vector<GraphPtr> regions) {
  Item item;
  Types operand_types;
  for (Place p : operands) {
    item.node.operands.push_back({static_cast<uint32_t>(p), 0});
    operand_types.push_back(type(p));
  }
  item.node.op = op;
  item.node.types = {std::move(guess)};
  item.node.attrs = std::move(attrs);
  item.node.regions = std::move(regions);
  auto types = infer_types(item.node, operand_types);
  if (!types.ok() || (*types)[0].num_elements() > GraphBuilder::kMaxElements) return std::nullopt;
  item.node.types = *types;
  return push(std::move(item));
}

Sketch::Place Sketch::must_add(Op op, const std::vector<Place>& operands, Attrs attrs,
                               TensorType guess, std::vector<GraphPtr> regions) {
  auto place = add(op, operands, std::move(attrs), std::move(guess), std::move(regions));
  TUFF_CHECK(place.has_value(),
             std::string("a sketched operation is ill-typed or large: ") + op_name(op));
  return *place;
}

// Chosen so that the view is well-typed; the reshape to itself where a choice does not apply.
Sketch::Step Sketch::step_back(GraphBuilder& b, const TensorType& type) {
  const Shape& to = type.shape;
  size_t rank = to.size();
  Step same{Op::kReshape, type, {}};
  switch (b.pick(7)) {
    case 0: {
      Ints order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), b.random());
      Step step{Op::kTranspose, type, TransposeAttrs{order}};
      for (size_t d = 0; d < rank; ++d) step.from.shape[static_cast<size_t>(order[d])] = to[d];
      return step;
    }
    case 1: {
      if (rank == 0) return same;
      Ints starts(rank, 0), limits = to, strides(rank, 1);
      Step step{Op::kSlice, type, {}};
      auto d = static_cast<size_t>(b.pick(static_cast<int64_t>(rank)));
      if (to[d] == 0) return same;
      starts[d] = b.pick(3), strides[d] = 1 + b.pick(2);
      limits[d] = starts[d] + (to[d] - 1) * strides[d] + 1;
      step.from.shape[d] = limits[d] + b.pick(3);
      if (step.from.num_elements() > GraphBuilder::kMaxElements) return same;
      step.attrs = SliceAttrs{.start_indices = starts, .limit_indices = limits, .strides = strides};
      return step;
    }
    case 2: {
      Ints dims;
      for (size_t d = 0; d < rank; ++d)
        if (b.chance(2)) dims.push_back(static_cast<int64_t>(d));
      return {Op::kReverse, type, DimensionsAttrs{dims}};
    }
    case 3: {
      Step step{Op::kBroadcastInDim, {type.dtype, {}}, {}};
      Ints dims;
      for (size_t d = 0; d < rank; ++d) {
        if (b.chance(3)) continue;
        dims.push_back(static_cast<int64_t>(d));
        step.from.shape.push_back(to[d] != 0 && b.chance(6) ? 1 : to[d]);
      }
      step.attrs = BroadcastInDimAttrs{dims};
      return step;
    }
    case 4: {  // two dimensions were one, or all were
      if (rank < 2) return same;
      Step step = same;
      auto d = b.pick(static_cast<int64_t>(rank) - 1);
      step.from.shape[static_cast<size_t>(d)] *= to[static_cast<size_t>(d) + 1];
      step.from.shape.erase(step.from.shape.begin() + d + 1);
      if (b.chance(3)) step.from.shape = {num_elements(to)};
      return step;
    }
    case 5: {  // one dimension was two
      if (rank == 0) return same;
      Step step = same;
      auto d = b.pick(static_cast<int64_t>(rank));
      int64_t& size = step.from.shape[static_cast<size_t>(d)];
      int64_t inner = size % 2 == 0 && size > 0 ? 2 : 1;
      size /= inner;
      step.from.shape.insert(step.from.shape.begin() + d + 1, inner);
      return step;
    }
    default: {
      if (type.dtype != DType::kF32) return same;
      return {Op::kConvert, {b.chance(2) ? DType::kBF16 : DType::kF16, to}, {}};
    }
  }
}

Sketch::Place Sketch::view(GraphBuilder& b, TensorType type, const std::string& name) {
  std::vector<std::pair<Step, TensorType>> steps;  // the last first
  for (int64_t count = b.chance(2) ? 0 : 1 + b.pick(2); count > 0; --count) {
    Step step = step_back(b, type);
    TensorType from = step.from;
    steps.emplace_back(std::move(step), type);
    type = std::move(from);
  }
  Place place = parameter(type, name);
  for (size_t i = steps.size(); i-- > 0;)
    place = must_add(steps[i].first.op, {place}, steps[i].first.attrs, steps[i].second);
  return place;
}

Sketch::Place Sketch::repeated(GraphBuilder& b, const TensorType& type,
                               const std::vector<bool>& kept, const std::string& name) {
  TensorType from{type.dtype, {}};
  Ints dims;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!kept[d]) continue;
    dims.push_back(static_cast<int64_t>(d));
    from.shape.push_back(type.shape[d]);
  }
  Place place = view(b, from, name);
  if (dims.size() == kept.size()) return place;
  return must_add(Op::kBroadcastInDim, {place}, BroadcastInDimAttrs{dims}, type);
}

void Sketch::add_parameters(GraphBuilder& b) {
  made_.resize(items_.size());
  for (size_t i = 0; i < items_.size(); ++i)
    if (items_[i].node.op == Op::kParameter) made_[i] = b.parameter(type(i), items_[i].name);
}

void Sketch::add_operations(GraphBuilder& b) const {
  std::vector<std::optional<Value>> made = made_;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (made[i]) continue;
    if (item.value) {
      made[i] = b.constant(*item.value);
      continue;
    }
    std::vector<Value> operands;
    for (Value place : item.node.operands) operands.push_back(*made[place.node]);
    made[i] = b.add(item.node.op, operands, item.node.attrs, type(i), item.node.regions);
    TUFF_CHECK(made[i].has_value(), "a sketched operation is ill-typed or large");
  }
}

}  // namespace tuff::fuzz
