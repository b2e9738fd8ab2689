// Saved programs out; read.cpp takes them in, as a format of models.
#pragma once

#include <string>

#include "frontend/session/reader.h"

namespace tuff::saved {

// The model with its arguments' values and its code. The file is replaced as a whole or not at
// all. Errors: those of write_file.
Status write(const std::string& path, const Model& model);

}  // namespace tuff::saved
