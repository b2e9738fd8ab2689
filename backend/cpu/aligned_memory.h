// Memory that tensors, and the copies that products work with, lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tuff::cpu {

struct FreeAligned {
  size_t mapped_bytes = 0;  // of a block that allocate_aligned mapped; else it is the heap's
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

// 64-byte aligned, its contents undefined; null when the machine has not that much. From any
// thread.
//
// The system clears each page of a block when it is first written, which takes longer than many
// a kernel that writes it. Large blocks are therefore kept when they are freed, up to a thirty-
// second of the machine's memory, for the next of about their size. (Big pages are not asked for:
// a model's first run took up to three times as long by them, on a virtual machine.)
AlignedBytes allocate_aligned(int64_t size_bytes);

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace tuff::cpu
