// Floats of 8 and 4 bits, integers of 4 and 2 bits: files, casts, quantised tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;

enum ElementType { kE4M3FN = 17, kE5M2 = 19, kUint4 = 21, kInt4 = 22, kE2M1 = 23, kE8M0 = 24 };

constexpr double kInf = std::numeric_limits<double>::infinity();

// The result as the model's user has it.
std::vector<double> result_of(const ModelWriter& w, const std::vector<Literal>& inputs) {
  auto model = read(w.bytes());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  if (!model.ok()) return {};
  std::vector<Literal> bytes;
  for (const Literal& input : inputs) bytes.push_back(as_parts(input));
  return doubles(run(*model, bytes)[0].with_type(result_type(*model, 0)));
}

std::vector<double> cast(const std::vector<double>& values, ElementType to,
                         const std::function<void(proto::Node&)>& more = {}) {
  ModelWriter w(24);
  auto count = static_cast<int64_t>(values.size());
  w.input("x", {count});
  proto::Node& node = w.node("Cast", {"x"}, {"y"});
  ModelWriter::attribute(node, "to").set_i(to);
  if (more) more(node);
  w.output("y");
  return result_of(w, {Literal::from_doubles(DType::kF32, {count}, values)});
}

TEST(OnnxSmallTypes, CastsSaturateUnlessToldOtherwise) {
  EXPECT_THAT(cast({1.06, 1e6, -kInf}, kE4M3FN), ElementsAre(1, 448, -448));
  EXPECT_THAT(cast({1e6, kInf}, kE5M2), ElementsAre(57344, 57344));
  auto no = [](proto::Node& node) { ModelWriter::attribute(node, "saturate").set_i(0); };
  EXPECT_THAT(cast({1e6, -kInf}, kE5M2, no), ElementsAre(kInf, -kInf));
  EXPECT_TRUE(std::isnan(cast({1e6}, kE4M3FN, no)[0]));
  EXPECT_TRUE(std::isnan(cast({NAN}, kE4M3FN)[0]));
}

TEST(OnnxSmallTypes, PowersOfTwoRoundAsTheAttributeSays) {
  auto mode = [](const char* word) {
    return [word](proto::Node& node) { ModelWriter::attribute(node, "round_mode").set_s(word); };
  };
  std::vector<double> values{1.1, 1.5, 1.6, 2, -3};
  EXPECT_THAT(cast(values, kE8M0), ElementsAre(2, 2, 2, 2, 4));
  EXPECT_THAT(cast(values, kE8M0, mode("down")), ElementsAre(1, 1, 1, 2, 2));
  EXPECT_THAT(cast(values, kE8M0, mode("nearest")), ElementsAre(1, 2, 2, 2, 4));
  EXPECT_THAT(cast({3e38}, kE8M0), ElementsAre(std::ldexp(1, 127)));
}

TEST(OnnxSmallTypes, IntegersKeepTheLowBits) {
  EXPECT_THAT(cast({-9, 15, 7.9}, kInt4), ElementsAre(7, -1, 7));
  EXPECT_THAT(cast({-1, 17}, kUint4), ElementsAre(15, 1));
}

proto::Tensor& packed(ModelWriter& w, const std::string& name, ElementType type, int64_t count) {
  proto::Tensor& tensor = *w.graph().add_initializer();
  tensor.set_name(name), tensor.set_data_type(type), tensor.add_dims(count);
  return tensor;
}

TEST(OnnxSmallTypes, WeightsAreUnpacked) {
  for (bool raw : {false, true}) {
    ModelWriter w(23);
    w.input("x", {3});
    proto::Tensor& weights = packed(w, "w", kE2M1, 3);
    if (raw)
      weights.set_raw_data("\x21\x0f", 2);
    else
      weights.add_int32_data(0x21), weights.add_int32_data(0x0f);
    w.floats("scale", {}, 2);
    w.node("DequantizeLinear", {"w", "scale"}, {"d"});
    w.node("Add", {"x", "d"}, {"y"});
    w.output("y");
    EXPECT_THAT(result_of(w, {Literal(TensorType{DType::kF32, {3}})}), ElementsAre(1, 2, -12));
  }
}

TEST(OnnxSmallTypes, BytesOfFloatsAreTheirBits) {
  ModelWriter w(23);
  packed(w, "w", kE4M3FN, 2).set_raw_data("\x38\xc0", 2);
  w.input("x", {2}, kE4M3FN);
  ModelWriter::attribute(w.node("Concat", {"w", "x"}, {"y"}), "axis").set_i(0);
  w.output("y");
  EXPECT_THAT(result_of(w, {Literal::from_doubles(DType::kF8E4M3FN, {2}, {3, -0.5})}),
              ElementsAre(1, -2, 3, -0.5));
}

TEST(OnnxSmallTypes, QuantisedToTheirRange) {
  auto quantized = [](ElementType to) {
    ModelWriter w(23);
    w.input("x", {4});
    w.floats("scale", {}, 2);
    ModelWriter::attribute(w.node("QuantizeLinear", {"x", "scale"}, {"y"}), "output_dtype")
        .set_i(to);
    w.output("y");
    return result_of(w, {Literal::from_doubles(DType::kF32, {4}, {3, -100, 100, 1000})});
  };
  EXPECT_THAT(quantized(kInt4), ElementsAre(2, -8, 7, 7));
  EXPECT_THAT(quantized(kUint4), ElementsAre(2, 0, 15, 15));
  EXPECT_THAT(quantized(kE2M1), ElementsAre(1.5, -6, 6, 6));
  EXPECT_THAT(quantized(kE4M3FN), ElementsAre(1.5, -48, 48, 448));
}

TEST(OnnxSmallTypes, UserTypesAreTheModels) {
  ModelWriter w(23);
  w.input("x", {2}, kInt4);
  w.node("Identity", {"x"}, {"y"});
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(argument_type(*model, 0).to_string(), "2xi4");
  EXPECT_EQ(result_type(*model, 0).to_string(), "2xi4");
  EXPECT_EQ(model->graph.node(0).types[0].to_string(), "2xi8");
}

}  // namespace
}  // namespace tuff::onnx::test
