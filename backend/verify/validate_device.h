// A device that watches over another one.
#pragma once

#include <memory>

#include "backend/device.h"

namespace tuff {

// Runs everything on `device` and checks what only a load or a run knows:
//   * load: the program is valid for the device (verify_program.h);
//   * run: each buffer is there and of its size, outputs are apart from each other and from
//     arguments but for donations in place, and arguments that were not given up hold after the
//     run what they held before it. Outputs are filled with ones beforehand, so that what a
//     kernel leaves out is a NaN and no result of the last run.
// Buffers are the device's own. Costs two reads of every argument a run.
std::unique_ptr<Device> validate_device(std::unique_ptr<Device> device);

// As `device`, watched over if TUFF_VERIFY asks for it (asked.h).
std::unique_ptr<Device> validate_device_if_asked(std::unique_ptr<Device> device);

// The device that runs the work of this one: itself, if it watches nothing.
Device& watched_device(Device& device);

}  // namespace tuff
