#include "backend/cpu/thread_memory.h"

#include "backend/cpu/aligned_memory.h"

namespace tuff::cpu {

std::byte* thread_memory(size_t size_bytes) {
  thread_local AlignedBytes memory;
  thread_local size_t there_bytes = 0;
  if (size_bytes <= there_bytes) return memory.get();
  there_bytes = 0;
  memory = nullptr;
  memory = allocate_aligned(static_cast<int64_t>(size_bytes));
  if (memory != nullptr) there_bytes = size_bytes;
  return memory.get();
}

Error no_memory_for_part(int64_t size_bytes) {
  return Error{ErrorCode::kOutOfMemory,
               "What a part of a product works with (" + std::to_string(size_bytes) +
                   " bytes) does not fit in the machine's memory.",
               ""};
}

}  // namespace tuff::cpu
