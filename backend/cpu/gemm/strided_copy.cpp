#include "backend/cpu/gemm/strided_copy.h"

#include <algorithm>

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// A tile of the two innermost dimensions stays in cache, whichever of the two has
// the unit stride on either side.
constexpr int64_t kTile = 32;
// What is converted at a time stays in the nearest cache.
constexpr int64_t kChunk = 1024;
constexpr int64_t kMinParallelCopies = 1 << 15;

// The two innermost dimensions.
struct Plane {
  int64_t sizes[2], from_strides[2], to_strides[2];
};

template <typename Element>
void move_plane(const Plane& plane, const std::byte* from_bytes, std::byte* to_bytes) {
  auto* from = reinterpret_cast<const Element*>(from_bytes);
  auto* to = reinterpret_cast<Element*>(to_bytes);
  for (int64_t r0 = 0; r0 < plane.sizes[0]; r0 += kTile)
    for (int64_t c0 = 0; c0 < plane.sizes[1]; c0 += kTile)
      for (int64_t r = r0; r < std::min(r0 + kTile, plane.sizes[0]); ++r)
        for (int64_t c = c0; c < std::min(c0 + kTile, plane.sizes[1]); ++c)
          to[r * plane.to_strides[0] + c * plane.to_strides[1]] =
              from[r * plane.from_strides[0] + c * plane.from_strides[1]];
}

class Conversion {
 public:
  Conversion(DType from, DType to, const LaneTable& table)
      : from_size_(dtype_size(from)),
        to_size_(dtype_size(to)),
        load_(table.moves[size_log2(from)].load_strided),
        convert_(table.convert[static_cast<int>(from)][static_cast<int>(to)]),
        store_(table.moves[size_log2(to)].store_strided) {}

  void plane(Plane plane, const std::byte* from, std::byte* to) const {
    if (plane.from_strides[0] == 1 && plane.from_strides[1] != 1) transpose(plane);
    bool large = plane.sizes[0] * plane.sizes[1] >= kMinParallelCopies;
    int threads = large ? max_threads() : 1;
    SharedRange range(plane.sizes[0], std::max<int64_t>(1, plane.sizes[0] / (threads * 8)));
    in_parallel(threads, [&](int) {
      for (int64_t first, last; range.take(first, last);)
        for (int64_t r = first; r < last; ++r) row(plane, r, from, to);
    });
  }

 private:
  void row(const Plane& plane, int64_t r, const std::byte* from, std::byte* to) const {
    for (int64_t c = 0; c < plane.sizes[1]; c += kChunk)
      run(std::min(kChunk, plane.sizes[1] - c),
          from + (r * plane.from_strides[0] + c * plane.from_strides[1]) * from_size_,
          plane.from_strides[1],
          to + (r * plane.to_strides[0] + c * plane.to_strides[1]) * to_size_, plane.to_strides[1]);
  }

  static void transpose(Plane& plane) {
    std::swap(plane.sizes[0], plane.sizes[1]);
    std::swap(plane.from_strides[0], plane.from_strides[1]);
    std::swap(plane.to_strides[0], plane.to_strides[1]);
  }

  void run(int64_t n, const std::byte* from, int64_t from_stride, std::byte* to,
           int64_t to_stride) const {
    alignas(64) std::byte gathered[kChunk * 8], converted[kChunk * 8];
    if (from_stride != 1) load_(n, gathered, from, from_stride);
    std::byte* result = to_stride == 1 ? to : converted;
    convert_(n, result, from_stride == 1 ? from : gathered, nullptr, nullptr);
    if (to_stride != 1) store_(n, to, converted, to_stride);
  }

  int64_t from_size_, to_size_;
  void (*load_)(int64_t, void*, const void*, int64_t);
  LaneFn convert_;
  void (*store_)(int64_t, void*, const void*, int64_t);
};

}  // namespace

void strided_copy(const std::vector<int64_t>& sizes, const StridedArray& from,
                  const StridedArray& to, const LaneTable& table) {
  size_t rank = sizes.size(), outer = rank > 2 ? rank - 2 : 0;
  const Plane plane{{rank > 1 ? sizes[rank - 2] : 1, sizes[rank - 1]},
                    {rank > 1 ? from.strides[rank - 2] : 0, from.strides[rank - 1]},
                    {rank > 1 ? to.strides[rank - 2] : 0, to.strides[rank - 1]}};
  Conversion conversion(from.dtype, to.dtype, table);
  int64_t planes = 1;
  for (size_t dim = 0; dim < outer; ++dim) planes *= sizes[dim];
  for (int64_t i = 0; i < planes; ++i) {
    int64_t rest = i, from_offset = 0, to_offset = 0;
    for (size_t dim = outer; dim-- > 0; rest /= sizes[dim]) {
      from_offset += rest % sizes[dim] * from.strides[dim];
      to_offset += rest % sizes[dim] * to.strides[dim];
    }
    const std::byte* source = from.data + from_offset * dtype_size(from.dtype);
    std::byte* target = to.data + to_offset * dtype_size(to.dtype);
    if (from.dtype != to.dtype)
      conversion.plane(plane, source, target);
    else if (dtype_size(to.dtype) == 2)
      move_plane<uint16_t>(plane, source, target);
    else
      move_plane<float>(plane, source, target);
  }
}

}  // namespace tuff::cpu
