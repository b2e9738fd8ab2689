// What native code finds when it is called.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tuff::cpu::native {

// Where memory begins, by number: the arena, scratch memory, then arguments, outputs, constants.
enum : int64_t { kArenaBase, kScratchBase, kFirstBase };
// The code's own stack, which is no such memory.
inline constexpr int64_t kStackBase = -1;

struct NativeContext {
  // Does what has no native code: LoopCode::called's step of this number. 0: all is well.
  int64_t (*run_step)(NativeContext* context, int64_t number) = nullptr;
  std::byte* const* bases = nullptr;        // by the numbers above
  int64_t rounds = 0;                       // that are left of the outermost loop, where it counts
  int32_t first_point = 0, last_point = 0;  // of a kernel's grid; the last is not run
  int64_t dispatches = 0;                   // kernels that have run
  void* owner = nullptr;
};

using NativeFunction = int64_t(NativeContext*);

}  // namespace tuff::cpu::native
