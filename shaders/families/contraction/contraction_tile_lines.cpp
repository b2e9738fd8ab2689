#include "shaders/families/contraction/contraction_tile_lines.h"

#include <bit>

namespace tuff {

LanePlace place_lane(KernelBuilder& b, const IndexExpr& lane, int64_t by) {
  return place_number(b, lane, b.lanes(), by);
}

namespace {

// Of value / by = quotient. Of the low bits compilers know the range.
Operand remainder(KernelBuilder& b, const Operand& value, const Operand& quotient, int64_t by) {
  auto op = [&](Op o, const Operand& x, const Operand& y) {
    return b.compute(o, DType::kI32, {x, y});
  };
  if (std::has_single_bit(static_cast<uint64_t>(by)))
    return op(Op::kAnd, value, Operand::i32(by - 1));
  return op(Op::kSubtract, value, op(Op::kMultiply, quotient, Operand::i32(by)));
}

}  // namespace

LanePlace place_number(KernelBuilder& b, const IndexExpr& number, int64_t count, int64_t by) {
  if (by >= count) return {0, number};
  Operand value = b.index(number), step = Operand::i32(by);
  Operand slow = b.compute(Op::kIndexDiv, DType::kI32, {value, step});
  Operand fast = remainder(b, value, slow, by);
  return {b.symbol_for(slow, 0, (count - 1) / by), b.symbol_for(fast, 0, by - 1)};
}

TileLines::TileLines(GroupContext& group, KernelBuilder& b, Shape all, int64_t tile_lines,
                     int64_t run, bool clamp_whole, const IndexExpr& block)
    : group_(group),
      b_(b),
      all_(std::move(all)),
      run_(run),
      together_(clamp_whole && num_elements(all_) % run == 0 ? run : 1),
      units_(num_elements(all_) / together_),
      first_(b.block_start(block, tile_lines / together_, units_)) {}

IndexVector TileLines::at(const IndexExpr& run, int64_t i) {
  IndexExpr unit = together_ == run_ ? run : run * run_ + i;
  unit = b_.clamp_to(first_ + unit, units_ - 1);
  return delinearize(group_.index, together_ == 1 ? unit : unit * together_ + i, all_);
}

void TileLines::keep(const IndexExpr& run, int64_t i) {
  for (const IndexExpr& part : at(run, i)) {
    parts_.push_back(b_.add_array(Scope::kRegister, DType::kI32, 1));
    b_.write(parts_.back(), 0, b_.index(part));
  }
}

IndexVector TileLines::kept(size_t number) {
  IndexVector parts;
  for (size_t d = 0; d < all_.size(); ++d)
    parts.push_back(b_.symbol_for(b_.read(parts_[number * all_.size() + d], 0), 0, all_[d] - 1));
  return parts;
}

}  // namespace tuff
