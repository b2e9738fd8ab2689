// Host tensors to and from the form a device stores them in (shaders/storage.h); complex ones as
// their parts.
#pragma once

#include "ir/caps.h"
#include "ir/literal.h"

namespace tuff {

// The type that the device has in its memory for a tensor of this type.
TensorType stored_type(const TensorType& type, const Caps& caps);

// The literal itself where the device stores its type; else a widened copy.
Literal to_storage(const Literal& value, const Caps& caps);
// The reverse; `stored` has the storage type's elements.
Literal from_storage(const Literal& stored, const TensorType& type);

}  // namespace tuff
