#include "frontend/session/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/session/model.h"
#include "frontend/weights/npy.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

class Arguments : public testing::Test {
 protected:
  Arguments() {
    model_.path = "m";
    Value w = model_.graph.add_parameter({DType::kF32, {2}});
    model_.graph.add_parameter({DType::kI32, {}});
    model_.graph.set_outputs({w});
    model_.arguments = {{"w", true, SeededInit{0.5, 1.0}, {}}, {"x", false, {}, {}}};
    model_.results = {"out0"};
  }
  Result<ArgumentValues> gather() { return gather_arguments(model_, sources_); }
  std::string save(const std::string& name, const Literal& literal) {
    EXPECT_TRUE(write_npy(folder_.path(name), literal).ok());
    return folder_.path(name);
  }
  test::TemporaryFolder folder_;
  Model model_;
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

// A reader saw the value, and a shape follows from it.
TEST_F(Arguments, FixedOnesTakeNoOtherValue) {
  model_.arguments[1].value = Literal::scalar(DType::kI32, 7);
  model_.arguments[1].is_fixed = true;
  EXPECT_EQ(gather().value().values[1].get_int(0), 7);
  sources_.inputs = {"x=" + save("x.npy", Literal::scalar(DType::kI32, 7))};
  EXPECT_TRUE(gather().ok());
  sources_.inputs = {"x=" + save("x.npy", Literal::scalar(DType::kI32, 8))};
  EXPECT_EQ(gather().error().code, ErrorCode::kUsage);
  EXPECT_THAT(gather().error().message, HasSubstr("A shape follows from the argument (x)"));
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

// A file with one tensor, `name` of two f32 zeros.
std::string safetensors(const std::string& name) {
  std::string header = "{\"" + name + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  return length + header + std::string(8, '\0');
}

TEST_F(Arguments, AWeightsFileMustHoldEveryWeight) {
  sources_.weights_path = folder_.write("w.safetensors", safetensors("other"));
  EXPECT_EQ(gather().error().code, ErrorCode::kBadInput);
  EXPECT_THAT(gather().error().message, HasSubstr("no tensor for the weight (w, 2xf32)"));
}

TEST_F(Arguments, ValuesReadWithTheModelYieldToAFile) {
  sources_.seed_missing = true;
  model_.arguments[0].value = Literal::splat({DType::kF32, {2}}, 3);
  EXPECT_EQ(gather()->values[0].get_double(1), 3);
  EXPECT_TRUE(gather()->seeded_weights.empty());
  sources_.weights_path = folder_.write("other.safetensors", safetensors("other"));
  EXPECT_EQ(gather()->values[0].get_double(1), 3);
  sources_.weights_path = folder_.write("w.safetensors", safetensors("w"));
  EXPECT_EQ(gather()->values[0].get_double(1), 0);
}

// The user has complex numbers, the graph their parts.
TEST_F(Arguments, ComplexValuesBecomeParts) {
  Model model;
  Value z = model.graph.add_parameter({DType::kF32, {2, 2}});
  model.graph.set_outputs({z});
  model.arguments = {{"z", false, {}, {}}};
  model.argument_dtypes = model.result_dtypes = {DType::kC64};
  Literal parts = Literal::from_doubles(DType::kF32, {2, 2}, {1, 2, 3, 4});
  Literal complex = parts.with_type({DType::kC64, {2}});
  auto values = gather_arguments(model, {{save("z.npy", complex)}, "", false});
  ASSERT_TRUE(values.ok()) << values.error().to_string();
  EXPECT_EQ(values->values[0], parts);
  EXPECT_EQ(user_results(model, values->values)[0], complex);
  auto real = gather_arguments(model, {{save("r.npy", parts)}, "", false});
  EXPECT_THAT(real.error().message, HasSubstr("where (complex<f32>) is needed"));
}

TEST_F(Arguments, WeightsOfAnotherFormatAreNamed) {
  sources_.weights_path = folder_.write("model.gguf", std::string("GGUF\3\0\0\0", 8));
  EXPECT_EQ(gather().error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(gather().error().to_string(), HasSubstr("another format (GGUF)"));
}

}  // namespace
}  // namespace tuff
