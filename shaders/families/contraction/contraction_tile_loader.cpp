#include "shaders/families/contraction/contraction_tile_loader.h"

#include <algorithm>

namespace tuff {

DType tile_word_type(DType element, int64_t run) { return run == 1 ? element : DType::kU64; }

std::vector<Operand> unpack_word(KernelBuilder& b, const Operand& word, DType element,
                                 int64_t run) {
  if (run == 1) return {word};
  Operand high =
      b.compute(Op::kShiftRightLogical, DType::kU64, {word, Operand::immediate(DType::kU64, 32)});
  return {b.bitcast(b.convert(word, DType::kU32), element),
          b.bitcast(b.convert(high, DType::kU32), element)};
}

Operand pack_word(KernelBuilder& b, std::span<const Operand> elements) {
  if (elements.size() == 1) return elements[0];
  return b.pack(elements[0], elements[1]);
}

std::vector<Operand> read_line(KernelBuilder& b, const SharedTile& tile, const Operand& step,
                               const IndexExpr& place, int64_t apart, int64_t count) {
  Operand line = b.compute(Op::kMultiply, DType::kI32, {step, Operand::i32(tile.pitch)});
  Operand origin = b.compute(Op::kAdd, DType::kI32, {line, b.index(tile.first + place)});
  IndexExpr at = b.symbol_for(origin, 0, b.array_count(tile.array) - 1);
  std::vector<Operand> elements;
  for (int64_t i = 0; i < count / tile.run; ++i) {
    Operand word = b.read(tile.array, b.stepped(at, i * apart));
    for (const Operand& element : unpack_word(b, word, tile.element, tile.run))
      elements.push_back(element);
  }
  return elements;
}

IndexExpr line_of(KernelBuilder& b, const IndexExpr& place, int64_t apart, int64_t run, int64_t i) {
  IndexExpr first = b.block_start(place, run, apart * run, true);
  return b.stepped(first, i / run * apart * run + i % run);
}

int64_t neighbours(int64_t n) {
  int64_t count = 1;
  while (2 * count <= kNeighbours && n % (2 * count) == 0) count *= 2;
  return count;
}

TileLoader::Unit TileLoader::choose_unit(const TileSchedule& s, const Operands& o,
                                         int64_t steps_together) {
  // The lanes have units, each the same number, and those of a line, or step, are shared out, too.
  auto shares_out = [&](const Unit& unit) {
    int64_t fast = o.along_k ? s.k / unit.steps : o.tile_lines / unit.lines;
    return s.k * o.tile_lines % (unit.lines * unit.steps * s.lanes()) == 0 && fast > 0 &&
           s.lanes() % fast == 0;
  };
  Unit unit{s.run, 1};
  if (o.along_k)
    unit.steps = steps_together;
  else if (!o.lines.empty())
    unit.lines = std::max(s.run, neighbours(o.lines.back()));
  while (unit.steps > 1 && !shares_out(unit)) unit.steps /= 2;
  while (unit.lines > s.run && !shares_out(unit)) unit.lines /= 2;
  TUFF_CHECK(shares_out(unit), "a tile's units do not share out evenly among the lanes");
  return unit;
}

TileLoader::TileLoader(GroupContext& group, KernelBuilder& b, const TileSchedule& schedule,
                       Operands operand, const IndexExpr& block, int64_t steps_together)
    : b_(b),
      s_(schedule),
      o_(std::move(operand)),
      unit_(choose_unit(s_, o_, steps_together)),
      lines_(group, b, o_.lines, o_.tile_lines, unit_.lines, !o_.along_k, block),
      fast_count_(o_.along_k ? s_.k / unit_.steps : o_.tile_lines / unit_.lines) {}

void TileLoader::prepare() {
  if (!o_.keep_parts) return;
  place_ = place_lane(b_, b_.begin_lanes(Operand::i32(s_.lanes())), fast_count_);
  for (int64_t unit = 0; unit < (o_.along_k ? units() : 1); ++unit)
    for (int64_t i = 0; i < unit_.lines; ++i) lines_.keep(run_of(unit), i);
  b_.end();
}

IndexExpr TileLoader::run_of(int64_t unit) {
  return o_.along_k ? b_.stepped(place_.slow, unit * stride()) : place_.fast;
}

IndexVector TileLoader::line(int64_t unit, int64_t i) {
  if (!o_.keep_parts) return lines_.at(run_of(unit), i);
  return lines_.kept(static_cast<size_t>((o_.along_k ? unit * unit_.lines : 0) + i));
}

std::vector<Operand> TileLoader::fetch(const IndexExpr& lane, const StepAt& step_at) {
  place(lane);
  std::vector<Operand> elements;
  for (int64_t unit = 0; unit < units(); ++unit) {
    IndexExpr k = o_.along_k ? place_.fast * unit_.steps : b_.stepped(place_.slow, unit * stride());
    std::vector<IndexVector> lines;
    for (int64_t i = 0; i < unit_.lines; ++i) lines.push_back(line(unit, i));
    KStep first = step_at(k);
    for (int64_t e = 0; e < unit_.steps; ++e) {
      // The same guard lets a unit's elements be one load.
      KStep step{e == 0 ? first.k : step_at(k + e).k, first.inside};
      for (const IndexVector& at : lines) elements.push_back(o_.load(at, step));
    }
  }
  return elements;
}

void TileLoader::put(uint32_t array, const std::vector<Operand>& elements, const IndexExpr& first) {
  int64_t run_words = unit_.lines / s_.run;  // side by side
  int64_t next_step = o_.along_k ? unit_.steps * pitch() : pitch();
  const IndexExpr& step = o_.along_k ? place_.fast : place_.slow;
  const IndexExpr& lines = o_.along_k ? place_.slow : place_.fast;
  Operand row = b_.compute(Op::kMultiply, DType::kI32, {b_.index(step), Operand::i32(next_step)});
  Operand origin = b_.compute(Op::kAdd, DType::kI32, {row, b_.index(first + lines * run_words)});
  IndexExpr at = b_.symbol_for(origin, 0, b_.array_count(array) - 1);
  int64_t next_unit = o_.along_k ? stride() * run_words : stride() * pitch();
  auto run = static_cast<size_t>(s_.run);
  for (size_t i = 0; i < elements.size() / run; ++i) {
    auto n = static_cast<int64_t>(i);
    int64_t word = n % run_words, e = n / run_words % unit_.steps;
    int64_t unit = n / (run_words * unit_.steps);
    Operand packed = pack_word(b_, std::span(elements).subspan(i * run, run));
    b_.write(array, b_.stepped(at, unit * next_unit + e * pitch() + word), packed);
  }
}

}  // namespace tuff
