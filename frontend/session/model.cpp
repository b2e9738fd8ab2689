#include "frontend/session/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "frontend/stablehlo/read.h"
#include "frontend/weights/file.h"

namespace tuff {

namespace {

Error unknown_format(const std::string& path) {
  std::vector<std::string_view> names;
  for (const ModelFormat& format : model_formats())
    if (format.read) names.push_back(format.name);
  return {ErrorCode::kBadInput,
          fmt::format("The bytes are of no format that tuff knows; it reads: {}.",
                      fmt::join(names, ", ")),
          path};
}

// Names where the reader gave none: the graph's own.
void name_arguments(Model* model) {
  const Graph& graph = model->graph;
  for (auto i = static_cast<uint32_t>(model->arguments.size()); i < graph.num_parameters(); ++i) {
    const std::string& name = graph.parameter_name(i);
    model->arguments.push_back({name.empty() ? fmt::format("arg{}", i) : name, false, {}, {}});
  }
  for (size_t i = model->results.size(); i < graph.outputs().size(); ++i)
    model->results.push_back(fmt::format("out{}", i));
}

}  // namespace

Result<ModelBytes> open_model(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return ModelBytes{path, {}, nullptr, true};
  TUFF_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  return ModelBytes{path, bytes, std::move(file), false};
}

Result<Model> read_model(const ModelBytes& bytes, const AskShapes& shapes) {
  const ModelFormat* format = recognise(bytes);
  if (!format) return unknown_format(bytes.path);
  if (!format->read) return Error{ErrorCode::kUnsupported, format->advice, bytes.path};
  bool asked = false;
  AskShapes watched(
      [&] {
        asked = true;
        return shapes();
      },
      shapes.value);
  watched.shape_option = shapes.shape_option;
  TUFF_ASSIGN(Model model, format->read(bytes, watched));
  if (!asked && !shapes.given.empty())
    return Error{ErrorCode::kUsage, "The model's shapes are fixed; none can be given.",
                 shapes.given};
  model.path = bytes.path;
  model.format = format->name;
  if (model.module_path.empty()) model.module_path = bytes.path;
  name_arguments(&model);
  return model;
}

namespace {

// All of the standard input, to its end.
Result<ModelBytes> read_standard_input() {
  auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(std::cin),
                                             std::istreambuf_iterator<char>());
  if (std::cin.bad())
    return Error{ErrorCode::kRunFailed, "The standard input does not read.", "stdin"};
  return ModelBytes{"stdin", *bytes, bytes, false};
}

}  // namespace

Result<Model> import_model(const std::string& path, const ShapeSources& shapes) {
  TUFF_ASSIGN(ModelBytes bytes, path == "-" ? read_standard_input() : open_model(path));
  AskShapes ask(
      [&] { return gather_shapes(shapes); },
      [&](const std::string& name, size_t index) { return find_input(shapes, name, index); });
  ask.shape_option = "--shape ";
  if (!shapes.shapes.empty()) ask.given = ask.shape_option + shapes.shapes[0];
  return read_model(bytes, ask);
}

Result<Model> import_bytes(std::string_view bytes, const std::string& name) {
  return read_model({name, bytes, nullptr, false},
                    AskShapes([] { return Result<ArgumentShapes>(ArgumentShapes()); }));
}

namespace {

// The first `size` elements of a dimension.
Literal first_elements(const Literal& from, int64_t dimension, int64_t size) {
  TensorType type = from.type();
  auto d = static_cast<size_t>(dimension);
  int64_t whole = type.shape[d], rows = 1, bytes = dtype_size(type.dtype);
  type.shape[d] = size;
  for (size_t i = 0; i < type.shape.size(); ++i)
    (i < d ? rows : bytes) *= i == d ? 1 : type.shape[i];
  Literal cut(type);
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(from.bytes() + row * whole * bytes, size * bytes,
                cut.mutable_bytes() + row * size * bytes);
  return cut;
}

}  // namespace

std::vector<Literal> user_results(const Model& model, std::vector<Literal> outputs) {
  for (size_t i = 0; i < model.result_dtypes.size(); ++i)
    outputs[i] = outputs[i].with_type(result_type(model, i));
  if (model.counted.empty()) return outputs;
  size_t results = outputs.size();
  for (const CountedResult& counted : model.counted) {
    Literal& whole = outputs[counted.result];
    int64_t largest = whole.type().shape[static_cast<size_t>(counted.dimension)];
    int64_t size = std::clamp<int64_t>(outputs[counted.count].get_int(0), 0, largest);
    whole = first_elements(whole, counted.dimension, size);
    results = std::min(results, counted.count);
  }
  outputs.resize(results);
  return outputs;
}

Result<WholeProgram> import_whole_program(std::string_view bytes, const std::string& name) {
  return read_whole_program(bytes, name);
}

Result<WholeProgram> import_for_mesh(const std::string& path, std::span<const int64_t> extents) {
  TUFF_ASSIGN(ModelBytes bytes, path == "-" ? read_standard_input() : open_model(path));
  for (const char* name : {"module.mlir", "module.mlirbc"})
    if (bytes.is_directory && bytes.holds(name)) {
      TUFF_ASSIGN(bytes, open_model((std::filesystem::path(path) / name).string()));
    }
  const ModelFormat* format = recognise(bytes);
  if (!format) return unknown_format(bytes.path);
  if (format->read != &stablehlo::read_model)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("A {} does not say how it is spread over a mesh; StableHLO does.",
                             format->name),
                 bytes.path};
  return read_whole_program(bytes.bytes, bytes.path, extents);
}

}  // namespace tuff
