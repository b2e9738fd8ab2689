// Tensors between a device's memory and the host, in the host's element types; the device may
// store them in others (backend/storage_convert.h). From any thread.
#pragma once

#include "backend/device.h"
#include "ir/literal.h"

namespace tuff {

// True iff the device's memory is the host's.
inline bool is_host(const Caps& caps) { return caps.device_class == DeviceClass::kCpu; }

// Copies to `to`, which has room for the type's elements.
Status read_tensor(Device& device, const Buffer& memory, const TensorType& type, std::byte* to);
// On the CPU device the memory itself, which must not be written to as long as it is read.
Result<Literal> read_literal(Device& device, const BufferPtr& memory, const TensorType& type);
// Into memory of the stored type's size.
Status write_tensor(Device& device, Buffer& memory, const Literal& value);

}  // namespace tuff
