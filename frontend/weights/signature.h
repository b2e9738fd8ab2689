// signature.json of a bundle: names, kinds and types of a model's arguments and results (format:
// frontend/python/README.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/weights/seeded.h"
#include "ir/type.h"

namespace tuff {

struct SignatureArgument {
  std::string name;
  bool is_weight = false;
  TensorType type;
  std::optional<SeededInit> init;  // the value follows from the name
};
struct SignatureResult {
  std::string name;
  TensorType type;
};

// signature.json. Names are not empty and arguments' names differ.
struct Signature {
  std::vector<SignatureArgument> arguments;
  std::vector<SignatureResult> results;
};

// Errors: kBadInput naming `file` and the entry; kUnsupported for element types
// and format versions tuff has not.
Result<Signature> parse_signature(std::string_view json, const std::string& file);

}  // namespace tuff
