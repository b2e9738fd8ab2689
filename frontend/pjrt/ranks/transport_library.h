// The library that carries bytes between processes.
#pragma once

#include "frontend/pjrt/ranks/transport.h"
#include "ir/support/result.h"

namespace tuff::pjrt {

// The library that TUFF_TRANSPORT names, by its file or by a word (gloo, ucx), which is
// libtuff_WORD.so beside this one; by default the first of these that opens. Errors: kNoDevice
// saying what to install.
Result<const TransportApi*> open_transport_library();

}  // namespace tuff::pjrt
