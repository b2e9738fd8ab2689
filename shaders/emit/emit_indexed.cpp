// Values that are read at data-dependent places, or put together from bits.
#include <algorithm>

#include "ir/group/group_space.h"
#include "shaders/emit/emit_value.h"

namespace tuff {

IndexExpr ValueEmitter::emit_start(Value start, const IndexVector& index, int64_t low, int64_t high,
                                   const Guard& guard) {
  if (low == high) return low;
  Operand value = emit(start, index, guard);
  // A narrow type may not hold the bounds.
  if (dtype_size(value.dtype) < 4) value = builder_.convert(value, DType::kI32);
  if (is_unsigned_int(value.dtype)) low = std::max<int64_t>(low, 0);
  auto bound = [&](int64_t limit) {
    if (value.dtype == DType::kI32) return builder_.size(limit);
    Literal literal = Literal::scalar(value.dtype, 0);
    literal.set_int(0, limit);
    return immediate_of(literal);
  };
  value = builder_.compute(Op::kClamp, value.dtype, {bound(low), value, bound(high)});
  return builder_.symbol_for(builder_.convert(value, DType::kI32), low, high);
}

Operand ValueEmitter::emit_indexed_load(const Node& node, const IndexVector& index,
                                        const Guard& guard) {
  IndexedLoad load = indexed_load(region_, node, index);
  IndexVector at = load.base;
  for (size_t c = 0; c < load.start_operand.size(); ++c) {
    auto d = static_cast<size_t>(load.start_dim[c]);
    at[d] = at[d] + emit_start(node.operands[load.start_operand[c]], load.start_index[c], 0,
                               load.start_max[c], guard);
  }
  return emit(node.operands[0], at, guard);
}

Operand ValueEmitter::emit_update_slice(const Node& node, const IndexVector& index,
                                        const Guard& guard) {
  const TensorType& update = region_.type(node.operands[1]);
  if (update.num_elements() == 0) return emit(node.operands[0], index, guard);
  std::vector<int64_t> max = update_start_max(region_, node);
  IndexVector at;
  std::vector<IndexCondition> inside;
  for (size_t d = 0; d < index.size(); ++d) {
    at.push_back(index[d] - emit_start(node.operands[2 + d], {}, 0, max[d], guard));
    inside.push_back({at[d], IndexCondition::Kind::kNonNegative});
    inside.push_back({IndexExpr(update.shape[d] - 1) - at[d], IndexCondition::Kind::kNonNegative});
  }
  Guard hit = builder_.all_of(inside, std::nullopt);
  Operand value = emit(node.operands[1], at, builder_.all_of(inside, guard));
  if (!hit) return value;
  return builder_.compute(Op::kSelect, node.types[0].dtype,
                          {*hit, value, emit(node.operands[0], index, guard)});
}

namespace {

DType unsigned_of(int64_t bytes) {
  return bytes == 1   ? DType::kU8
         : bytes == 2 ? DType::kU16
         : bytes == 4 ? DType::kU32
                      : DType::kU64;
}

}  // namespace

// Narrow parts of a wide element stand in the last dimension, least significant first.
Operand ValueEmitter::emit_bitcast(const Node& node, const IndexVector& index, const Guard& guard) {
  DType from = region_.type(node.operands[0]).dtype, to = node.types[0].dtype;
  DType from_bits = unsigned_of(dtype_size(from)), to_bits = unsigned_of(dtype_size(to));
  DType wide = dtype_size(from) > dtype_size(to) ? from_bits : to_bits;
  if (dtype_size(wide) < 4) wide = DType::kU32;
  int64_t part_bits = 8 * std::min(dtype_size(from), dtype_size(to));
  std::vector<IndexVector> sources = bitcast_sources(region_, node, index);
  std::optional<Operand> bits;
  for (size_t part = 0; part < sources.size(); ++part) {
    Operand value = builder_.bitcast(emit(node.operands[0], sources[part], guard), from_bits);
    value = builder_.convert(value, wide);
    Operand shift = Operand::immediate(wide, part * static_cast<uint64_t>(part_bits));
    if (part > 0) value = builder_.compute(Op::kShiftLeft, wide, {value, shift});
    bits = bits ? builder_.compute(Op::kOr, wide, {*bits, value}) : value;
  }
  if (dtype_size(to) < dtype_size(from)) {
    Operand part = builder_.convert(builder_.index(index.back() * part_bits), wide);
    bits = builder_.compute(Op::kShiftRightLogical, wide, {*bits, part});
  }
  return builder_.bitcast(builder_.convert(*bits, to_bits), to);
}

}  // namespace tuff
