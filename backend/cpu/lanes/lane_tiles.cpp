#include "backend/cpu/lanes/lane_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/kernels/kernel_program.h"

namespace tuff::cpu {

namespace {

constexpr int64_t kMaxElementBytes = 8;

// Four floats; what they mean does not matter.
using Four = float __attribute__((vector_size(16)));
Four load_four(const std::byte* from) {
  Four value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// to[c * n + i] = from[i * stride + c] for i < n, c < columns.
template <typename E>
void transpose_one_by_one(const E* from, int64_t stride, int64_t first, int64_t n, int64_t rows,
                          int64_t columns, E* to) {
  for (int64_t i = first; i < n; ++i)
    for (int64_t c = 0; c < columns; ++c) to[c * rows + i] = from[i * stride + c];
}

// Blocks of 4 x 4 through registers; returns how many rows are done.
int64_t transpose_fours(const std::byte* from, int64_t stride, int64_t n, int64_t columns,
                        std::byte* to) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int64_t c = 0; c < columns; c += 4) {
      const std::byte* block = from + (i * stride + c) * 4;
      Four a = load_four(block), b = load_four(block + stride * 4);
      Four d = load_four(block + stride * 8), e = load_four(block + stride * 12);
      Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      Four de_low = __builtin_shufflevector(d, e, 0, 4, 1, 5);
      Four de_high = __builtin_shufflevector(d, e, 2, 6, 3, 7);
      const Four lines[4] = {__builtin_shufflevector(ab_low, de_low, 0, 1, 4, 5),
                             __builtin_shufflevector(ab_low, de_low, 2, 3, 6, 7),
                             __builtin_shufflevector(ab_high, de_high, 0, 1, 4, 5),
                             __builtin_shufflevector(ab_high, de_high, 2, 3, 6, 7)};
      for (int64_t line = 0; line < 4; ++line)
        std::memcpy(to + ((c + line) * n + i) * 4, &lines[line], sizeof(Four));
    }
  return i;
}

void transpose_tile(const std::byte* from, int64_t size, int64_t stride, int64_t n, int64_t columns,
                    std::byte* to) {
  auto rest = [&]<typename E>(E, int64_t first) {
    transpose_one_by_one(reinterpret_cast<const E*>(from), stride, first, n, n, columns,
                         reinterpret_cast<E*>(to));
  };
  if (size == 4)
    rest(uint32_t{}, columns % 4 == 0 ? transpose_fours(from, stride, n, columns, to) : 0);
  else if (size == 8)
    rest(uint64_t{}, 0);
  else if (size == 2)
    rest(uint16_t{}, 0);
  else
    rest(uint8_t{}, 0);
}

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

const std::byte* LoadTiles::lanes(const void* load, const std::byte* data, int64_t count,
                                  int64_t size, int64_t base, int64_t stride, int64_t n) {
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
  transpose_tile(data + base * size, size, stride, n, columns, memory);
  return memory;
}

}  // namespace tuff::cpu
