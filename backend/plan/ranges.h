// Ranges of a program's memory: which are the same bytes, and what an arena is made of.
#pragma once

#include <string>
#include <vector>

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// The output that an argument may share its buffer with stands for both.
inline Range shared_range(const Range& range, const std::vector<Donation>& donations) {
  if (range.space == Range::Space::kArgument)
    for (const Donation& donation : donations)
      if (donation.in_place && donation.argument == range.index)
        return {Range::Space::kOutput, donation.output, 0, range.size_bytes};
  return range;
}

inline bool overlaps(const Range& a, const Range& b) {
  return a.space == b.space && a.index == b.index &&
         a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

// An arena is one allocation as long as the device has such, else several of this size, and the
// last one shorter: the bytes from each multiple of it on. A multiple of the alignment.
int64_t arena_segment_bytes(const Caps& caps);

// "arena[256+512]", "argument 3".
std::string range_text(const Range& range);

}  // namespace tuff
