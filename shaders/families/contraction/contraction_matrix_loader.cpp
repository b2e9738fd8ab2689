#include "shaders/families/contraction/contraction_matrix_loader.h"

namespace tuff {

// Units of more words than one are of neighbours that are all there or all outside.
int64_t MatrixTileLoader::choose_unit_words(const MatrixTileSchedule& s,
                                            const TileLoader::Operands& o, int64_t steps_together) {
  int64_t together = o.along_k ? steps_together : o.lines.empty() ? 1 : o.lines.back();
  int64_t slow = o.along_k ? o.tile_lines : s.depth, fast = o.along_k ? s.depth : o.tile_lines;
  for (int64_t words : {4, 2}) {
    int64_t elements = words * s.per_word;
    if (together % elements != 0 || fast % elements != 0) continue;
    if (slow * fast % (elements * s.lanes()) == 0 && s.lanes() % (fast / elements) == 0)
      return words;
  }
  return 1;
}

MatrixTileLoader::MatrixTileLoader(GroupContext& group, FamilyKernel& family,
                                   const MatrixTileSchedule& schedule, TileLoader::Operands operand,
                                   const IndexExpr& block, int64_t steps_together)
    : b_(family.builder),
      emitter_(family.emitter),
      s_(schedule),
      o_(std::move(operand)),
      whole_steps_(steps_together % s_.per_word == 0),
      unit_words_(choose_unit_words(s_, o_, steps_together)),
      lines_(group, b_, o_.lines, o_.tile_lines, o_.along_k ? 1 : unit_elements(), true, block),
      fast_count_((o_.along_k ? s_.depth : o_.tile_lines) / unit_elements()) {
  TUFF_CHECK(slow_count() * fast_count_ % s_.lanes() == 0 && s_.lanes() % fast_count_ == 0,
             "a tile's words do not share out evenly among the lanes");
}

void MatrixTileLoader::prepare() {
  if (!o_.keep_parts) return;
  place_ = place_lane(b_, b_.begin_lanes(Operand::i32(s_.lanes())), fast_count_);
  if (o_.along_k)
    for (int64_t unit = 0; unit < units(); ++unit) lines_.keep(slow_of(unit), 0);
  else
    for (int64_t i = 0; i < unit_elements(); ++i) lines_.keep(place_.fast, i);
  b_.end();
}

// The line, or the step, that the lane has a unit of.
IndexExpr MatrixTileLoader::slow_of(int64_t unit) {
  return b_.stepped(place_.slow, unit * (s_.lanes() / fast_count_));
}

IndexVector MatrixTileLoader::line(int64_t unit, int64_t i) {
  if (o_.keep_parts) return lines_.kept(static_cast<size_t>(o_.along_k ? unit : i));
  return lines_.at(o_.along_k ? slow_of(unit) : place_.fast, i);
}

std::vector<Operand> MatrixTileLoader::fetch(const IndexExpr& lane,
                                             const TileLoader::StepAt& step_at) {
  place_ = place_lane(b_, lane, fast_count_);
  std::vector<Operand> words;
  for (int64_t unit = 0; unit < units(); ++unit) {
    std::vector<Operand> elements;
    KStep first = step_at(o_.along_k ? place_.fast * unit_elements() : slow_of(unit));
    for (int64_t i = 0; i < unit_elements(); ++i) {
      KStep step = first;
      if (o_.along_k && i > 0) {
        step = step_at(place_.fast * unit_elements() + i);
        // The same guard lets the elements of a unit be one load.
        if (whole_steps_) step.inside = first.inside;
      }
      elements.push_back(o_.load(line(unit, o_.along_k ? 0 : i), step));
    }
    auto in_word = static_cast<size_t>(s_.per_word);
    for (size_t i = 0; i < elements.size(); i += in_word)
      words.push_back(pack(std::span(elements).subspan(i, in_word)));
  }
  return words;
}

Operand MatrixTileLoader::pack(std::span<const Operand> elements) {
  if (std::optional<Operand> word = emitter_.whole_word(elements)) return *word;
  int64_t bits = 32 / s_.per_word;
  DType narrow = bits == 16 ? DType::kU16 : DType::kU8;
  std::optional<Operand> word;
  for (size_t i = 0; i < elements.size(); ++i) {
    Operand part = b_.convert(b_.bitcast(elements[i], narrow), DType::kU32);
    Operand shift = Operand::immediate(DType::kU32, i * static_cast<uint64_t>(bits));
    if (i > 0) part = b_.compute(Op::kShiftLeft, DType::kU32, {part, shift});
    word = word ? b_.compute(Op::kOr, DType::kU32, {*word, part}) : part;
  }
  return *word;
}

void MatrixTileLoader::put(const IndexExpr& lane, uint32_t array,
                           const std::vector<Operand>& words) {
  place_ = place_lane(b_, lane, fast_count_);
  Operand row =
      b_.compute(Op::kMultiply, DType::kI32, {b_.index(place_.slow), Operand::i32(pitch())});
  Operand origin = b_.compute(Op::kAdd, DType::kI32, {row, b_.index(place_.fast * unit_words_)});
  IndexExpr at = b_.symbol_for(origin, 0, this->words() - 1);
  for (size_t i = 0; i < words.size(); ++i) {
    auto word = static_cast<int64_t>(i);
    int64_t next = word / unit_words_ * (s_.lanes() / fast_count_) * pitch() + word % unit_words_;
    b_.write(array, b_.stepped(at, next), words[i]);
  }
}

}  // namespace tuff
