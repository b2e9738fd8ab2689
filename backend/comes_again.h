// Which operands a step finds unchanged in the next run: weights that a copy in another
// layout pays for.
#pragma once

#include <algorithm>

#include "backend/program.h"

namespace tuff {

// True of constants and of arguments that the program does not replace.
inline bool comes_again(const Program& program, const Range& range) {
  if (range.space == Range::Space::kConstants) return true;
  return range.space == Range::Space::kArgument &&
         std::none_of(program.donations.begin(), program.donations.end(),
                      [&](const Donation& donation) { return donation.argument == range.index; });
}

}  // namespace tuff
