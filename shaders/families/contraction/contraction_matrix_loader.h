// Tiles of one operand of a contraction on their way to the shared memory that subgroups load
// matrices from (SubgroupMatrices of shaders/kernel/kernel.h says how they lie there).
#pragma once

#include <vector>

#include "shaders/families/contraction/contraction_tile_loader.h"

namespace tuff {

// Words hold neighbours in memory: steps of k, or lines. Lanes load a word at a time.
class MatrixTileLoader {
 public:
  // whole_steps: the steps of a word are all there or all outside.
  MatrixTileLoader(GroupContext& group, FamilyKernel& family, const MatrixTileSchedule& schedule,
                   TileLoader::Operands operand, const IndexExpr& block, bool whole_steps);

  // Ahead of the loops over k.
  void prepare();
  // In a lane loop: the lane's words of a tile; in the same one or a later one they are written
  // to `array`.
  std::vector<Operand> fetch(const IndexExpr& lane, const TileLoader::StepAt& step_at);
  void put(const IndexExpr& lane, uint32_t array, const std::vector<Operand>& words);

  int64_t pitch() const { return s_.pitch(o_.tile_lines, o_.along_k); }
  int64_t words() const { return slow_count() * pitch(); }
  int64_t words_per_lane() const { return slow_count() * fast_count_ / s_.lanes(); }

 private:
  int64_t slow_count() const { return o_.along_k ? o_.tile_lines : s_.depth; }
  IndexExpr slow_of(int64_t word);
  IndexVector line(int64_t word, int64_t i);
  Operand pack(const std::vector<Operand>& elements);

  KernelBuilder& b_;
  const ValueEmitter& emitter_;
  const MatrixTileSchedule& s_;
  TileLoader::Operands o_;
  bool whole_steps_;
  TileLines lines_;
  int64_t fast_count_;  // words side by side
  LanePlace place_;     // of the open lane loop
};

}  // namespace tuff
