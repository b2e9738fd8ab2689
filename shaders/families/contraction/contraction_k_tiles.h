// Tiles of k: a contraction's steps as a workgroup walks them through shared memory.
#pragma once

#include "shaders/families/contraction/contraction_kernel.h"

namespace tuff {

// Blocks of `depth` steps of the innermost dimensions of k: of one of them if it is as long as a
// tile.
class KTiles {
 public:
  KTiles(GroupContext& group, const ContractionKernel& kernel, int64_t depth);

  int64_t count() const { return num_elements(tiles_of_); }
  // The tile behind pair number `pair` of three tiles or more. Behind the last pair there is none:
  // then one that nobody multiplies, inside so that its loads have no guard.
  IndexExpr behind_pair(KernelBuilder& b, const IndexExpr& pair) const;
  // Step `within` of a tile; tiles beyond the last have none inside.
  KStep step_at(const IndexExpr& tile, const IndexExpr& within) const;

 private:
  GroupContext& group_;
  const ContractionKernel& kernel_;
  int64_t depth_;
  Shape inner_k_;   // dimensions that tiles are blocks of
  Shape tiles_of_;  // tiles by dimension
};

// Adds that an index has `rest` >= 0 left, unless that is always so.
void require(IndexContext& context, std::vector<IndexCondition>& inside, const IndexExpr& rest);

}  // namespace tuff
