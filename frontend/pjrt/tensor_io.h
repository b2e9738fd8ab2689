// Tensors between a device's memory and the host, in the host's element types.
#pragma once

#include "frontend/pjrt/runtime.h"

namespace tuff::pjrt {

// Copies to `to`, which has room for the type's elements.
Status read_tensor(Device& device, const Buffer& memory, const TensorType& type, std::byte* to);
// On the CPU device the memory itself, which must not be written to as long as it is read.
Result<Literal> read_literal(Device& device, const BufferPtr& memory, const TensorType& type);
Result<BufferPtr> write_literal(Runtime& runtime, const Literal& value);

}  // namespace tuff::pjrt
