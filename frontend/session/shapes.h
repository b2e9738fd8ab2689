// The shapes of arguments that a module leaves open, as the user gives them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/session/reader.h"

namespace tuff {

struct ShapeSources {
  std::vector<std::string> shapes;  // "NAME=2x64"; "NAME=" for no dimension
  std::vector<std::string> inputs;  // as in ArgumentSources: an array's shape is its argument's
};

// Errors: kUsage for a shape that is not written so; what read_npy says of a file.
Result<ArgumentShapes> gather_shapes(const ShapeSources& sources);

// The array that is given for an argument, by its name, or its number where that has none.
// Errors: what read_npy says of a file.
Result<std::optional<Literal>> find_input(const ShapeSources& sources, const std::string& name,
                                          size_t index);

}  // namespace tuff
