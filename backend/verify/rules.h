// The parts of verify_program.
#pragma once

#include <string>
#include <vector>

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

Error plan_error(const Step& step, const std::string& message);

// What a step does to the range of one of its bindings. kReadWrite of a kernel is a write: what
// it reads there it may have written itself.
struct StepAccess {
  Range range;  // of a donated argument: its output's
  bool writes = false;
  // By a kernel that runs several steps with barriers between: it may have written there what it
  // reads, and reads and writes there in its own order.
  bool among_steps = false;
};

// One per binding. The step has the form that verify_steps asks for.
std::vector<StepAccess> accesses_of(const Step& step, const Program& program,
                                    const std::vector<Donation>& donations);

// Form and bounds of each step by itself.
Status verify_steps(const Program& program, const Caps& caps);
// What a step writes is apart from what else it touches; what it reads is there. `donations`:
// those that a run makes use of.
Status verify_flow(const Program& program, const Caps& caps,
                   const std::vector<Donation>& donations);
// Barriers stand where they must.
Status verify_hazards(const Program& program, const std::vector<Donation>& donations);

}  // namespace tuff
