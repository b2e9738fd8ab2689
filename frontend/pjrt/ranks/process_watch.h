// Whether other processes of this machine still run.
#pragma once

#include <string>

namespace tuff::pjrt {

// Names this process to others.
std::string own_process();

// A file descriptor that becomes readable when the process ends, for the caller to close; -1 where
// that cannot be known: it is on another machine, or does not see this one's processes. `ended` is
// set if it has ended already.
int watch_process(const std::string& process, bool* ended);

}  // namespace tuff::pjrt
