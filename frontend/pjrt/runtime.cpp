#include <fmt/format.h>

#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

CompiledPtr CompileCache::find(const Graph& graph, uint64_t hash) {
  std::lock_guard lock(mutex_);
  auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!(it->second->graph == graph)) continue;
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->compiled;
  }
  return nullptr;
}

void CompileCache::insert(Graph graph, CompiledPtr compiled) {
  CompiledPtr dropped;  // destroyed after the lock
  std::lock_guard lock(mutex_);
  uint64_t hash = compiled->hash;
  entries_.push_front({std::move(graph), std::move(compiled)});
  by_hash_.emplace(hash, entries_.begin());
  if (entries_.size() <= kLimit) return;
  auto last = std::prev(entries_.end());
  auto [begin, end] = by_hash_.equal_range(last->compiled->hash);
  for (auto it = begin; it != end; ++it)
    if (it->second == last) {
      by_hash_.erase(it);
      break;
    }
  dropped = std::move(last->compiled);
  entries_.erase(last);
}

Result<BufferPtr> Runtime::allocate(int64_t size_bytes) {
  TUFF_ASSIGN(BufferPtr buffer, device->allocate(size_bytes));
  int64_t now = count->in_use += size_bytes, peak = count->peak;
  ++count->allocations;
  while (now > peak && !count->peak.compare_exchange_weak(peak, now)) {
  }
  Buffer* raw = buffer.get();
  return BufferPtr(raw, [buffer = std::move(buffer), count = count, size_bytes](Buffer*) mutable {
    buffer.reset();
    count->in_use -= size_bytes;
  });
}

BufferPtr BufferHandle::memory() const {
  std::lock_guard lock(mutex_);
  return memory_;
}

bool BufferHandle::deleted() const {
  std::lock_guard lock(mutex_);
  return deleted_;
}

void BufferHandle::set(BufferPtr memory) {
  std::lock_guard lock(mutex_);
  memory_ = std::move(memory);
  deleted_ = false;
}

void BufferHandle::release() {
  BufferPtr released;  // freed after the lock
  std::lock_guard lock(mutex_);
  released = std::move(memory_);
  memory_ = nullptr;
  deleted_ = true;
}

namespace {

constexpr std::pair<ElementType, DType> kTypes[] = {
    {ElementType::kPred, DType::kBool}, {ElementType::kS8, DType::kI8},
    {ElementType::kS16, DType::kI16},   {ElementType::kS32, DType::kI32},
    {ElementType::kS64, DType::kI64},   {ElementType::kU8, DType::kU8},
    {ElementType::kU16, DType::kU16},   {ElementType::kU32, DType::kU32},
    {ElementType::kU64, DType::kU64},   {ElementType::kF16, DType::kF16},
    {ElementType::kF32, DType::kF32},   {ElementType::kF64, DType::kF64},
    {ElementType::kBF16, DType::kBF16},
};
static_assert(std::size(kTypes) == kNumDTypes);

}  // namespace

ElementType element_type(DType dtype) {
  for (auto [theirs, ours] : kTypes)
    if (ours == dtype) return theirs;
  return ElementType::kInvalid;
}

Result<DType> dtype_of(ElementType type) {
  for (auto [theirs, ours] : kTypes)
    if (theirs == type) return ours;
  return Error{ErrorCode::kUnsupported,
               fmt::format("The element type ({}) is not one tuff computes with; it has bool, "
                           "integers of 8 to 64 bits, f16, bf16, f32 and f64.",
                           static_cast<uint32_t>(type)),
               ""};
}

}  // namespace tuff::pjrt
