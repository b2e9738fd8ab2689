#include "frontend/weights/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/weights/arguments.h"
#include "frontend/weights/npy.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

constexpr const char* kSignature = R"({"format": 1, "arguments": [
  {"name": "w", "kind": "weight", "dtype": "f32", "shape": [2], "init": {"scale": 0.5, "mean": 1.0}},
  {"name": "x", "kind": "input", "dtype": "i32", "shape": []}],
  "results": [{"name": "out0", "dtype": "f32", "shape": [2]}]})";

Graph two_parameters() {
  Graph graph;
  Value w = graph.add_parameter({DType::kF32, {2}});
  graph.add_parameter({DType::kI32, {}});
  graph.set_outputs({w});
  return graph;
}

std::string signature_error(const std::string& json) {
  auto result = parse_signature(json, "signature.json");
  return result.ok() ? "reads" : result.error().to_string();
}

TEST(Signature, Reads) {
  auto signature = parse_signature(kSignature, "s");
  ASSERT_TRUE(signature.ok()) << signature.error().to_string();
  EXPECT_TRUE(signature->arguments[0].is_weight);
  EXPECT_EQ(signature->arguments[0].init->mean, 1.0);
  EXPECT_EQ(signature->arguments[1].type.to_string(), "i32");
}

TEST(Signature, MistakesAreNamed) {
  EXPECT_THAT(signature_error("{"),
              HasSubstr("signature.json: The signature is not a JSON object."));
  EXPECT_THAT(signature_error("{\"format\": 2}"), HasSubstr("format (2)"));
  EXPECT_THAT(signature_error("{\"format\": 1}"), HasSubstr("no \"arguments\" list"));
  auto with = [](const std::string& argument) {
    return signature_error("{\"format\": 1, \"arguments\": [" + argument + "], \"results\": []}");
  };
  EXPECT_THAT(with("3"), HasSubstr("arguments[0] has no text under \"name\""));
  EXPECT_THAT(with(R"({"name": "", "kind": "input"})"), HasSubstr("empty name"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "thing"})"), HasSubstr("kind (thing)"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "input", "dtype": "f8", "shape": []})"),
              HasSubstr("(f8) is not supported"));
  EXPECT_THAT(with(R"({"name": "x", "kind": "input", "dtype": "f32", "shape": [-1]})"),
              HasSubstr("dimension (-1)"));
  EXPECT_THAT(
      with(R"({"name": "x", "kind": "input", "dtype": "f32", "shape": [4294967296, 4294967296]})"),
      HasSubstr("too many"));
  std::string x = R"({"name": "x", "kind": "input", "dtype": "f32", "shape": []})";
  EXPECT_THAT(with(x + "," + x), HasSubstr("stands twice"));
}

TEST(Bundle, FilesAndWhatIsMissing) {
  test::TemporaryFolder folder;
  EXPECT_THAT(read_model(folder.path()).error().to_string(),
              HasSubstr("neither module.mlir nor module.mlirbc"));
  folder.write("module.mlir", "text");
  EXPECT_THAT(read_model(folder.path()).error().to_string(), HasSubstr("signature.json"));
  folder.write("signature.json", kSignature);
  auto model = read_model(folder.path());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->module_bytes, "text");
  EXPECT_EQ(model->weights_path, "");
  EXPECT_TRUE(check_signature(*model, two_parameters()).ok());
  EXPECT_THAT(check_signature(*model, Graph()).error().to_string(),
              HasSubstr("(2) arguments and (1) results"));
}

TEST(Bundle, OnnxAndMissingFiles) {
  EXPECT_EQ(read_model("x.onnx").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(read_model("no_such.mlir").error().code, ErrorCode::kBadInput);
}

class Arguments : public testing::Test {
 protected:
  Arguments() {
    model_.path = "m";
    model_.signature = *parse_signature(kSignature, "s");
  }
  Result<ArgumentValues> gather() { return gather_arguments(model_, graph_, sources_); }
  std::string save(const std::string& name, const Literal& literal) {
    EXPECT_TRUE(write_npy(folder_.path(name), literal).ok());
    return folder_.path(name);
  }
  test::TemporaryFolder folder_;
  Model model_;
  Graph graph_ = two_parameters();
  ArgumentSources sources_;
};

TEST_F(Arguments, InitFillsAWeightAndMissingInputsAreRefused) {
  EXPECT_EQ(gather().error().code, ErrorCode::kUsage);
  EXPECT_THAT(gather().error().message, HasSubstr("1 of 2 arguments: x (i32)"));
  sources_.inputs = {"x=" + save("x.npy", Literal::scalar(DType::kI32, 7))};
  auto values = gather();
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(values->values[1].get_int(0), 7);
  EXPECT_THAT(values->seeded_weights, testing::ElementsAre("w"));
}

// Values that tuff.Seeded("w", ...) gives in Python.
TEST_F(Arguments, SeededWeightsAreThoseOfPython) {
  sources_.seed_missing = true;
  auto values = gather();
  EXPECT_FLOAT_EQ(static_cast<float>(values->values[0].get_double(0)), 0.873535573f);
  EXPECT_FLOAT_EQ(static_cast<float>(values->values[0].get_double(1)), 0.652032733f);
  EXPECT_THAT(values->seeded_inputs, testing::ElementsAre("x"));
}

TEST_F(Arguments, NamelessFilesSkipWeights) {
  sources_.inputs = {save("x.npy", Literal::scalar(DType::kI32, 7))};
  EXPECT_TRUE(gather().ok());
  sources_.inputs.push_back(sources_.inputs[0]);
  EXPECT_THAT(gather().error().message, HasSubstr("more files than inputs"));
}

TEST_F(Arguments, WrongNamesTypesAndShapes) {
  std::string f32 = save("f.npy", Literal::scalar(DType::kF32, 7)),
              i32 = save("i.npy", Literal(TensorType{DType::kI32, {3}}));
  sources_.inputs = {"y=" + f32};
  EXPECT_THAT(gather().error().message, HasSubstr("no argument (y); it has (x)"));
  sources_.inputs = {"x=" + f32};
  EXPECT_THAT(gather().error().to_string(),
              HasSubstr("element type (f32, <f4) where (i32) is needed"));
  sources_.inputs = {"1=" + i32};
  EXPECT_THAT(gather().error().to_string(),
              HasSubstr("argument (x) must have type (i32), but the file gives (3xi32)"));
  sources_.inputs = {"x=" + folder_.path("none.npy")};
  EXPECT_EQ(gather().error().code, ErrorCode::kBadInput);
}

TEST_F(Arguments, AWeightsFileMustHoldEveryWeight) {
  std::string header = R"({"other":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  sources_.weights_path = folder_.write("w.safetensors", length + header + "x");
  EXPECT_EQ(gather().error().code, ErrorCode::kBadInput);
  EXPECT_THAT(gather().error().message, HasSubstr("no tensor for the weight (w, 2xf32)"));
}

}  // namespace
}  // namespace tuff
