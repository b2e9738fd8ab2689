// What the host does as it stands: steps of kind kHost on this device.
#pragma once

#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// Operands: arguments, then results, those without elements left out. Errors: kUnsupported for a
// function that the build does not have.
Result<LibraryCallPtr> create_host_call(const HostCall& call);

}  // namespace tuff::cpu
