#include "backend/cpu/gemm/few_vectors.h"

#include "backend/cpu/thread_memory.h"

namespace tuff::cpu {

FewVectors::FewVectors(int64_t count, int64_t depth, int64_t vector, int64_t element, DType type)
    : count_(count),
      depth_(depth),
      vector_(vector),
      element_(element),
      type_(type),
      copies_(type != DType::kF32 || element != 1),
      distance_(copies_      ? depth
                : count == 1 ? 0
                             : vector) {}

Result<const float*> FewVectors::read(const std::byte* from, const LaneTable& table) {
  if (!copies_) return reinterpret_cast<const float*>(from);
  if (copy_ == nullptr) copy_ = allocate_aligned(count_ * depth_ * 4);
  if (copy_ == nullptr) return no_memory_for_part(count_ * depth_ * 4);
  auto* to = reinterpret_cast<float*>(copy_.get());
  const LaneFn widen = table.convert[static_cast<size_t>(type_)][static_cast<size_t>(DType::kF32)];
  for (int64_t i = 0; i < count_; ++i) {
    const std::byte* elements = from + i * vector_ * dtype_size(type_);
    if (type_ != DType::kF32) {
      widen(depth_, to + i * depth_, elements, nullptr, nullptr);
      continue;
    }
    const auto* floats = reinterpret_cast<const float*>(elements);
    for (int64_t l = 0; l < depth_; ++l) to[i * depth_ + l] = floats[l * element_];
  }
  return to;
}

Result<float*> FloatResult::begin(std::byte* result) {
  if (type_ == DType::kF32) return reinterpret_cast<float*>(result) + offset_;
  if (floats_ == nullptr) floats_ = allocate_aligned(count_ * 4);
  if (floats_ == nullptr) return no_memory_for_part(count_ * 4);
  return reinterpret_cast<float*>(floats_.get());
}

void FloatResult::finish(const LaneTable& table, std::byte* result) const {
  if (type_ == DType::kF32) return;
  table.convert[static_cast<size_t>(DType::kF32)][static_cast<size_t>(type_)](
      count_, result + offset_ * dtype_size(type_), floats_.get(), nullptr, nullptr);
}

}  // namespace tuff::cpu
