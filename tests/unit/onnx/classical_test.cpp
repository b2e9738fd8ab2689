// ai.onnx.ml, n-grams and optimizers: numbers worked out by hand, and what does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

struct Attributes {
  std::map<std::string, std::vector<float>> floats = {};
  std::map<std::string, std::vector<int64_t>> ints = {};
  std::map<std::string, std::string> strings = {};
  std::map<std::string, int64_t> numbers = {};
  std::map<std::string, float> reals = {};
};

// A model of one node of its inputs.
Result<Model> one_node(const std::string& domain, const std::string& op,
                       const std::vector<Literal>& inputs, const Attributes& attributes,
                       size_t outputs = 1) {
  ModelWriter w;
  std::vector<std::string> names, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    w.input(names[i], inputs[i].type().shape, is_float(inputs[i].type().dtype) ? 1 : 7);
  }
  for (size_t i = 0; i < outputs; ++i) w.output(results.emplace_back("y" + std::to_string(i)));
  proto::Node& node = w.node(op, names, results);
  node.set_domain(domain);
  for (const auto& [name, list] : attributes.floats)
    for (auto& a = ModelWriter::attribute(node, name); float v : list) a.add_floats(v);
  for (const auto& [name, list] : attributes.ints)
    for (auto& a = ModelWriter::attribute(node, name); int64_t v : list) a.add_ints(v);
  for (const auto& [name, s] : attributes.strings) ModelWriter::attribute(node, name).set_s(s);
  for (const auto& [name, i] : attributes.numbers) ModelWriter::attribute(node, name).set_i(i);
  for (const auto& [name, f] : attributes.reals) ModelWriter::attribute(node, name).set_f(f);
  return read(w.bytes());
}

std::vector<double> run_ml(const std::string& op, const std::vector<Literal>& inputs,
                           const Attributes& attributes, size_t output = 0,
                           const std::string& domain = "ai.onnx.ml") {
  auto model = one_node(domain, op, inputs, attributes, output + 1);
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? doubles(run(*model, inputs)[output]) : std::vector<double>();
}

const Literal kRows = Literal::from_doubles(DType::kF32, {2, 2}, {3, -4, 0, 0});
const Literal kLabels = Literal::from_ints(DType::kI64, {4}, {5, 7, 5, 0});

TEST(OnnxClassical, RowsAreScaled) {
  EXPECT_THAT(run_ml("Scaler", {kRows}, {.floats = {{"offset", {1, 0}}, {"scale", {2}}}}),
              ElementsAre(4, -8, -2, 0));
  EXPECT_THAT(run_ml("Normalizer", {kRows}, {.strings = {{"norm", "L1"}}}),
              Pointwise(testing::DoubleNear(1e-6), {3 / 7., -4 / 7., 0., 0.}));
  EXPECT_THAT(run_ml("Normalizer", {kRows}, {}),
              Pointwise(testing::DoubleNear(1e-6), {.75, -1., 0., 0.}));
  EXPECT_THAT(run_ml("Binarizer", {kRows}, {.reals = {{"threshold", -1}}}),
              ElementsAre(1, 0, 1, 1));
}

TEST(OnnxClassical, WhatIsMissingIsImputed) {
  Literal x = Literal::from_doubles(DType::kF32, {2, 2}, {NAN, 1, 2, NAN});
  EXPECT_THAT(run_ml("Imputer", {x},
                     {.floats = {{"imputed_value_floats", {8, 9}}},
                      .reals = {{"replaced_value_float", NAN}}}),
              ElementsAre(8, 1, 2, 9));
  EXPECT_THAT(one_node("ai.onnx.ml", "Imputer", {x}, {}).error().to_string(),
              HasSubstr("one for each feature"));
}

TEST(OnnxClassical, LabelsAreEncoded) {
  EXPECT_THAT(run_ml("LabelEncoder", {kLabels},
                     {.floats = {{"values_floats", {.5, 1.5}}},
                      .ints = {{"keys_int64s", {7, 5}}},
                      .reals = {{"default_float", -2}}}),
              ElementsAre(1.5, .5, 1.5, -2));
  EXPECT_THAT(run_ml("OneHotEncoder", {kLabels}, {.ints = {{"cats_int64s", {5, 7}}}}),
              ElementsAre(1, 0, 0, 1, 1, 0, 0, 0));
}

TEST(OnnxClassical, OneRowOfCoefficientsIsTheSecondClass) {
  Attributes attributes{.floats = {{"coefficients", {1, 1}}, {"intercepts", {.5}}},
                        .ints = {{"classlabels_ints", {10, 20}}}};
  EXPECT_THAT(run_ml("LinearClassifier", {kRows}, attributes, 0), ElementsAre(10, 20));
  EXPECT_THAT(run_ml("LinearClassifier", {kRows}, attributes, 1), ElementsAre(.5, -.5, -.5, .5));
}

TEST(OnnxClassical, SupportVectors) {
  Attributes attributes{.floats = {{"coefficients", {2, -1}},
                                   {"support_vectors", {0, 0, 1, 1}},
                                   {"rho", {.5}},
                                   {"kernel_params", {1, 0, 2}}},
                        .strings = {{"kernel_type", "POLY"}},
                        .numbers = {{"n_supports", 2}}};
  EXPECT_THAT(run_ml("SVMRegressor", {kRows}, attributes), ElementsAre(-.5, .5));
  attributes.numbers["n_supports"] = 3;
  EXPECT_THAT(one_node("ai.onnx.ml", "SVMRegressor", {kRows}, attributes).error().to_string(),
              HasSubstr("sizes"));
}

// Of two n-grams of one item and one of two, which lie up to one item apart.
TEST(OnnxClassical, NGramsAreCounted) {
  Attributes attributes{
      .floats = {{"weights", {1, 10, 100}}},
      .ints = {{"pool_int64s", {5, 0, 5, 0}},
               {"ngram_counts", {0, 2}},
               {"ngram_indexes", {2, 0, 1}}},
      .strings = {{"mode", "TF"}},
      .numbers = {{"min_gram_length", 1}, {"max_gram_length", 2}, {"max_skip_count", 2}}};
  EXPECT_THAT(run_ml("TfIdfVectorizer", {kLabels}, attributes, 0, ""), ElementsAre(1, 2, 2));
  attributes.strings["mode"] = "TFIDF";
  EXPECT_THAT(run_ml("TfIdfVectorizer", {kLabels}, attributes, 0, ""), ElementsAre(1, 20, 200));
  attributes.ints["ngram_indexes"] = {2, 0, 2};
  EXPECT_THAT(one_node("", "TfIdfVectorizer", {kLabels}, attributes).error().to_string(),
              HasSubstr("one index"));
}

TEST(OnnxClassical, OptimizersTakeLists) {
  Literal rate = Literal::scalar(DType::kF32, .5), steps = Literal::from_ints(DType::kI64, {}, {1});
  Literal x = Literal::from_doubles(DType::kF32, {1}, {2}), y = kRows;
  Literal moment = Literal::splat(kRows.type(), 8);
  std::vector<Literal> inputs{rate, steps, x, y, x, y, x, moment};
  Attributes attributes{.strings = {{"mode", "standard"}},
                        .reals = {{"norm_coefficient", 1}, {"alpha", .25}, {"beta", .5}}};
  const char* domain = "ai.onnx.preview.training";
  // Gradients are 2 x each, half of which adds to a quarter of the moments.
  EXPECT_THAT(run_ml("Momentum", inputs, attributes, 0, domain), ElementsAre(.75));
  EXPECT_THAT(run_ml("Momentum", inputs, attributes, 3, domain), ElementsAre(5, -2, 2, 2));
  inputs.pop_back();
  EXPECT_THAT(one_node(domain, "Momentum", inputs, attributes).error().to_string(),
              HasSubstr("(3) lists"));
}

}  // namespace
}  // namespace tuff::onnx::test
