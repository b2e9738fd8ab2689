#include "frontend/bench/bundle.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "backend/cost.h"
#include "frontend/session/arguments.h"
#include "frontend/session/model.h"
#include "frontend/weights/file.h"
#include "frontend/weights/json.h"
#include "frontend/weights/npy.h"
#include "frontend/weights/safetensors.h"

namespace tuff::bench {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::minutes kExportTimeout{15};
constexpr int kMaxDescriptionDepth = 32;  // of a description

Json json_of_type(const std::string& name, const TensorType& type) {
  Json shape = Json::array();
  for (int64_t extent : type.shape) shape.push_back(extent);
  return {{"name", name}, {"kind", "input"}, {"dtype", dtype_name(type.dtype)}, {"shape", shape}};
}

Status copy_model(const Model& model, const std::string& directory) {
  std::error_code error;
  fs::copy_file(model.module_path, directory + "/module.mlir", error);
  if (error)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("The module cannot be copied ({}).", error.message()), directory};
  if (model.weights_path.empty()) return {};
  fs::create_symlink(fs::absolute(model.weights_path), directory + "/weights.safetensors", error);
  if (!error) return {};
  return Error{ErrorCode::kRunFailed,
               fmt::format("The weights cannot be linked ({}).", error.message()), directory};
}

// Weights that the file has stay weights; all else becomes an input with a file.
Result<Json> write_arguments(const Model& model, const std::string& directory) {
  TUFF_ASSIGN(ArgumentValues values, gather_arguments(model, {{}, "", true}));
  std::optional<Safetensors> weights;
  if (!model.weights_path.empty()) {
    TUFF_ASSIGN(weights, Safetensors::open(model.weights_path));
  }
  Json arguments = Json::array();
  for (uint32_t i = 0; i < values.values.size(); ++i) {
    const std::string& name = model.arguments[i].name;
    Literal value = values.values[i].with_type(argument_type(model, i));
    arguments.push_back(json_of_type(name, value.type()));
    bool in_file = model.arguments[i].is_weight && weights && weights->find(name) != nullptr;
    if (in_file) {
      arguments.back()["kind"] = "weight";
      continue;
    }
    TUFF_RETURN_IF_ERROR(write_npy(fmt::format("{}/inputs/{}.npy", directory, name), value));
  }
  return arguments;
}

// An exporter's workload.json, with what the module says added to it; peers read it too.
Result<Json> complete_description(const std::string& directory) {
  std::string path = directory + "/workload.json";
  TUFF_ASSIGN(std::string text, read_file(path));
  TUFF_ASSIGN(Json description, parse_json_object<Json>(text, kMaxDescriptionDepth,
                                                        "The exporter's description", path));
  TUFF_ASSIGN(Model model, import_model(directory));
  description["precision"] = matmul_precision(model.graph);
  TUFF_RETURN_IF_ERROR(write_file(path, description.dump(1)));
  return description;
}

}  // namespace

Result<Bundle> export_workload(const std::string& name, const Sizes& sizes, const Launch& exporter,
                               const std::string& directory, const Interrupted& interrupted) {
  Launch launch = exporter;
  launch.log_path = directory + "/export.log";
  for (const std::string& word :
       {std::string("bundle"), name, directory + "/shape", directory + "/other_shape"})
    launch.command.push_back(word);
  if (sizes.batch) launch.command.push_back(fmt::format("--batch={}", *sizes.batch));
  if (sizes.seq) launch.command.push_back(fmt::format("--seq={}", *sizes.seq));
  TUFF_RETURN_IF_ERROR(run_to_end(launch, kExportTimeout, interrupted));
  Bundle bundle{directory + "/shape", directory + "/other_shape", {}};
  if (!fs::exists(bundle.other_shape)) bundle.other_shape.clear();
  TUFF_ASSIGN(bundle.description, complete_description(bundle.directory));
  if (bundle.other_shape.empty()) return bundle;
  Result<Json> other = complete_description(bundle.other_shape);
  if (!other.ok()) return other.take_error();
  return bundle;
}

Result<Bundle> bundle_model(const std::string& path, const std::string& directory) {
  TUFF_ASSIGN(Model model, import_model(path));
  const Graph& graph = model.graph;
  Bundle bundle{directory + "/shape", "", {}};
  fs::create_directories(bundle.directory + "/inputs");
  TUFF_RETURN_IF_ERROR(copy_model(model, bundle.directory));
  TUFF_ASSIGN(Json arguments, write_arguments(model, bundle.directory));
  Json results = Json::array();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    results.push_back(json_of_type(fmt::format("out{}", i), result_type(model, i)));
    results.back().erase("kind");
  }
  Json signature = {{"format", 1}, {"arguments", arguments}, {"results", results}};
  TUFF_RETURN_IF_ERROR(write_file(bundle.directory + "/signature.json", signature.dump(1)));
  fs::path named = fs::path(path).lexically_normal();
  std::string stem =
      named.has_filename() ? named.stem().string() : named.parent_path().stem().string();
  bundle.description = {{"name", stem},
                        {"path", path},
                        {"weights", model.weights_path.empty() ? "seeded" : "file"},
                        {"precision", matmul_precision(graph)}};
  TUFF_RETURN_IF_ERROR(write_file(bundle.directory + "/workload.json", bundle.description.dump(1)));
  return bundle;
}

}  // namespace tuff::bench
