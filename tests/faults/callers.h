// Who calls: tuff's own code, in the program itself or in a library, and by which way it came
// there.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace callers {

// Own code is that of the loaded library with these words in its name; "": of the program.
void find(const char* library_name);

// The address that a call returns to lies in own code.
bool own(const void* address);
// The same, or in the C++ library.
bool own_or_library(const void* address);
// The same, or in the C++ library which own code has called (a string's growth): unwinds.
bool own_through_library(const void* address);

// A way to a call: its innermost frames in own code and the C++ library.
struct Stack {
  static constexpr int kMostFrames = 24;
  std::array<uint64_t, kMostFrames> hashes{};  // [i]: of i + 1 frames; the same in each process
  const void* caller = nullptr;
  uint64_t hash(int frames) const { return hashes[static_cast<size_t>(frames) - 1]; }
};
// `frames` counts those of others, too.
Stack stack_to(const void* caller, int frames);
// Its frames in own code, as offsets in the file (for addr2line); how many there are.
size_t own_frames(const void* caller, std::span<uint64_t> offsets);

}  // namespace callers
