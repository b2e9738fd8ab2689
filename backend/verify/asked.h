// Whether this process checks its own work.
#pragma once

namespace tuff {

// True iff TUFF_VERIFY is set to something other than 0: graphs are verified after each
// pass, kernels and plans once they are made (compile.h), and devices watch each load and
// run (validate_device.h).
bool verification_asked();

}  // namespace tuff
