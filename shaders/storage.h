// How elements lie in a device's memory. Narrow types that a device cannot
// store are held widened to 32 bits: integers and booleans by value, f16 and
// bf16 as f32; uploads and downloads convert.
#pragma once

#include <cstdint>

#include "ir/caps.h"
#include "ir/type.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// The host type whose bytes a device holds for elements of `dtype`: itself where
// it can be stored, else i32, ui32 (also for bool: 0 or 1) or f32.
DType storage_dtype(DType dtype, const Caps& caps);

// Bytes of one element in device memory, and of a tensor.
int64_t storage_size(DType dtype, const Caps& caps);
int64_t storage_bytes(const TensorType& type, const Caps& caps);

// Bytes of workgroup memory the GLSL of a kernel takes: shared arrays (narrow
// types widened to 32 bits) and the scratch of reduce_lanes.
int64_t shared_size_bytes(const Kernel& kernel);

}  // namespace tuff
