// Ctrl-C: the first one asks, and what runs ends at its next check; if it has not
// within a moment, or on a second Ctrl-C, the process ends at once. Exit code 130.
#pragma once

#include "ir/support/result.h"

namespace tuff::cli {

void install_interrupt_handler();

// For work that writes results when it is interrupted: the moment is this long.
void allow_seconds_to_end(unsigned seconds);

// kInterrupted once Ctrl-C was pressed. Long work asks between its steps.
Status check_interrupt();

}  // namespace tuff::cli
