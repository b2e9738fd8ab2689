// Tiles of one operand of a contraction on their way to the shared memory that subgroups load
// matrices from (SubgroupMatrices of shaders/kernel/kernel.h says how they lie there).
#pragma once

#include <span>
#include <vector>

#include "shaders/families/contraction/contraction_tile_loader.h"

namespace tuff {

// Words hold neighbours in memory: steps of k, or lines. Lanes load units of up to four words that
// are neighbours, too.
class MatrixTileLoader {
 public:
  // steps_together: so many neighbouring steps are all there or all outside; a power of two.
  MatrixTileLoader(GroupContext& group, FamilyKernel& family, const MatrixTileSchedule& schedule,
                   TileLoader::Operands operand, const IndexExpr& block, int64_t steps_together);

  // Ahead of the loops over k.
  void prepare();
  // In a lane loop: the lane's words of a tile; in the same one or a later one they are written
  // to `array`.
  std::vector<Operand> fetch(const IndexExpr& lane, const TileLoader::StepAt& step_at);
  void put(const IndexExpr& lane, uint32_t array, const std::vector<Operand>& words);

  int64_t pitch() const { return s_.pitch(o_.tile_lines, o_.along_k); }
  int64_t words() const { return slow_count() * pitch(); }
  int64_t words_per_lane() const { return units() * unit_words_; }
  // Of a unit, if it is whole.
  int64_t unit_elements() const { return unit_words_ * s_.per_word; }

 private:
  static int64_t choose_unit_words(const MatrixTileSchedule& schedule,
                                   const TileLoader::Operands& operand, int64_t steps_together);
  int64_t slow_count() const { return o_.along_k ? o_.tile_lines : s_.depth; }
  int64_t units() const { return slow_count() * fast_count_ / s_.lanes(); }
  IndexExpr slow_of(int64_t unit);
  IndexVector line(int64_t unit, int64_t i);
  Operand pack(std::span<const Operand> elements);

  KernelBuilder& b_;
  const ValueEmitter& emitter_;
  const MatrixTileSchedule& s_;
  TileLoader::Operands o_;
  bool whole_steps_;    // of a word
  int64_t unit_words_;  // side by side
  TileLines lines_;
  int64_t fast_count_;  // units side by side
  LanePlace place_;     // of the open lane loop
};

}  // namespace tuff
