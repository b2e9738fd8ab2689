// What a profile says of one step: its library call, its tensors, its source.
#pragma once

#include <string>
#include <vector>

#include "backend/program.h"

namespace tuff {

// "matmul 128x256x64 (m, n, k)"; empty iff the step is no library call.
std::string call_text(const Step& step);

// What its group reads and writes: "f32[3,5], f32[5,7] -> f32[3,7]"; empty without a group.
std::string shapes_of(const Step& step);

// Where the members of its group stand in the source, each place once.
std::vector<std::string> places_of(const Step& step);

}  // namespace tuff
