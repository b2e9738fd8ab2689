// Where this process is, and how others reach it.
#pragma once

#include <string>

namespace tuff::pjrt {

// The machine's name.
std::string host_name();

// Equal for processes that reach each other by the loopback interface: on one machine, and in
// one network of it.
std::string machine_id();

// What others reach this machine by: TUFF_HOST, else the address that belongs to its name,
// else its first one. Empty where there is only the loopback interface.
std::string own_address();

}  // namespace tuff::pjrt
