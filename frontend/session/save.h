// A program as a file that read_model takes.
#pragma once

#include <string>

#include "backend/device.h"
#include "frontend/session/reader.h"

namespace tuff {

// The model with the values that its arguments have, and what the device compiled of it: loading
// it on such a device compiles nothing; on another one the kernels that it lacks are compiled.
// Errors: kUnsupported for programs that call back into their caller, those of write_file.
Status save_program(const std::string& path, Model model, const Program& program, Device& device);

// So that whoever loads the program gives them; what shapes follow from stays.
void leave_values_out(Model* model);

}  // namespace tuff
