// A minimal .npy reader (format 1.0, C order, little endian) for the suites' arrays.
#pragma once

#include <string>

#include "ir/literal.h"

namespace tuff::conformance {

// The array at `path` as a literal of element type `dtype`; the storage type in
// the file must have that type's size (bf16 is stored as uint16, for one).
Result<Literal> read_npy(const std::string& path, DType dtype);

}  // namespace tuff::conformance
