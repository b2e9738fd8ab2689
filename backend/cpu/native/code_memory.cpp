#include "backend/cpu/native/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace tuff::cpu::native {

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

CodeMemory CodeMemory::holding(std::span<const std::byte> code) {
  CodeMemory memory;
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t size = (code.size() + page - 1) / page * page;
  if (size == 0) return memory;
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return memory;
  memory.data_ = data;
  memory.size_ = size;
  std::memcpy(data, code.data(), code.size());
  if (mprotect(data, size, PROT_READ | PROT_EXEC) != 0) return CodeMemory();
  return memory;
}

}  // namespace tuff::cpu::native
