#include "backend/cpu/lanes/lane_tiles.h"

#include <algorithm>
#include <cstdlib>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/kernels/kernel_program.h"

namespace tuff::cpu {

namespace {

constexpr int64_t kMaxElementBytes = 8;

// Of the running thread: all interpreters on it share it, one at a time. Null: no memory.
std::byte* tile_memory(size_t tile, size_t tiles, int64_t tile_bytes) {
  thread_local const AlignedBytes memory =
      allocate_aligned(static_cast<int64_t>(tiles) * tile_bytes);
  return memory == nullptr ? nullptr : memory.get() + static_cast<int64_t>(tile) * tile_bytes;
}

}  // namespace

LoadTiles::Tile* LoadTiles::tile_of(const void* load) {
  for (Tile& tile : tiles_) {
    if (tile.load == nullptr) tile.load = load;
    if (tile.load == load) return &tile;
  }
  return nullptr;
}

const std::byte* LoadTiles::lanes(const MoveFns& moves, const void* load, const std::byte* data,
                                  int64_t count, int64_t size, int64_t base, int64_t stride,
                                  int64_t n) {
  constexpr int64_t kLeastStride = 8, kLeastLanes = 32;
  if (std::abs(stride) < kLeastStride || n < kLeastLanes || n > kMaxBlock) return nullptr;
  Tile* tile = tile_of(load);
  if (tile == nullptr) return nullptr;
  std::byte* memory = tile_memory(static_cast<size_t>(tile - tiles_.data()), kTiles,
                                  kColumns * kMaxBlock * kMaxElementBytes);
  if (memory == nullptr) return nullptr;
  bool same = tile->stride == stride && tile->n == n;
  if (same && base >= tile->base && base < tile->base + tile->columns) {
    tile->last = base;
    return memory + (base - tile->base) * n * size;
  }
  bool goes_on = same && base == tile->last + 1;
  int64_t end = base + std::max<int64_t>(0, stride * (n - 1));
  int64_t columns = goes_on ? std::min(kColumns, count - end) : 0;
  *tile = {load, base, stride, n, columns, base};
  if (columns < 2) {
    tile->columns = 0;
    return nullptr;
  }
  moves.transpose(n, columns, data + base * size, stride, memory, n);
  return memory;
}

}  // namespace tuff::cpu
