// Sequences and optionals as inputs and outputs, and through branches and loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void describe_tensor(proto::TypeInfo& type, const std::vector<int64_t>& shape) {
  proto::ValueInfo info;
  ModelWriter::describe(info, "", shape);
  type = info.type();
}

// An input that is a sequence of tensors of a shape, or an optional that may hold one.
void sequence_input(ModelWriter& w, const std::string& name, const std::vector<int64_t>& shape,
                    bool optional = false) {
  proto::ValueInfo& info = *w.graph().add_input();
  info.set_name(name);
  proto::TypeInfo* type = info.mutable_type();
  if (optional) type = type->mutable_optional_type()->mutable_elem_type();
  describe_tensor(*type->mutable_sequence_type()->mutable_elem_type(), shape);
}

void optional_input(ModelWriter& w, const std::string& name, const std::vector<int64_t>& shape) {
  proto::ValueInfo& info = *w.graph().add_input();
  info.set_name(name);
  describe_tensor(*info.mutable_type()->mutable_optional_type()->mutable_elem_type(), shape);
}

std::vector<std::string> argument_names(const Model& model) {
  std::vector<std::string> names;
  for (const ModelArgument& argument : model.arguments) names.push_back(argument.name);
  return names;
}

Literal floats(std::vector<double> values) {
  return Literal::from_doubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

Literal truth(bool value) { return Literal::from_ints(DType::kBool, {}, {value}); }

// y = x with z at its end.
ModelWriter inserting() {
  ModelWriter w;
  sequence_input(w, "x", {-1});
  w.input("z", {1});
  w.node("SequenceInsert", {"x", "z"}, {"y"});
  w.output("y");
  return w;
}

TEST(OnnxSequence, ASequenceIsItsTensors) {
  auto model = read(inserting().bytes(), shapes({{"x.0", {2}}, {"x.1", {3}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_THAT(argument_names(*model), ElementsAre("x.0", "x.1", "z"));
  EXPECT_THAT(model->results, ElementsAre("y.0", "y.1", "y.2"));
  auto outputs = run(*model, {floats({1, 2}), floats({3, 4, 5}), floats({6})});
  EXPECT_THAT(doubles(outputs[1]), ElementsAre(3, 4, 5));
  EXPECT_THAT(doubles(outputs[2]), ElementsAre(6));
}

TEST(OnnxSequence, ALengthIsGivenAsAShape) {
  auto model = read(inserting().bytes(), shapes({{"x", {0}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_THAT(model->results, ElementsAre("y.0"));
  EXPECT_THAT(read(inserting().bytes()).error().to_string(), HasSubstr("(x=3)"));
  EXPECT_THAT(read(inserting().bytes(), shapes({{"x", {2}}})).error().to_string(),
              HasSubstr("shape (x.0=2x64)"));
  EXPECT_THAT(read(inserting().bytes(), shapes({{"x", {2, 3}}})).error().to_string(),
              HasSubstr("its shape is one number"));
}

TEST(OnnxSequence, AnOptionalIsThereWhereItIsGiven) {
  for (bool given : {false, true}) {
    ModelWriter w;
    optional_input(w, "x", {2});
    sequence_input(w, "s", {2}, true);
    w.node("OptionalHasElement", {"x"}, {"has"});
    w.node("Identity", {"x"}, {"same"});
    w.node("Identity", {"s"}, {"list"});
    for (const char* name : {"has", "same", "list"}) w.output(name);
    ArgumentShapes here;
    if (given) here = {{"x", {2}}, {"s.0", {2}}};
    auto model = read(w.bytes(), shapes(here));
    ASSERT_TRUE(model.ok()) << model.error().to_string();
    std::vector<Literal> inputs;
    if (given) inputs = {floats({1, 2}), floats({3, 4})};
    auto outputs = run(*model, inputs);
    EXPECT_EQ(outputs.size(), given ? 3U : 1U);
    EXPECT_EQ(outputs[0].get_int(0), given);
  }
}

// s = [x, x] if c, else `other` of x and x.
ModelWriter branches(const std::vector<std::string>& other) {
  ModelWriter w;
  w.input("c", {}, 9);
  w.input("x", {2});
  proto::Node& node = w.node("If", {"c"}, {"s"});
  for (auto [name, inputs] :
       {std::pair{"then_branch", std::vector<std::string>{"x", "x"}}, {"else_branch", other}}) {
    proto::Graph& branch = *ModelWriter::attribute(node, name).mutable_g();
    ModelWriter::node(branch, "Neg", {"x"}, {"n"});
    ModelWriter::node(branch, "SequenceConstruct", inputs, {"r"});
    branch.add_output()->set_name("r");
  }
  w.output("s");
  return w;
}

TEST(OnnxSequence, BranchesOfOneStructureAreChosenOnTheDevice) {
  auto model = read(branches({"n", "x"}).bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_THAT(model->results, ElementsAre("s.0", "s.1"));
  EXPECT_THAT(doubles(run(*model, {truth(true), floats({1, 2})})[0]), ElementsAre(1, 2));
  EXPECT_THAT(doubles(run(*model, {truth(false), floats({1, 2})})[0]), ElementsAre(-1, -2));
}

TEST(OnnxSequence, OtherBranchesAskForTheCondition) {
  std::string bytes = branches({"x"}).bytes();
  EXPECT_THAT(read(bytes).error().to_string(),
              HasSubstr("an input of the model whose value is given"));
  auto model = read(bytes, shapes({}, {{"c", truth(false)}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_TRUE(model->arguments[0].is_fixed);
  EXPECT_THAT(model->results, ElementsAre("s.0"));
}

TEST(OnnxSequence, LoopsUseSequencesFromOutside) {
  ModelWriter w;
  sequence_input(w, "x", {2});
  w.input("start", {2});
  w.ints("first", {0});
  w.ints("trips", {3});
  proto::Node& node = w.node("Loop", {"trips", "", "start"}, {"sum"});
  proto::Graph& body = *ModelWriter::attribute(node, "body").mutable_g();
  ModelWriter::describe(*body.add_input(), "i", {}, 7);
  ModelWriter::describe(*body.add_input(), "more", {}, 9);
  ModelWriter::describe(*body.add_input(), "before", {2});
  ModelWriter::node(body, "SequenceAt", {"x", "first"}, {"part"});
  ModelWriter::node(body, "Add", {"before", "part"}, {"after"});
  ModelWriter::node(body, "Identity", {"more"}, {"goes_on"});
  for (const char* name : {"goes_on", "after"}) body.add_output()->set_name(name);
  w.output("sum");
  auto model = read(w.bytes(), shapes({{"x", {2}}}));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  auto outputs = run(*model, {floats({1, 10}), floats({7, 7}), floats({0, 5})});
  EXPECT_THAT(doubles(outputs[0]), ElementsAre(3, 35));
}

}  // namespace
}  // namespace tuff::onnx::test
