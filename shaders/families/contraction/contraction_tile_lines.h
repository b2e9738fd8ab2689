// Lines of an operand of a contraction, rows of A or columns of B, that a workgroup's tile has.
#pragma once

#include <vector>

#include "shaders/families/family.h"

namespace tuff {

// The lane's number in two parts, `by` values of the faster one; a constant of the schedule.
struct LanePlace {
  IndexExpr slow, fast;
};
LanePlace place_lane(KernelBuilder& b, const IndexExpr& lane, int64_t by);
// The same of any number below `count`.
LanePlace place_number(KernelBuilder& b, const IndexExpr& number, int64_t count, int64_t by);

// They come in runs of neighbours. Beyond the edge they are the last one, whose results nobody
// stores.
class TileLines {
 public:
  // all: all lines of the operand, as a shape; clamp_whole: a run that lies in memory as one word
  // is clamped as one, which wants all lines to be runs.
  TileLines(GroupContext& group, KernelBuilder& b, Shape all, int64_t tile_lines, int64_t run,
            bool clamp_whole, const IndexExpr& block);

  // Line i of run number `run` of the tile.
  IndexVector at(const IndexExpr& run, int64_t i);
  // Divides its parts out now, in a lane loop, for use in later ones, where it is named by how
  // many were kept before.
  void keep(const IndexExpr& run, int64_t i);
  IndexVector kept(size_t number);

 private:
  GroupContext& group_;
  KernelBuilder& b_;
  Shape all_;
  int64_t run_, together_;  // lines of a run, and those that are clamped as one
  int64_t units_;           // of `together_` lines
  IndexExpr first_;         // unit of the tile
  std::vector<uint32_t> parts_;
};

}  // namespace tuff
