#include "shaders/families/contraction/contraction_matrix_loader.h"

namespace tuff {

MatrixTileLoader::MatrixTileLoader(GroupContext& group, FamilyKernel& family,
                                   const MatrixTileSchedule& schedule, TileLoader::Operands operand,
                                   const IndexExpr& block, bool whole_steps)
    : b_(family.builder),
      emitter_(family.emitter),
      s_(schedule),
      o_(std::move(operand)),
      whole_steps_(whole_steps),
      lines_(group, b_, o_.lines, o_.tile_lines, o_.along_k ? 1 : s_.per_word, true, block),
      fast_count_((o_.along_k ? s_.depth : o_.tile_lines) / s_.per_word) {
  TUFF_CHECK(slow_count() * fast_count_ % s_.lanes() == 0 && s_.lanes() % fast_count_ == 0,
             "a tile's words do not share out evenly among the lanes");
}

void MatrixTileLoader::prepare() {
  if (!o_.keep_parts) return;
  place_ = place_lane(b_, b_.begin_lanes(Operand::i32(s_.lanes())), fast_count_);
  if (o_.along_k)
    for (int64_t word = 0; word < words_per_lane(); ++word) lines_.keep(slow_of(word), 0);
  else
    for (int64_t i = 0; i < s_.per_word; ++i) lines_.keep(place_.fast, i);
  b_.end();
}

// The line, or the step, that the lane has a word of.
IndexExpr MatrixTileLoader::slow_of(int64_t word) {
  return b_.stepped(place_.slow, word * (s_.lanes() / fast_count_));
}

IndexVector MatrixTileLoader::line(int64_t word, int64_t i) {
  if (o_.keep_parts) return lines_.kept(static_cast<size_t>(o_.along_k ? word : i));
  return lines_.at(o_.along_k ? slow_of(word) : place_.fast, i);
}

std::vector<Operand> MatrixTileLoader::fetch(const IndexExpr& lane,
                                             const TileLoader::StepAt& step_at) {
  place_ = place_lane(b_, lane, fast_count_);
  std::vector<Operand> words;
  for (int64_t word = 0; word < words_per_lane(); ++word) {
    std::vector<Operand> elements;
    KStep first = step_at(o_.along_k ? place_.fast * s_.per_word : slow_of(word));
    for (int64_t i = 0; i < s_.per_word; ++i) {
      KStep step = first;
      if (o_.along_k && i > 0) {
        step = step_at(place_.fast * s_.per_word + i);
        // The same guard lets the elements of a word be one load.
        if (whole_steps_) step.inside = first.inside;
      }
      elements.push_back(o_.load(line(word, o_.along_k ? 0 : i), step));
    }
    words.push_back(pack(elements));
  }
  return words;
}

Operand MatrixTileLoader::pack(const std::vector<Operand>& elements) {
  if (elements.size() == 2)
    if (std::optional<Operand> word = emitter_.whole_word(elements[0], elements[1])) return *word;
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
  Operand origin = b_.compute(Op::kAdd, DType::kI32, {row, b_.index(place_.fast)});
  IndexExpr at = b_.symbol_for(origin, 0, this->words() - 1);
  for (size_t i = 0; i < words.size(); ++i) {
    int64_t next = static_cast<int64_t>(i) * (s_.lanes() / fast_count_) * pitch();
    b_.write(array, b_.stepped(at, next), words[i]);
  }
}

}  // namespace tuff
