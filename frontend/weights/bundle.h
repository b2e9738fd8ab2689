// What MODEL names on the command line: a module file, or a bundle directory
// {module, weights.safetensors, signature.json} (format: frontend/python/README.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/weights/seeded.h"
#include "ir/graph.h"

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

// A model before import. A module file alone has no signature.
struct Model {
  std::string path;         // as the user gave it
  std::string module_path;  // text or bytecode
  std::string module_bytes;
  std::optional<Signature> signature;
  std::string signature_path;
  std::string weights_path;  // empty: the bundle has no weights file
};

// Errors: kBadInput for what is missing or malformed, kUnsupported for .onnx.
Result<Model> read_model(const std::string& path);

// The signature and the imported graph must agree on counts and types.
Status check_signature(const Model& model, const Graph& graph);

}  // namespace tuff
