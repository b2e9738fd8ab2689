// Values for a model's arguments: files given by hand, a weights file, what was read with the
// model, seeded weights; what is left is refused or seeded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/session/reader.h"

namespace tuff {

struct ArgumentSources {
  // "FILE.npy" or "NAME=FILE.npy"; NAME is the argument's name or number. Files
  // without a name go to the arguments of kind "input" in order (every argument,
  // where there is no signature). Where none is given, a bundle's own (inputs/NAME.npy) are taken.
  std::vector<std::string> inputs;
  std::string weights_path;   // instead of the bundle's own; empty: the bundle's
  bool seed_missing = false;  // else a missing argument is an error
};

struct ArgumentValues {
  std::vector<Literal> values;              // in parameter order, of the graph's types
  std::vector<std::string> bundled_inputs;  // names of those that the bundle has files for
  std::vector<std::string> seeded_weights;  // names filled from the signature's init
  std::vector<std::string> seeded_inputs;   // names filled because nothing was given
};

// Errors: kUsage for arguments without a value (all are named) and for names that
// do not exist; kBadInput for files whose type is not the argument's.
Result<ArgumentValues> gather_arguments(const Model& model, const ArgumentSources& sources);

// What the model or its weights file (another one, where `weights_path` is not empty) has values
// for, in parameter order and as its user sees them; nothing for the rest. Errors: kBadInput, as
// above.
Result<std::vector<std::optional<Literal>>> gather_weights(const Model& model,
                                                           const std::string& weights_path);

}  // namespace tuff
