#include "frontend/conformance/run_manifest.h"

#include <filesystem>

#include "frontend/session/model.h"
#include "frontend/weights/file.h"
#include "frontend/weights/json.h"
#include "frontend/weights/npy.h"

namespace tuff::conformance {

namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 8;  // {"cases": [{"inputs": [{"shape": [, and room

std::vector<Array> parse_arrays(const Json& list) {
  std::vector<Array> arrays;
  for (const Json& entry : list) {
    Array array;
    array.file = entry.value("file", "");
    array.name = entry.value("name", "");
    array.dtype = entry.value("dtype", "");
    array.shape = entry.value("shape", Shape{});
    array.tolerance = {entry.value("mode", "eq"), entry.value("strict_atol", 0.0),
                       entry.value("max_ulp", int64_t{3}), entry.value("rtol", 0.0),
                       entry.value("atol", 0.0)};
    arrays.push_back(std::move(array));
  }
  return arrays;
}

Case parse_case(const Json& entry) {
  Case test;
  test.name = entry.value("name", "");
  test.family = entry.value("family", "");
  test.op = entry.value("op", "");
  test.group = entry.value("group", "");
  test.tags = entry.value("tags", std::vector<std::string>{});
  test.dtypes = entry.value("dtypes", std::vector<std::string>{});
  test.file = entry.value("file", "");
  test.bytecode = entry.value("bytecode", "");
  test.import_only = entry.value("check", "") == "import_only";
  test.processes =
      entry.value("num_replicas", int64_t{1}) * entry.value("num_partitions", int64_t{1});
  test.empty = entry.value("empty", std::vector<std::string>{});
  if (entry.contains("inputs")) test.inputs = parse_arrays(entry["inputs"]);
  if (entry.contains("expected")) test.expected = parse_arrays(entry["expected"]);
  return test;
}

Result<std::vector<Literal>> read_arrays(const Manifest& manifest,
                                         const std::vector<Array>& arrays) {
  std::vector<Literal> literals;
  for (const Array& array : arrays) {
    TUFF_ASSIGN(DType dtype, parse_element_type(array.dtype));
    TUFF_ASSIGN(Literal literal, read_npy(manifest.folder + "/" + array.file, dtype));
    if (literal.type().shape != array.shape)
      return Error{ErrorCode::kBadInput, "The array's shape is not the manifest's.", array.file};
    literals.push_back(std::move(literal));
  }
  return literals;
}

// What a reader may ask of a case's inputs.
AskShapes ask_inputs(const Case& test, const Result<std::vector<Literal>>& inputs) {
  return AskShapes(
      [&test] {
        ArgumentShapes shapes;
        for (size_t i = 0; i < test.inputs.size(); ++i) {
          const std::string& name = test.inputs[i].name;
          shapes[name.empty() ? std::to_string(i) : name] = test.inputs[i].shape;
        }
        for (const std::string& name : test.empty) shapes[name] = {0};
        return Result<ArgumentShapes>(std::move(shapes));
      },
      [&inputs](const std::string&, size_t i) {
        std::optional<Literal> value;
        if (inputs.ok() && i < inputs->size()) value = (*inputs)[i];
        return Result<std::optional<Literal>>(std::move(value));
      });
}

CaseResult from_error(const Case& test, Outcome outcome, const Error& error) {
  if (error.code == ErrorCode::kUnsupported) outcome = Outcome::kUnsupported;
  return {test.name, outcome, error.to_string()};
}

CaseResult compare_all(const Case& test, const Model& model, const std::vector<Literal>& got,
                       const std::vector<Literal>& expected) {
  if (got.size() != expected.size())
    return {test.name, Outcome::kMismatch,
            "The number of outputs (" + std::to_string(got.size()) + ") is not (" +
                std::to_string(expected.size()) + ")."};
  CaseResult result{test.name, Outcome::kStrict, ""};
  for (size_t i = 0; i < got.size(); ++i) {
    std::string output = "Output (" + std::to_string(i) + ") ";
    const std::string& name = test.expected[i].name;
    if (!name.empty() && model.results[i] != name)
      return {test.name, Outcome::kMismatch,
              output + "is called (" + model.results[i] + "), not (" + name + ")."};
    if (got[i].type() != expected[i].type())
      return {test.name, Outcome::kMismatch,
              output + "has type (" + got[i].type().to_string() + ") where (" +
                  expected[i].type().to_string() + ") is expected."};
    Comparison c = compare(got[i], expected[i], test.expected[i].tolerance);
    if (c.tolerant_failures > 0)
      return {test.name, Outcome::kMismatch,
              output + "differs in (" + std::to_string(c.tolerant_failures) + ") of (" +
                  std::to_string(got[i].num_elements()) + ") elements; " + c.first + "."};
    if (c.strict_failures > 0)
      result = {test.name, Outcome::kTolerant, output + "is not strictly equal; " + c.first + "."};
  }
  return result;
}

}  // namespace

Result<Manifest> load_manifest(const std::string& path, const std::string& cases_folder) {
  namespace fs = std::filesystem;
  fs::path file = fs::is_directory(path) ? fs::path(path) / "manifest.json" : fs::path(path);
  TUFF_ASSIGN(std::string text, read_file(file.string()));
  TUFF_ASSIGN(Json json, parse_json_object<Json>(text, kMaxDepth, "The manifest", file.string()));
  if (!json.contains("cases"))
    return Error{ErrorCode::kBadInput, "The manifest is not JSON with cases.", file.string()};
  Manifest manifest;
  manifest.suite = json.value("suite", "");
  manifest.folder = cases_folder.empty() ? file.parent_path().string() : cases_folder;
  for (const Json& entry : json["cases"]) manifest.cases.push_back(parse_case(entry));
  return manifest;
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStrict: return "strict";
    case Outcome::kTolerant: return "tolerant";
    case Outcome::kMismatch: return "mismatch";
    case Outcome::kNotImported: return "not imported";
    case Outcome::kUnsupported: return "unsupported";
    case Outcome::kRunFailed: break;
  }
  return "run failed";
}

CaseResult run_case(const Manifest& manifest, const Case& test, const Runner& runner, Form form) {
  const std::string& module = form == Form::kText ? test.file : test.bytecode;
  Result<std::string> bytes = read_file(manifest.folder + "/" + module);
  if (!bytes.ok()) return from_error(test, Outcome::kNotImported, bytes.error());
  auto inputs = read_arrays(manifest, test.inputs);
  Result<Model> model = read_model({module, *bytes, nullptr, false}, ask_inputs(test, inputs));
  if (!model.ok()) return from_error(test, Outcome::kNotImported, model.error());
  if (test.processes > 1)
    return {test.name, Outcome::kUnsupported,
            "The case is one program for (" + std::to_string(test.processes) +
                ") processes; tuff runs one."};
  if (test.import_only) return {test.name, Outcome::kStrict, ""};
  if (!inputs.ok()) return from_error(test, Outcome::kNotImported, inputs.error());
  auto expected = read_arrays(manifest, test.expected);
  if (!expected.ok()) return from_error(test, Outcome::kNotImported, expected.error());
  // What comes with the model follows its inputs.
  for (size_t i = inputs->size(); i < model->arguments.size(); ++i)
    if (model->arguments[i].value) inputs->push_back(*model->arguments[i].value);
  for (Literal& input : *inputs) input = as_parts(input);
  Result<std::vector<Literal>> got = runner(model->graph, *inputs);
  if (!got.ok()) return from_error(test, Outcome::kRunFailed, got.error());
  return compare_all(test, *model, user_results(*model, std::move(*got)), *expected);
}

}  // namespace tuff::conformance
