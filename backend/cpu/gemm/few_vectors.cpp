#include "backend/cpu/gemm/few_vectors.h"

#include "backend/cpu/thread_memory.h"

namespace tuff::cpu {

Result<const float*> FewVectors::read(const std::byte* from, const LaneTable& table) {
  const int64_t bytes = rows_.copied_floats(rows_.count()) * 4;
  if (bytes > 0 && copy_ == nullptr) copy_ = allocate_aligned(bytes);
  if (bytes > 0 && copy_ == nullptr) return no_memory_for_part(bytes);
  return rows_.side_by_side(table, from, 0, rows_.count(), reinterpret_cast<float*>(copy_.get()));
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
