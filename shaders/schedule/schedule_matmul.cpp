#include <algorithm>

#include "shaders/schedule/schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

int64_t MatmulSizes::all_k() const {
  int64_t product = 1;
  for (int64_t size : k) product *= size;
  return product;
}

int64_t MatmulSchedule::groups(const MatmulSizes& sizes) const {
  return sizes.batch * ceil_div(sizes.m, tile_m) * ceil_div(sizes.n, lanes * tile_n);
}

namespace {

// A load costs a software rasteriser as much as ten multiplications of a subgroup: it
// gathers lane by lane. So lanes share what they load, two elements a load. The tile is as
// large as registers allow: 16 rows x 4 columns take most of 32. First runs set a limit,
// too: the driver takes a second and more to compile the epilogue of 64 results, and only
// much work makes up for that.
MatmulSchedule software_matmul_schedule(const Caps& caps, const MatmulSizes& sizes) {
  constexpr int64_t kMuch = 1 << 18, kSome = 1 << 14, kManyProducts = 1 << 25;
  auto [batch, m, n, k] = sizes;
  MatmulSchedule s;
  s.lanes = preferred_lanes(caps);
  s.share_rows = caps.subgroup_shuffle && s.lanes == caps.subgroup_size;
  s.wide_loads = caps.int64;
  // By the size of B, which is not the batch's matter; but many results are much work too,
  // though B be small: a weight's gradient.
  int64_t b_size = n * sizes.all_k();
  bool much = b_size >= kMuch || m * n >= 4 * kMuch;
  bool many = m * b_size >= kManyProducts;
  s.tile_m = much ? (s.share_rows ? 16 : 8) : b_size < kSome ? 2 : many ? 8 : 4;
  s.tile_n = 4;
  for (int64_t unroll : {4, 3, 2})
    if (s.k_unroll == 1 && sizes.inner_k() % unroll == 0) s.k_unroll = unroll;
  s.tile_m = std::min(power_of_two_at_least(m), s.tile_m);  // few kernels for small batches
  // B is read again for every block of rows: from the cache if it fits, else panel by panel.
  constexpr int64_t kCached = 1 << 17;
  s.rows_fastest = b_size > kCached;
  int64_t columns = ceil_div(n, s.lanes);
  s.tile_n = columns >= 3 ? 4 : std::clamp<int64_t>(columns, 1, 2);
  return s;
}

// A tile of 16 rows x 8 steps of A stands in shared memory, an element or two a lane, and
// is read by all. Columns of B are the lanes' own, so its loads are coalesced as they are.
MatmulSchedule gpu_matmul_schedule(const Caps& caps, int64_t m, int64_t n) {
  constexpr int64_t kRows = 16;
  MatmulSchedule s;
  s.lanes =
      std::min(preferred_lanes(caps), power_of_two_at_least(caps.max_group_invocations + 1) / 2);
  s.tile_m = std::min(power_of_two_at_least(m), kRows);
  s.tile_n = std::clamp<int64_t>(ceil_div(n, s.lanes), 1, 2);
  if (s.lanes < kRows || caps.max_shared_bytes < 8 * kRows * 8) return s;
  s.share_rows = true;
  s.k_unroll = 8;
  s.k_split = std::min(s.lanes / kRows, s.k_unroll);
  return s;
}

MatmulSchedule cpu_matmul_schedule(int64_t m) {
  return {.lanes = 256, .tile_m = std::clamp<int64_t>(m, 1, 4), .tile_n = 1};
}

}  // namespace

MatmulSchedule choose_matmul_schedule(const Caps& caps, const MatmulSizes& sizes) {
  MatmulSchedule s;
  switch (caps.device_class) {
    case DeviceClass::kCpu: s = cpu_matmul_schedule(sizes.m); break;
    case DeviceClass::kSoftwareRasteriser: s = software_matmul_schedule(caps, sizes); break;
    case DeviceClass::kIntegratedGpu:
    case DeviceClass::kDiscreteGpu: s = gpu_matmul_schedule(caps, sizes.m, sizes.n); break;
  }
  int64_t least = std::max<int64_t>(1, ceil_div(sizes.all_k(), caps.max_loop_iterations));
  s.k_unroll = std::max(s.k_unroll, ceil_div(least, s.k_split) * s.k_split);
  return s;
}

namespace {

// How many parts the device likes, whatever the divisors of k.
int64_t wanted_parts(const Caps& caps, const MatmulSizes& sizes, int64_t groups) {
  constexpr int64_t kLeastPart = 128;  // products that make up for a sum's way through memory
  int64_t k = sizes.all_k();
  switch (caps.device_class) {
    case DeviceClass::kCpu: return 1;  // its library does what is large
    case DeviceClass::kSoftwareRasteriser: {
      // Few workgroups fill it, but each row of a panel of B is another page: a panel of so
      // many steps is still there for the next rows of A.
      constexpr int64_t kPanel = 2048, kLong = 16 * kPanel, kMostParts = 64, kMostSums = 1 << 22;
      if (k < kLong) return 1;
      return std::min({k / kPanel, kMostParts, kMostSums / (sizes.batch * sizes.m * sizes.n)});
    }
    case DeviceClass::kIntegratedGpu: return std::min(64 / groups, k / kLeastPart);
    case DeviceClass::kDiscreteGpu: return std::min(256 / groups, k / kLeastPart);
  }
  return 1;
}

}  // namespace

std::optional<KSplit> split_k(const MatmulSizes& sizes, int64_t parts, int64_t k_step) {
  if (sizes.all_k() == 0 || sizes.k.empty()) return std::nullopt;
  auto longest = std::max_element(sizes.k.begin(), sizes.k.end());
  bool innermost = longest + 1 == sizes.k.end();
  int64_t step = innermost ? k_step : 1, steps = ceil_div(*longest, step);
  parts = std::min(parts, steps);
  if (parts < 2) return std::nullopt;
  KSplit split;
  split.dim = static_cast<size_t>(longest - sizes.k.begin());
  split.length = ceil_div(steps, divisor_or(steps, (parts + 1) / 2, parts)) * step;
  split.parts = ceil_div(*longest, split.length);
  return split;
}

std::optional<KSplit> choose_k_split(const Caps& caps, const MatmulSizes& sizes, int64_t groups,
                                     int64_t k_step) {
  if (groups == 0) return std::nullopt;
  return split_k(sizes, wanted_parts(caps, sizes, groups), k_step);
}

}  // namespace tuff
