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

constexpr const char* kOnnxLink = "/model.onnx";

bool is_onnx(const Model& model) { return model.format == "ONNX"; }

Json json_of_type(const std::string& name, const TensorType& type) {
  Json shape = Json::array();
  for (int64_t extent : type.shape) shape.push_back(extent);
  return {{"name", name}, {"kind", "input"}, {"dtype", dtype_name(type.dtype)}, {"shape", shape}};
}

Status link_file(const std::string& path, const std::string& link) {
  std::error_code error;
  fs::create_symlink(fs::absolute(path), link, error);
  if (!error) return {};
  return Error{ErrorCode::kRunFailed,
               fmt::format("The model's files cannot be linked ({}).", error.message()), link};
}

Status copy_model(const Model& model, const std::string& directory) {
  if (is_onnx(model)) return link_file(model.module_path, directory + kOnnxLink);
  std::error_code error;
  fs::copy_file(model.module_path, directory + "/module.mlir", error);
  if (error)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("The module cannot be copied ({}).", error.message()), directory};
  if (model.weights_path.empty()) return {};
  return link_file(model.weights_path, directory + "/weights.safetensors");
}

// Weights that the file has stay weights; all else becomes an input with a file.
Result<Json> write_arguments(const Model& model, const std::vector<std::string>& inputs,
                             const std::string& directory) {
  TUFF_ASSIGN(ArgumentValues values, gather_arguments(model, {inputs, "", true}));
  std::optional<Safetensors> weights;
  if (!model.weights_path.empty()) {
    TUFF_ASSIGN(weights, Safetensors::open(model.weights_path));
  }
  Json arguments = Json::array();
  for (uint32_t i = 0; i < values.values.size(); ++i) {
    const std::string& name = model.arguments[i].name;
    // A weight without a file is in the model.
    if (model.arguments[i].is_weight && is_onnx(model)) continue;
    Literal value = values.values[i].with_type(argument_type(model, i));
    arguments.push_back(json_of_type(name, value.type()));
    bool in_file = model.arguments[i].is_weight && weights && weights->find(name) != nullptr;
    if (in_file) {
      arguments.back()["kind"] = "weight";
      continue;
    }
    // Names of ONNX's are any text, and no files' names.
    std::string file = is_onnx(model) ? std::to_string(i) : name;
    arguments.back()["file"] = file + ".npy";
    TUFF_RETURN_IF_ERROR(write_npy(fmt::format("{}/inputs/{}.npy", directory, file), value));
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

namespace {

// Errors: as import_model and gather_arguments have them.
Result<Json> write_bundle(const std::string& path, const std::string& name,
                          const ShapeSources& given, const std::string& directory) {
  TUFF_ASSIGN(Model model, import_model(path, given));
  const Graph& graph = model.graph;
  fs::create_directories(directory + "/inputs");
  TUFF_RETURN_IF_ERROR(copy_model(model, directory));
  TUFF_ASSIGN(Json arguments, write_arguments(model, given.inputs, directory));
  Json results = Json::array();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    results.push_back(json_of_type(model.results[i], result_type(model, i)));
    results.back().erase("kind");
  }
  Json signature = {{"format", 1}, {"arguments", arguments}, {"results", results}};
  TUFF_RETURN_IF_ERROR(write_file(directory + "/signature.json", signature.dump(1)));
  bool has_weights = is_onnx(model) || !model.weights_path.empty();
  Json description = {{"name", name},
                      {"path", path},
                      {"weights", has_weights ? "file" : "seeded"},
                      {"precision", matmul_precision(graph)}};
  TUFF_RETURN_IF_ERROR(write_file(directory + "/workload.json", description.dump(1)));
  return description;
}

}  // namespace

Result<Bundle> bundle_model(const std::string& path, const std::string& name,
                            const ModelShapes& shapes, const std::string& directory) {
  Bundle bundle{directory + "/shape", "", {}};
  TUFF_ASSIGN(bundle.description, write_bundle(path, name, shapes.given, bundle.directory));
  if (shapes.other.empty()) return bundle;
  bundle.other_shape = directory + "/other_shape";
  Result<Json> other = write_bundle(path, name, {shapes.other, {}}, bundle.other_shape);
  if (!other.ok()) return other.take_error();
  return bundle;
}

Result<BundledModel> bundled_model(const std::string& directory) {
  std::error_code error;
  fs::path onnx = fs::read_symlink(directory + kOnnxLink, error);
  BundledModel model{error ? directory : onnx.string(), {}};
  std::string path = directory + "/signature.json";
  TUFF_ASSIGN(std::string text, read_file(path));
  TUFF_ASSIGN(Json signature,
              parse_json_object<Json>(text, kMaxDescriptionDepth, "The bundle's signature", path));
  for (const Json& argument : signature.value("arguments", Json::array())) {
    if (argument.value("kind", "") == "weight") continue;
    std::string name = argument.value("name", ""), file = argument.value("file", name + ".npy");
    model.inputs.push_back(fmt::format("{}={}/inputs/{}", name, directory, file));
  }
  return model;
}

}  // namespace tuff::bench
