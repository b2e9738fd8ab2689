// The reader of bundles: directories {module, weights.safetensors, signature.json} (format:
// frontend/python/README.md).
#include <fmt/format.h>

#include <filesystem>

#include "frontend/session/model.h"
#include "frontend/weights/file.h"
#include "frontend/weights/signature.h"

namespace tuff::bundle {

namespace {

namespace fs = std::filesystem;

// The signature and the imported graph must agree on counts and types.
Status check_signature(const Signature& signature, const std::string& file, const Model& model) {
  const Graph& graph = model.graph;
  auto bad = [&](std::string sentence) {
    return Error{ErrorCode::kBadInput, std::move(sentence), file};
  };
  if (signature.arguments.size() != graph.num_parameters() ||
      signature.results.size() != graph.outputs().size())
    return bad(fmt::format(
        "The signature lists ({}) arguments and ({}) results; the module has ({}) and ({}).",
        signature.arguments.size(), signature.results.size(), graph.num_parameters(),
        graph.outputs().size()));
  auto check = [&](const char* what, size_t i, const std::string& name, const TensorType& listed,
                   const TensorType& type) -> Status {
    if (listed == type) return {};
    return bad(fmt::format("The {} {} ({}) has type ({}) in the signature and ({}) in the module.",
                           what, i, name, listed.to_string(), type.to_string()));
  };
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    TUFF_RETURN_IF_ERROR(check("argument", i, signature.arguments[i].name,
                               signature.arguments[i].type, argument_type(model, i)));
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    TUFF_RETURN_IF_ERROR(check("result", i, signature.results[i].name, signature.results[i].type,
                               result_type(model, i)));
  return {};
}

Result<std::string> find_module(const ModelBytes& bundle) {
  for (const char* name : {"module.mlir", "module.mlirbc"})
    if (bundle.holds(name)) return (fs::path(bundle.path) / name).string();
  return Error{ErrorCode::kBadInput, "The bundle holds neither module.mlir nor module.mlirbc.",
               bundle.path};
}

}  // namespace

Result<Model> read_model(const ModelBytes& bundle, const AskShapes& shapes) {
  TUFF_ASSIGN(std::string module_path, find_module(bundle));
  std::string signature_path = (fs::path(bundle.path) / "signature.json").string();
  TUFF_ASSIGN(std::string json, read_file(signature_path));
  TUFF_ASSIGN(Signature signature, parse_signature(json, signature_path));
  TUFF_ASSIGN(ModelBytes module, open_model(module_path));
  TUFF_ASSIGN(Model model, tuff::read_model(module, shapes));
  TUFF_RETURN_IF_ERROR(check_signature(signature, signature_path, model));
  model.arguments.clear(), model.results.clear();
  for (SignatureArgument& argument : signature.arguments)
    model.arguments.push_back({std::move(argument.name), argument.is_weight, argument.init, {}});
  for (SignatureResult& result : signature.results) model.results.push_back(std::move(result.name));
  if (bundle.holds("weights.safetensors"))
    model.weights_path = (fs::path(bundle.path) / "weights.safetensors").string();
  if (std::error_code ignored; fs::is_directory(fs::path(bundle.path) / "inputs", ignored))
    model.inputs_path = (fs::path(bundle.path) / "inputs").string();
  return model;
}

}  // namespace tuff::bundle
