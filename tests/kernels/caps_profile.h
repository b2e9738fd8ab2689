// Devices by name: tests/kernels/profiles/NAME.caps, one line "field = value" for each field of
// Caps that is not a Vulkan device's least.
#pragma once

#include <string>
#include <vector>

#include "ir/caps.h"
#include "ir/support/result.h"

namespace tuff::test {

// The names, in order.
std::vector<std::string> caps_profiles();

// Errors: kBadInput naming the file and the line.
Result<Caps> read_caps_profile(const std::string& name);

}  // namespace tuff::test
