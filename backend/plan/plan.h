// The memory plan: where every temporary lives, and where barriers must stand.
// Pure decisions over plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// A temporary: written first at position `first`, read last at `last` (both
// inclusive).
struct Lifetime {
  int64_t size_bytes = 0;
  int64_t first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  // one per lifetime, multiples of the alignment
  int64_t arena_bytes = 0;
  int64_t liveness_bytes = 0;  // largest sum of sizes alive at one position: a lower bound
  int64_t peak_step = 0;       // a position where that sum is reached
};

// Offsets such that no two temporaries alive at the same position overlap, and that none lies in
// two segments; one larger than a segment begins where one does. Takes time that grows with the
// pairs of those alive together.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, int64_t alignment,
                     int64_t segment_bytes = INT64_MAX);

// Sets Step::barrier
//   where a step reads or writes a range that a step since the last barrier has written;
//   where it writes one that has been read;
//   where a block begins, and at and after control.
void place_barriers(Steps& steps, const std::vector<Kernel>& kernels,
                    const std::vector<Donation>& donations = {});

}  // namespace tuff
