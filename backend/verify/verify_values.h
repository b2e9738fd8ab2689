// Does every value survive where the plan puts it?
#pragma once

#include <vector>

#include "backend/plan/slot_code.h"

namespace tuff {

// Runs the code over a memory that knows only which slot's value lies where: who reads a
// slot must find the value that was written to it last, whatever branches and rounds came
// between. Knows nothing of live ranges, so that it can find fault with them. `places`: by
// slot; of no bytes where nothing touches the slot.
// Errors: kRunFailed naming the value, who reads it and what lies there instead.
Status verify_values(const SlotProgram& program, const std::vector<Range>& places,
                     const std::vector<Donation>& donations);

}  // namespace tuff
