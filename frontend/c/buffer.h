// Making buffers of host tensors.
#pragma once

#include "frontend/c/objects.h"

namespace tuff::c {

// The caller's permission to use memory of its own, which ends with this; given back only where
// the import succeeds.
struct Release {
  void (*function)(void*) = nullptr;
  void* user = nullptr;
  bool armed = false;

  ~Release() {
    if (armed && function) function(user);
  }
};

// With a copy of the value.
Result<std::shared_ptr<BufferState>> create_buffer(const std::shared_ptr<DeviceState>& device,
                                                   const Literal& value);
// The value's own memory where the device reads it as it is, kept by `owner`; else a copy.
Result<std::shared_ptr<BufferState>> import_buffer(const std::shared_ptr<DeviceState>& device,
                                                   const Literal& value,
                                                   std::shared_ptr<const void> owner);

}  // namespace tuff::c
