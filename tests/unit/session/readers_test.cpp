// The registry: each format by its bytes, whatever the file is called, and what is said of the
// rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>

#include "frontend/session/model.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

constexpr const char* kModule =
    "func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n";
constexpr const char* kSignature = R"({"format": 1, "arguments": [
  {"name": "x", "kind": "input", "dtype": "f32", "shape": [2]}],
  "results": [{"name": "twice", "dtype": "f32", "shape": [2]}]})";

// The header of a zip's first entry.
std::string zip(const std::string& name) {
  return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(name.size()) + std::string(3, '\0') +
         name;
}

// A FlatBuffer whose root table has the module as its field 13, and no other.
std::string exported(const std::string& module) {
  std::string vtable = "\x20\0\x08\0"s + std::string(2 * 13, '\0') + "\4\0"s;
  std::string table = static_cast<char>(vtable.size()) + "\0\0\0\4\0\0\0"s;
  return static_cast<char>(4 + vtable.size()) + "\0\0\0"s + vtable + table +
         static_cast<char>(module.size()) + "\0\0\0"s + module;
}

// How files of each format begin, under a name that says nothing.
const std::multimap<std::string, std::string>& starts() {
  static const std::multimap<std::string, std::string> starts = {
      {"saved program", "TUFFPROG\1\0\0\0"s},
      {"StableHLO bytecode", "ML\xEFR\x01rest"s},
      {"JAX export", exported("ML\xEFR\x01rest")},
      {"StableHLO text", kModule},
      {"StableHLO text", "// a comment\nmodule {\n}\n"},
      {"GGUF", "GGUF\3\0\0\0"s},
      {"TensorFlow Lite", "\x1c\0\0\0TFL3"s},
      {"NumPy array", "\x93NUMPY\1\0"s},
      {"NumPy archive", zip("w.npy")},
      {"PyTorch", zip("archive/data.pkl")},
      {"PyTorch", zip("model/archive_format")},
      {"PyTorch",
       "\x80\x02\x8a\x0al\xfc\x9c"
       "F\xf9 j\xa8P\x19."s},
      {"Keras", "\x89HDF\r\n\x1a\n\0"s},
      {"safetensors", "\x40\0\0\0\0\0\0\0{\"__metadata__\":"s},
      {"HLO text", "HloModule jit_f, entry_computation_layout={}"},
      {"TensorFlow or HLO protobuf", "\x08\x01\x12\x10"s},
      {"ONNX", "\x08\x07\x12\x07pytorch"s},
      {"ONNX", "\x08\x0a\x3a\x50"s},
  };
  return starts;
}

std::string format_of(const std::string& path) {
  auto file = open_model(path);
  if (!file.ok()) return file.error().to_string();
  const ModelFormat* format = recognise(*file);
  return format ? format->name : "none";
}

class Readers : public testing::Test {
 protected:
  Error error_of(const std::string& path) {
    auto model = import_model(path);
    return model.ok() ? Error{ErrorCode::kRunFailed, "reads", ""} : model.error();
  }
  test::TemporaryFolder folder_;
};

TEST_F(Readers, BytesTell) {
  for (const auto& [name, bytes] : starts()) EXPECT_EQ(format_of(folder_.write("f", bytes)), name);
}

TEST_F(Readers, EveryRowHasASign) {
  std::set<std::string> seen = {"bundle directory"};
  for (const auto& [name, bytes] : starts()) seen.insert(name);
  for (const ModelFormat& format : model_formats())
    EXPECT_TRUE(seen.contains(format.name)) << format.name;
}

TEST_F(Readers, BytesTellBeforeNamesDo) {
  EXPECT_EQ(format_of(folder_.write("a.mlir", "GGUF\3\0\0\0"s)), "GGUF");
  EXPECT_EQ(format_of(folder_.write("b.onnx", "ML\xEFR\x01"s)), "StableHLO bytecode");
}

TEST_F(Readers, NamesTellWhereBytesDoNot) {
  for (auto [file, name] : {std::pair{"a.onnx", "ONNX"},
                            {"a.pt2", "PyTorch"},
                            {"a.npz", "NumPy archive"},
                            {"a.keras", "Keras"},
                            {"a.pb", "TensorFlow or HLO protobuf"},
                            {"a.safetensors", "safetensors"},
                            {"a.mlir", "StableHLO text"}})
    EXPECT_EQ(format_of(folder_.write(file, "\1\2"s)), name);
}

TEST_F(Readers, WhatIsNotReadNamesTheFormatAndWhatToDo) {
  for (const auto& [name, bytes] : starts()) {
    std::string path = folder_.write("f", bytes);
    if (recognise(*open_model(path))->read) continue;
    Error error = error_of(path);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_EQ(error.where, path);
    EXPECT_THAT(error.message, testing::ContainsRegex("not read|no model")) << name;
  }
}

TEST_F(Readers, GarbageAndNothingAreOfNoFormat) {
  for (const std::string& bytes : {""s, "\0"s, "\1\2\3"s, "PK\3\4"s, "\x08"s}) {
    Error error = error_of(folder_.write("f", bytes));
    EXPECT_EQ(error.code, ErrorCode::kBadInput);
    EXPECT_THAT(error.message, HasSubstr("it reads: StableHLO bytecode, "));
  }
}

TEST_F(Readers, DirectoriesAreBundles) {
  EXPECT_THAT(error_of(folder_.path()).to_string(),
              HasSubstr("neither module.mlir nor module.mlirbc"));
  folder_.write("module.mlir", kModule);
  EXPECT_THAT(error_of(folder_.path()).to_string(), HasSubstr("signature.json"));
  folder_.write("signature.json", kSignature);
  auto model = import_model(folder_.path());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->module_path, folder_.path("module.mlir"));
  EXPECT_EQ(model->weights_path, "");
  EXPECT_EQ(model->arguments[0].name, "x");
  EXPECT_EQ(model->results[0], "twice");
  folder_.write("signature.json", R"({"format": 1, "arguments": [], "results": []})");
  EXPECT_THAT(error_of(folder_.path()).to_string(), HasSubstr("(0) arguments and (0) results"));
  folder_.write("module.mlir", "GGUF\3\0\0\0"s);
  folder_.write("signature.json", kSignature);
  EXPECT_EQ(error_of(folder_.path()).code, ErrorCode::kUnsupported);
}

TEST_F(Readers, OtherDirectories) {
  folder_.write("saved_model.pb", "\x08\x01"s);
  EXPECT_EQ(error_of(folder_.path()).code, ErrorCode::kUnsupported);
}

TEST_F(Readers, WhatIsNoFileIsRefusedAtOnce) {
  std::string pipe = folder_.path("pipe.mlir");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, "/dev/zero"s}) {
    EXPECT_EQ(error_of(path).code, ErrorCode::kBadInput);
    EXPECT_THAT(error_of(path).message, HasSubstr("no regular file"));
  }
  EXPECT_THAT(error_of(folder_.path("none.onnx")).message, HasSubstr("No such file"));
}

TEST_F(Readers, ModulesHaveTheGraphsNames) {
  auto model = import_bytes(kModule, "program");
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->path, "program");
  ASSERT_EQ(model->arguments.size(), 1u);
  EXPECT_FALSE(model->arguments[0].is_weight);
  EXPECT_THAT(model->results, testing::ElementsAre("out0"));
}

TEST_F(Readers, ShapesAreAskedForWhereSizesAreOpen) {
  std::string open = kModule;
  for (size_t at; (at = open.find("2xf32")) != std::string::npos;) open[at] = '?';
  std::string path = folder_.write("open.mlir", open);
  auto model = import_model(path, {{"0=7"}, {}});
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->graph.node(0).types[0].to_string(), "7xf32");
  auto fixed = import_model(folder_.write("fixed.mlir", kModule), {{"0=7"}, {}});
  EXPECT_EQ(fixed.error().code, ErrorCode::kUsage);
}

// Results as long as the data says come back as long as their counts.
TEST(Results, AreCutToTheirCounts) {
  Model model;
  model.counted = {{1, 1, 2}};
  std::vector<Literal> outputs = {Literal::scalar(DType::kF32, 5),
                                  Literal::from_ints(DType::kI64, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                  Literal::from_ints(DType::kI64, {}, {2})};
  std::vector<Literal> cut = user_results(model, outputs);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0], outputs[0]);
  EXPECT_EQ(cut[1], Literal::from_ints(DType::kI64, {2, 2}, {1, 2, 4, 5}));
  model.counted.clear();
  EXPECT_EQ(user_results(model, outputs).size(), 3u);
}

}  // namespace
}  // namespace tuff
