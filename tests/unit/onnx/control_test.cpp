// Branches and loops: gone where all is known, on the device where not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

bool has_op(const Graph& graph, Op op) {
  for (const Node& node : graph.nodes())
    if (node.op == op) return true;
  return false;
}

// y = x + x if c, else x * x.
ModelWriter branches() {
  ModelWriter w;
  w.input("x", {2});
  proto::Node& node = w.node("If", {"c"}, {"y"});
  for (auto [name, op] : {std::pair{"then_branch", "Add"}, {"else_branch", "Mul"}}) {
    proto::Graph& branch = *ModelWriter::attribute(node, name).mutable_g();
    ModelWriter::node(branch, op, {"x", "x"}, {"r"});
    branch.add_output()->set_name("r");
  }
  w.output("y");
  return w;
}

TEST(OnnxControl, KnownConditionsLeaveOneBranch) {
  ModelWriter w = branches();
  proto::Tensor& c = *w.graph().add_initializer();
  c.set_name("c"), c.set_data_type(9), c.add_int32_data(0);
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_FALSE(has_op(model->graph, Op::kIf));
  EXPECT_THAT(doubles(run(*model, {Literal::from_doubles(DType::kF32, {2}, {3, 4})})[0]),
              ElementsAre(9, 16));
}

TEST(OnnxControl, OtherConditionsBranchOnTheDevice) {
  ModelWriter w = branches();
  w.input("c", {}, 9);
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_TRUE(has_op(model->graph, Op::kIf));
  Literal x = Literal::from_doubles(DType::kF32, {2}, {3, 4});
  EXPECT_THAT(doubles(run(*model, {x, Literal::from_ints(DType::kBool, {}, {1})})[0]),
              ElementsAre(6, 8));
  EXPECT_THAT(doubles(run(*model, {x, Literal::from_ints(DType::kBool, {}, {0})})[0]),
              ElementsAre(9, 16));
}

// Sums of x added `trips` times to a sum that starts as x; each sum is also scanned.
ModelWriter summing_loop() {
  ModelWriter w;
  w.input("x", {2});
  proto::Node& node = w.node("Loop", {"trips", "", "x"}, {"sum", "sums"});
  proto::Graph& body = *ModelWriter::attribute(node, "body").mutable_g();
  ModelWriter::describe(*body.add_input(), "i", {}, 7);
  ModelWriter::describe(*body.add_input(), "more", {}, 9);
  ModelWriter::describe(*body.add_input(), "before", {2});
  ModelWriter::node(body, "Add", {"before", "x"}, {"after"});
  ModelWriter::node(body, "Identity", {"more"}, {"goes_on"});
  ModelWriter::node(body, "Identity", {"after"}, {"scanned"});
  for (const char* name : {"goes_on", "after", "scanned"}) body.add_output()->set_name(name);
  w.output("sum");
  w.output("sums");
  return w;
}

TEST(OnnxControl, LoopsRunOnTheDevice) {
  ModelWriter w = summing_loop();
  w.ints("trips", {3});
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_TRUE(has_op(model->graph, Op::kWhile));
  auto outputs = run(*model, {Literal::from_doubles(DType::kF32, {2}, {1, 10})});
  EXPECT_THAT(doubles(outputs[0]), ElementsAre(4, 40));
  EXPECT_THAT(doubles(outputs[1]), ElementsAre(2, 20, 3, 30, 4, 40));
}

TEST(OnnxControl, ScannedOutputsNeedAKnownNumberOfRounds) {
  ModelWriter w = summing_loop();
  w.input("trips", {}, 7);
  EXPECT_THAT(read(w.bytes()).error().to_string(), HasSubstr("scanned outputs of unknown length"));
}

// The body grows what it carries, so its rounds are put one after another.
TEST(OnnxControl, LoopsThatChangeShapesAreUnrolled) {
  ModelWriter w = summing_loop();
  proto::Graph& body = *w.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_node(0)->set_op_type("Concat");
  ModelWriter::attribute(*body.mutable_node(0), "axis").set_i(0);
  body.mutable_output()->RemoveLast();
  w.graph().mutable_node(0)->mutable_output()->RemoveLast();
  w.graph().mutable_output()->RemoveLast();
  w.ints("trips", {2});
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_THAT(doubles(run(*model, {Literal::from_doubles(DType::kF32, {2}, {1, 2})})[0]),
              ElementsAre(1, 2, 1, 2, 1, 2));
}

}  // namespace
}  // namespace tuff::onnx::test
