// Tiles of one operand of a contraction on their way to shared memory.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "shaders/families/contraction/contraction_kernel.h"
#include "shaders/families/contraction/contraction_tile_lines.h"

namespace tuff {

// Elements that a lane loads together where they are neighbours in memory: 16 bytes of f32.
constexpr int64_t kNeighbours = 4;
// So many of n in a row: 1, 2 or 4, which divides n.
int64_t neighbours(int64_t n);

// A word of shared memory: an element, or two neighbouring lines' elements in 64 bits.
DType tile_word_type(DType element, int64_t run);
std::vector<Operand> unpack_word(KernelBuilder& b, const Operand& word, DType element, int64_t run);
Operand pack_word(KernelBuilder& b, std::span<const Operand> elements);

// A tile as lanes read it: for each step the lines' words, `pitch` from step to step.
struct SharedTile {
  uint32_t array = 0;
  DType element = DType::kF32;
  int64_t run = 1, pitch = 0;
  IndexExpr first = 0;  // word of the array
};

// A lane's lines come in runs. Neighbouring lanes have neighbouring runs, so that they read
// neighbouring words; a lane's own ones stand `apart` words from each other, from word `place` on.
std::vector<Operand> read_line(KernelBuilder& b, const SharedTile& tile, const Operand& step,
                               const IndexExpr& place, int64_t apart, int64_t count);
// Number i of its lines, within the tile.
IndexExpr line_of(KernelBuilder& b, const IndexExpr& place, int64_t apart, int64_t run, int64_t i);

// Lines are rows of A, or columns of B. In shared memory a tile has for each step of k the
// lines' words, `pitch` words from step to step. Lanes load units of up to four neighbours in
// memory, along lines or along k; neighbouring lanes load what is neighbours, too.
class TileLoader {
 public:
  struct Operands {
    Shape lines;              // all lines of the operand, as a shape
    int64_t tile_lines = 0;   // of a tile
    bool along_k = false;     // memory is contiguous along k, else along lines
    bool keep_parts = false;  // a line's parts are wanted, and are divided out once, in advance
    std::function<Operand(const IndexVector& line, const KStep&)> load;
  };
  // The step `within` a tile's first one.
  using StepAt = std::function<KStep(const IndexExpr& within)>;

  // block: the number of the tile among all lines; steps_together: so many neighbouring steps, as
  // of neighbours(), are all there or all outside.
  TileLoader(GroupContext& group, KernelBuilder& b, const TileSchedule& schedule, Operands operand,
             const IndexExpr& block, int64_t steps_together);

  // Ahead of the loops over k.
  void prepare();
  // Inside a lane loop: loads the lane's elements of a tile; then writes them to `array`, as words.
  // Packing reads them, so it waits for them: it is put()'s, behind what covers their way.
  std::vector<Operand> fetch(const IndexExpr& lane, const StepAt& step_at);
  // first: the word of the array where the tile begins.
  void put(uint32_t array, const std::vector<Operand>& elements, const IndexExpr& first = 0);
  // For put() in another lane loop than fetch().
  void place(const IndexExpr& lane) { place_ = place_lane(b_, lane, fast_count_); }
  int64_t lane_elements() const { return s_.k * o_.tile_lines / s_.lanes(); }
  int64_t words() const { return s_.k * pitch(); }
  int64_t pitch() const { return s_.pitch(o_.tile_lines); }

 private:
  // Neighbouring lines and steps that a lane loads together; one of the two is 1 or a word's run.
  struct Unit {
    int64_t lines = 1, steps = 1;
  };
  static Unit choose_unit(const TileSchedule& schedule, const Operands& operand,
                          int64_t steps_together);
  int64_t units() const { return s_.k * o_.tile_lines / (unit_.lines * unit_.steps * s_.lanes()); }
  // How far the slow part is from one unit of a lane to its next one.
  int64_t stride() const { return s_.lanes() / fast_count_; }
  // The run of lines that the lane has of a unit.
  IndexExpr run_of(int64_t unit);
  IndexVector line(int64_t unit, int64_t i);

  KernelBuilder& b_;
  const TileSchedule& s_;
  Operands o_;
  Unit unit_;
  TileLines lines_;
  int64_t fast_count_;
  LanePlace place_;  // of the open lane loop
};

}  // namespace tuff
