// LAPACK's functions over batches of matrices.
#pragma once

#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// Errors: kUnsupported where the build has no LAPACK, or a matrix is too large for its integers.
Result<LibraryCallPtr> create_lapack_call(const HostCall& call);

}  // namespace tuff::cpu
