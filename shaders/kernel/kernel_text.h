// The text form of Kernel. print then parse gives an equal kernel; the text is
// canonical, so it serves as identity (cache key) and as golden file.
#pragma once

#include <string>
#include <string_view>

#include "shaders/kernel/kernel.h"

namespace tuff {

std::string print_kernel(const Kernel& kernel);
Result<Kernel> parse_kernel(std::string_view text, const std::string& file);

}  // namespace tuff
