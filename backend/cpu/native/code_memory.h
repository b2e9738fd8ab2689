// Memory that holds code: written first, then run, never both at once.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace tuff::cpu::native {

class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  CodeMemory& operator=(CodeMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CodeMemory();

  // Empty where the system has no memory for it, or does not let a process write code.
  static CodeMemory holding(std::span<const std::byte> code);
  bool empty() const { return data_ == nullptr; }
  // Where it begins.
  template <typename Function>
  Function* function() const {
    return reinterpret_cast<Function*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tuff::cpu::native
