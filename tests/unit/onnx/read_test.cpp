// Files to graphs: names, shapes, weights, functions, and what is said of files that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelWriter scaled_model(const std::vector<int64_t>& shape) {
  ModelWriter w;
  w.input("image", shape);
  w.floats("scale", {100}, 3);
  w.node("Mul", {"image", "scale"}, {"scaled"}).set_name("/scale/Mul");
  w.output("scaled");
  return w;
}

TEST(OnnxRead, NamesAndWeightsAreTheModels) {
  std::string bytes = scaled_model({2, 100}).bytes();
  auto model = read(bytes);
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  ASSERT_EQ(model->arguments.size(), 2u);
  EXPECT_EQ(model->arguments[0].name, "image");
  EXPECT_FALSE(model->arguments[0].is_weight);
  EXPECT_EQ(model->arguments[1].name, "scale");
  EXPECT_TRUE(model->arguments[1].is_weight);
  EXPECT_THAT(model->results, ElementsAre("scaled"));
  EXPECT_EQ(model->graph.nodes().back().loc, "/scale/Mul");
  // A view on the file's bytes, not a copy.
  const char* data = reinterpret_cast<const char*>(model->arguments[1].value->bytes());
  EXPECT_GE(data, bytes.data());
  EXPECT_LT(data, bytes.data() + bytes.size());
  EXPECT_EQ(run(*model, {Literal::splat({DType::kF32, {2, 100}}, 2)})[0].get_double(7), 6);
}

TEST(OnnxRead, OpenSizesComeFromShapes) {
  std::string bytes = scaled_model({-1, 100}).bytes();
  auto model = read(bytes, shapes({{"image", {5, 100}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).shape, (Shape{5, 100}));
  EXPECT_EQ(read(bytes).error().code, ErrorCode::kUsage);
  EXPECT_THAT(read(bytes).error().to_string(), HasSubstr("shape (image=2x64)"));
  EXPECT_THAT(read(bytes, shapes({{"image", {5, 99}}})).error().to_string(),
              HasSubstr("The shape (5x99) is not one of the input (image, ax100)"));
}

TEST(OnnxRead, SymbolsHaveOneValue) {
  ModelWriter w;
  w.input("x", {-1, 3});
  w.input("y", {-1, 3});
  w.node("Add", {"x", "y"}, {"z"});
  w.output("z");
  auto model = read(w.bytes(), shapes({{"x", {4, 3}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->graph.node(Value{1, 0}).types[0].shape, (Shape{4, 3}));
  EXPECT_EQ(read(w.bytes(), shapes({{"x", {4, 3}}, {"y", {5, 3}}})).error().code,
            ErrorCode::kUsage);
}

TEST(OnnxRead, ShapeArithmeticIsFolded) {
  ModelWriter w;
  w.input("x", {-1, 4, 6});
  w.ints("zero", {0});
  w.ints("rest", {-1});
  w.node("Shape", {"x"}, {"shape"});
  w.node("Gather", {"shape", "zero"}, {"batch"});
  w.node("Concat", {"batch", "rest"}, {"target"});
  ModelWriter::attribute(*w.graph().mutable_node(2), "axis").set_i(0);
  w.node("Reshape", {"x", "target"}, {"flat"});
  w.output("flat");
  auto model = read(w.bytes(), shapes({{"x", {2, 4, 6}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).shape, (Shape{2, 24}));
  for (const Node& node : model->graph.nodes())
    EXPECT_TRUE(node.op == Op::kParameter || node.op == Op::kConstant || node.op == Op::kReshape)
        << op_name(node.op);
}

TEST(OnnxRead, ValuesThatShapesFollowFromAreFixed) {
  ModelWriter w;
  w.input("x", {6});
  w.input("shape", {2}, 7);
  w.node("Reshape", {"x", "shape"}, {"y"});
  w.output("y");
  auto error = read(w.bytes()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.to_string(), HasSubstr("node y (Reshape, opset 17)"));
  EXPECT_THAT(error.to_string(), HasSubstr("an input of the model whose value is given"));
  auto model =
      read(w.bytes(), shapes({}, {{"shape", Literal::from_ints(DType::kI64, {2}, {2, 3})}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_TRUE(model->arguments[1].is_fixed);
  EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).shape, (Shape{2, 3}));
}

TEST(OnnxRead, FunctionsAreExpandedWithTheirAttributes) {
  ModelWriter w;
  w.input("x", {3});
  auto& call = w.node("Scaled", {"x"}, {"y"});
  call.set_domain("mine");
  ModelWriter::attribute(call, "alpha").set_f(5);
  w.output("y");
  proto::Function& function = *w.model.add_functions();
  function.set_name("Scaled"), function.set_domain("mine");
  function.add_input("a"), function.add_output("b"), function.add_attribute("alpha");
  function.add_opset_import()->set_version(17);
  proto::Node& constant = *function.add_node();
  constant.set_op_type("Constant"), constant.add_output("c");
  proto::Attribute& value = *constant.add_attribute();
  value.set_name("value_float"), value.set_ref_attr_name("alpha");
  proto::Node& product = *function.add_node();
  product.set_op_type("Mul"), product.add_input("a"), product.add_input("c"),
      product.add_output("b");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_THAT(doubles(run(*model, {Literal::from_doubles(DType::kF32, {3}, {1, 2, 3})})[0]),
              ElementsAre(5, 10, 15));
}

TEST(OnnxRead, WhatIsNotSupportedIsNamed) {
  ModelWriter w(13);
  w.input("x", {3});
  w.node("Twist", {"x"}, {"y"}).set_name("n");
  w.output("y");
  auto error = read(w.bytes()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.to_string(), HasSubstr("m.onnx: node n (Twist, opset 13)"));
  w.graph().mutable_node(0)->set_op_type("StringSplit");
  EXPECT_THAT(read(w.bytes()).error().message, HasSubstr("Strings are not supported"));
  w.graph().mutable_node(0)->set_op_type("TreeEnsemble");
  w.graph().mutable_node(0)->set_domain("ai.onnx.ml");
  EXPECT_THAT(read(w.bytes()).error().message, HasSubstr("Trees"));
  w.model.mutable_opset_import(0)->set_version(99);
  EXPECT_THAT(read(w.bytes()).error().message, HasSubstr("opset (99)"));
}

TEST(OnnxRead, ElementTypesThatAreNotSupportedAreNamed) {
  ModelWriter w;
  w.input("words", {3}, 8);
  w.output("words");
  EXPECT_THAT(read(w.bytes()).error().to_string(), HasSubstr("The element type (STRING)"));
}

TEST(OnnxRead, FilesThatAreWrong) {
  std::string good = scaled_model({2, 100}).bytes();
  for (size_t size = 0; size < good.size(); size += 3) {
    auto model = read(good.substr(0, size));
    EXPECT_TRUE(model.ok() || !model.error().message.empty());
  }
  ModelWriter w = scaled_model({2, 100});
  w.graph().mutable_initializer(0)->set_dims(0, 101);
  EXPECT_THAT(read(w.bytes()).error().to_string(), HasSubstr("needs (404) bytes, but has (400)"));
  w.graph().mutable_initializer(0)->set_dims(0, int64_t{1} << 62);
  EXPECT_EQ(read(w.bytes()).error().code, ErrorCode::kBadInput);
  w = scaled_model({2, 100});
  w.graph().mutable_node(0)->set_input(1, "nobody");
  EXPECT_THAT(read(w.bytes()).error().to_string(), HasSubstr("input (nobody) is made by no node"));
}

}  // namespace
}  // namespace tuff::onnx::test
