// Saved programs: what is read is what was written; damaged files are errors, never crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/session/arguments.h"
#include "frontend/session/model.h"
#include "frontend/session/save.h"
#include "frontend/session/session.h"
#include "frontend/weights/file.h"
#include "ir/text/print.h"
#include "tests/fuzz/readers/sealed.h"
#include "tests/unit/weights/files.h"

namespace tuff {
namespace {

using testing::HasSubstr;

std::string models() { return std::string(TUFF_TEST_DATA) + "/models/"; }

Session open_cpu() {
  SessionOptions options;
  options.cache = CachePtr();
  return Session::open(*parse_device("cpu"), std::move(options)).value();
}

// The model with its weights, saved.
Model save(const std::string& from, const std::string& to) {
  Model model = import_model(from).value();
  auto weights = gather_weights(model, "").value();
  for (size_t i = 0; i < weights.size(); ++i) model.arguments[i].value = std::move(weights[i]);
  Session session = open_cpu();
  auto program = session.compile(model.graph, nullptr).value();
  Status saved = save_program(to, model, *program, session.device());
  EXPECT_TRUE(saved.ok()) << saved.error().to_string();
  return model;
}

class Saved : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Saved, WhatIsReadIsWhatWasWritten) {
  for (const char* name : {"mlp", "loops_tiny", "resnet_tiny", "gpt2_train_tiny"}) {
    Model model = save(models() + name, path("p.tuff"));
    Result<Model> read = import_model(path("p.tuff"));
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read->format, "saved program");
    PrintOptions all;
    all.locations = true;
    EXPECT_EQ(print(read->graph, all), print(model.graph, all)) << name;
    EXPECT_EQ(read->results, model.results);
    EXPECT_EQ(read->module_path, model.module_path);
    EXPECT_THAT(read->made_for, HasSubstr("cpu"));
    ASSERT_EQ(read->arguments.size(), model.arguments.size());
    for (size_t i = 0; i < model.arguments.size(); ++i) {
      EXPECT_EQ(read->arguments[i].name, model.arguments[i].name);
      EXPECT_EQ(read->arguments[i].is_weight, model.arguments[i].is_weight);
      EXPECT_EQ(read->arguments[i].value, model.arguments[i].value) << name << " " << i;
    }
  }
}

// A constant of more than 16 elements lies beside the text; so does a complex weight, which has
// parts in the graph.
TEST_F(Saved, ConstantsAndComplexValues) {
  std::string module =
      "func.func @main(%z: tensor<2xcomplex<f32>>) -> tensor<20xi32> {\n"
      "  %0 = stablehlo.constant dense<[";
  for (int i = 0; i < 20; ++i) module += (i ? ", " : "") + std::to_string(i * i);
  module += "]> : tensor<20xi32>\n  return %0 : tensor<20xi32>\n}\n";
  Model model = import_model(write("m.mlir", module)).value();
  model.arguments[0].value =
      Literal::from_doubles(DType::kF32, {2, 2}, {1, 2, 3, 4}).with_type({DType::kC64, {2}});
  Session session = open_cpu();
  auto program = session.compile(model.graph, nullptr).value();
  ASSERT_TRUE(save_program(path("p.tuff"), model, *program, session.device()).ok());
  Result<Model> read = import_model(path("p.tuff"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_TRUE(read->graph == model.graph);
  EXPECT_EQ(argument_type(*read, 0), (TensorType{DType::kC64, {2}}));
  EXPECT_EQ(read->arguments[0].value, model.arguments[0].value);

  // Bytes of the caller's: nothing of the graph is a view on them.
  std::string bytes = read_file(path("p.tuff")).value();
  Result<Model> copied = import_bytes(bytes, "bytes");
  ASSERT_TRUE(copied.ok());
  std::fill(bytes.begin(), bytes.end(), '\0');
  EXPECT_TRUE(copied->graph == model.graph);
}

TEST_F(Saved, SmallTypesOfArgumentsAndResults) {
  Model model = import_model(write("m.mlir",
                                   "func.func @main(%a: tensor<2xf8E5M2>) -> tensor<2xi4> {\n"
                                   "  %0 = stablehlo.convert %a : (tensor<2xf8E5M2>) -> "
                                   "tensor<2xi4>\n  return %0 : tensor<2xi4>\n}\n"))
                    .value();
  Session session = open_cpu();
  auto program = session.compile(model.graph, nullptr).value();
  ASSERT_TRUE(save_program(path("p.tuff"), model, *program, session.device()).ok());
  Result<Model> read = import_model(path("p.tuff"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(argument_type(*read, 0), (TensorType{DType::kF8E5M2, {2}}));
  EXPECT_EQ(result_type(*read, 0), (TensorType{DType::kI4, {2}}));
}

TEST_F(Saved, AnyChangedByteIsOneError) {
  save(models() + "mlp", path("p.tuff"));
  const std::string good = read_file(path("p.tuff")).value();
  ASSERT_TRUE(import_bytes(good, "good").ok());
  for (size_t at = saved::kMagic.size(); at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    Result<Model> read = import_bytes(bad, "bad.tuff");
    ASSERT_FALSE(read.ok()) << "byte " << at;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput) << read.error().to_string();
    EXPECT_EQ(read.error().where, "bad.tuff");
    EXPECT_THAT(read.error().message, HasSubstr("ave it again")) << "byte " << at;
  }
  for (size_t size = saved::kMagic.size(); size < good.size(); size += 1 + size / 64)
    EXPECT_FALSE(import_bytes(good.substr(0, size), "cut").ok()) << size;
  EXPECT_FALSE(import_bytes(good + '\0', "longer").ok());
}

// The digest finds damage; what gets past it must still be a model or an error.
TEST_F(Saved, WrongHeadersUnderARightDigestAreErrors) {
  save(models() + "mlp", path("p.tuff"));
  const std::string good = read_file(path("p.tuff")).value();
  size_t header_end = good.find("  ", saved::kPrefixBytes), accepted = 0;
  for (size_t at = 16; at < std::min(header_end + 1200, good.size()); ++at)
    for (char byte : {'0', '9', '"', '}', '\xff'}) {
      std::string bad = good;
      bad[at] = byte;
      Result<Model> read = import_bytes(fuzz::sealed(bad), "bad.tuff");
      accepted += read.ok();
      EXPECT_TRUE(read.ok() || !read.error().message.empty());
    }
  EXPECT_GT(accepted, 0u) << "names, for instance";
}

TEST_F(Saved, ACallbackCannotBeSaved) {
  Graph graph;
  Value x = graph.add_parameter({DType::kF32, {2}});
  HostCallAttrs attrs;
  attrs.function = HostFunction::kCallback, attrs.callback = 3;
  Value y = add_op(graph, Op::kHostCall, {x}, {DType::kF32, {2}}, attrs, "model.py:7");
  graph.set_outputs({y});
  Model model;
  model.graph = graph;
  Session session = open_cpu();
  Status saved = save_program(path("p.tuff"), model, Program(), session.device());
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(saved.error().where, "model.py:7");
  EXPECT_FALSE(std::filesystem::exists(path("p.tuff")));
}

}  // namespace
}  // namespace tuff
