#include "frontend/pjrt/handles.h"

#include <fmt/format.h>

namespace tuff::pjrt {

Result<DeviceHandle*> ClientHandle::device(int64_t id) const {
  if (id >= 0 && id < static_cast<int64_t>(devices.size())) return devices[static_cast<size_t>(id)];
  return Error{ErrorCode::kUsage,
               fmt::format("There is no device ({}); tuff has ({}), numbered from 0. TUFF_DEVICE "
                           "chooses them.",
                           id, devices.size()),
               ""};
}

BufferHandle::BufferHandle(DeviceHandle* device, TensorType type, StoragePtr storage)
    : device(device),
      runtime(device->runtime),
      type(std::move(type)),
      storage_(std::move(storage)) {}

StoragePtr BufferHandle::storage() const {
  std::lock_guard lock(mutex_);
  return storage_;
}

StoragePtr BufferHandle::release() {
  std::lock_guard lock(mutex_);
  return std::move(storage_);
}

Status BufferHandle::add_external_reference() {
  std::lock_guard lock(mutex_);
  if (!external_) external_ = storage_;
  if (!external_) return deleted_error();
  ++num_external_;
  return {};
}

void BufferHandle::drop_external_reference() {
  StoragePtr released;  // freed after the lock
  std::lock_guard lock(mutex_);
  if (num_external_ > 0 && --num_external_ == 0) released = std::move(external_);
}

namespace {

constexpr std::pair<ElementType, DType> kTypes[] = {
    {ElementType::kPred, DType::kBool},
    {ElementType::kS8, DType::kI8},
    {ElementType::kS16, DType::kI16},
    {ElementType::kS32, DType::kI32},
    {ElementType::kS64, DType::kI64},
    {ElementType::kU8, DType::kU8},
    {ElementType::kU16, DType::kU16},
    {ElementType::kU32, DType::kU32},
    {ElementType::kU64, DType::kU64},
    {ElementType::kF16, DType::kF16},
    {ElementType::kF32, DType::kF32},
    {ElementType::kF64, DType::kF64},
    {ElementType::kBF16, DType::kBF16},
    {ElementType::kC64, DType::kC64},
    {ElementType::kC128, DType::kC128},
    {ElementType::kF8E4M3FN, DType::kF8E4M3FN},
    {ElementType::kF8E4M3FNUZ, DType::kF8E4M3FNUZ},
    {ElementType::kF8E5M2, DType::kF8E5M2},
    {ElementType::kF8E5M2FNUZ, DType::kF8E5M2FNUZ},
    {ElementType::kF8E8M0FNU, DType::kF8E8M0FNU},
    {ElementType::kF4E2M1FN, DType::kF4E2M1FN},
    {ElementType::kF8E4M3, DType::kF8E4M3},
    {ElementType::kF8E3M4, DType::kF8E3M4},
    {ElementType::kF8E4M3B11FNUZ, DType::kF8E4M3B11FNUZ},
    {ElementType::kS4, DType::kI4},
    {ElementType::kS2, DType::kI2},
    {ElementType::kU4, DType::kU4},
    {ElementType::kU2, DType::kU2},
};
static_assert(std::size(kTypes) == kNumElementTypes);

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
               fmt::format("The element type (number {}) is not one tuff has: bool, integers of 2, "
                           "4 and 8 to 64 bits, floats of 4 and 8 to 64 bits, complex numbers.",
                           static_cast<uint32_t>(type)),
               ""};
}

Error deleted_error() { return {ErrorCode::kUsage, "The buffer was deleted or donated.", ""}; }

Error waits_for_itself() {
  return {ErrorCode::kUsage,
          "A callback waits for work that its device does after the program that calls it; compute "
          "what it needs on another device, or before.",
          ""};
}

}  // namespace tuff::pjrt
