// Kernels that another class of device would get, on this one: what a GPU will run is proven right
// where there is none.
#pragma once

#include "ir/caps.h"
#include "ir/support/result.h"

namespace tuff {

// What TUFF_SCHEDULE_AS asks for, as far as the device's own limits allow; nothing where it is not
// set. Its value is CLASS:LANES, "discrete:32": "discrete" or "integrated", and the lanes of a
// subgroup that schedules reckon with. Lanes read each other's registers, and multiply matrices,
// only where subgroups have that size. Measured schedules, which are the device's own, go.
// Errors: kUsage for another value.
Status schedule_as_asked(Caps& caps);
// The same for a value by hand.
Status schedule_as(const std::string& value, Caps& caps);

}  // namespace tuff
