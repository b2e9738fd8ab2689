// NumPy's .npy arrays, formats 1.0 and 2.0, little endian, no pickles. Element
// types that NumPy lacks are stored by their bits: bf16 as uint16.
#pragma once

#include <optional>
#include <string>

#include "ir/literal.h"

namespace tuff {

// The array at `path`, in C order (Fortran order is transposed). With `as`, the
// file must hold what that type is stored as, and a uint16 file can be a bf16
// array; without, the type is the file's own. The file is mapped: the array is a view on it where
// it lies there as it should. Errors: kBadInput naming the file
// and what is wrong; kUnsupported for element types tuff has not.
Result<Literal> read_npy(const std::string& path, std::optional<DType> as = std::nullopt);

// Writes format 1.0 in C order. Errors: kRunFailed when the file cannot be written.
Status write_npy(const std::string& path, const Literal& literal);

}  // namespace tuff
