// Loads whose neighbouring lanes lie a row apart: a transposition, a reduction over rows. Each lane
// takes one element of a cache line. Where the next loads take the line's next elements, a tile of
// them is brought into lanes at once, and these loads find theirs there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/lanes/lane_table.h"

namespace tuff::cpu {

class LoadTiles {
 public:
  // Elements [base + i * stride] for i < n of `count` elements of `size` bytes at `data`, which
  // nothing writes to until the next call of forget(). Null: they are to be loaded one by one.
  // `load` says which load of the kernel asks; moves: of the size. What is returned stays until it
  // asks again.
  const std::byte* lanes(const MoveFns& moves, const void* load, const std::byte* data,
                         int64_t count, int64_t size, int64_t base, int64_t stride, int64_t n);
  // Memory has changed.
  void forget() { tiles_ = {}; }

 private:
  static constexpr size_t kTiles = 4;
  static constexpr int64_t kColumns = 16;
  struct Tile {
    const void* load = nullptr;
    int64_t base = 0, stride = 0, n = 0;
    int64_t columns = 0;  // that are there, from `base` on
    int64_t last = 0;     // where the load before this one began
  };
  Tile* tile_of(const void* load);

  std::array<Tile, kTiles> tiles_;
};

}  // namespace tuff::cpu
