// Convolutions have their channels last, and what follows them too: transposes stand where the
// model is entered and left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/rewrite.h"
#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

// Of nodes that somebody reads.
int64_t count(const Graph& graph, Op op) {
  std::vector<bool> live = live_nodes(graph);
  int64_t found = 0;
  for (uint32_t id = 0; id < graph.nodes().size(); ++id)
    found += live[id] && graph.node(Value{id, 0}).op == op;
  return found;
}

// x, 1 x 3 x 8 x 8, through a convolution with a bias.
ModelWriter convolution() {
  ModelWriter w;
  w.input("x", {1, 3, 8, 8});
  w.floats("w", {4, 3, 3, 3}, 0.5);
  w.floats("b", {4}, 1);
  w.node("Conv", {"x", "w", "b"}, {"c"});
  return w;
}

TEST(OnnxLayout, ElementwiseOperationsPoolsAndConcatsStayChannelsLast) {
  ModelWriter w = convolution();
  w.node("Relu", {"c"}, {"r"});
  proto::Node& pool = w.node("MaxPool", {"r"}, {"p"});
  for (int i = 0; i < 2; ++i) {
    if (i == 0) ModelWriter::attribute(pool, "kernel_shape");
    pool.mutable_attribute(0)->add_ints(2);
  }
  w.node("Sigmoid", {"p"}, {"s"});
  w.node("Mul", {"p", "s"}, {"m"});
  proto::Node& concat = w.node("Concat", {"m", "p"}, {"j"});
  ModelWriter::attribute(concat, "axis").set_i(1);
  w.floats("v", {2, 8, 1, 1}, 0.25);
  w.node("Conv", {"j", "v"}, {"y"});
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(count(model->graph, Op::kTranspose), 2);
  EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).shape, (Shape{1, 2, 5, 5}));
}

TEST(OnnxLayout, MeansOverPixelsLeaveNoTranspose) {
  ModelWriter w = convolution();
  w.node("GlobalAveragePool", {"c"}, {"g"});
  w.node("Flatten", {"g"}, {"y"});
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(count(model->graph, Op::kTranspose), 1);
}

// Each output of a convolution of ones sums what its window sees: with channels of x told apart,
// a wrong order of dimensions shows.
TEST(OnnxLayout, NumbersAreThoseOfChannelsFirst) {
  ModelWriter w;
  w.input("x", {1, 2, 3, 3});
  w.floats("w", {1, 2, 2, 2}, 1);
  w.node("Conv", {"x", "w"}, {"y"});
  w.output("y");
  std::vector<double> pixels;
  for (int i = 0; i < 18; ++i) pixels.push_back(i < 9 ? i : 100 * (i - 9));
  auto outputs =
      run(read(w.bytes()).value(), {Literal::from_doubles(DType::kF32, {1, 2, 3, 3}, pixels)});
  // The windows' sums of 0 ... 8 are 8, 12, 20 and 24.
  EXPECT_THAT(doubles(outputs[0]), testing::ElementsAre(808, 1212, 2020, 2424));
}

// Channels 0 1 2 3 as 0 2 1 3.
void shuffle(ModelWriter& w, const std::string& from, const std::string& to,
             const std::vector<int64_t>& places) {
  std::vector<int64_t> groups{1, 2, 2}, whole{1, 4};
  groups.insert(groups.end(), places.begin(), places.end());
  whole.insert(whole.end(), places.begin(), places.end());
  w.ints("groups", groups);
  w.ints("whole", whole);
  w.node("Reshape", {from, "groups"}, {"g"});
  proto::Node& transpose = w.node("Transpose", {"g"}, {"t"});
  proto::Attribute& permutation = ModelWriter::attribute(transpose, "perm");
  for (int64_t d : {0, 2, 1, 3, 4}) permutation.add_ints(d);
  w.node("Reshape", {"t", "whole"}, {to});
}

TEST(OnnxLayout, ShuffledChannelsStayLast) {
  ModelWriter w = convolution();
  shuffle(w, "c", "s", {6, 6});
  w.floats("v", {2, 4, 1, 1}, 0.25);
  w.node("Conv", {"s", "v"}, {"y"});
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  // In, out, and the shuffle's own.
  EXPECT_EQ(count(model->graph, Op::kTranspose), 3);
}

TEST(OnnxLayout, ShufflesMoveChannelsAndNoPixels) {
  ModelWriter w;
  w.input("x", {1, 4, 2, 3});
  w.floats("w", {4, 1, 1, 1}, 1);
  ModelWriter::attribute(w.node("Conv", {"x", "w"}, {"c"}), "group").set_i(4);
  shuffle(w, "c", "y", {2, 3});
  w.output("y");
  std::vector<double> pixels, expected;
  for (int channel : {0, 1, 2, 3})
    for (int i = 0; i < 6; ++i) pixels.push_back(10 * channel + i);
  for (int channel : {0, 2, 1, 3})
    for (int i = 0; i < 6; ++i) expected.push_back(10 * channel + i);
  auto outputs =
      run(read(w.bytes()).value(), {Literal::from_doubles(DType::kF32, {1, 4, 2, 3}, pixels)});
  EXPECT_THAT(doubles(outputs[0]), testing::ElementsAreArray(expected));
}

// A picture as a sequence of its pixels.
TEST(OnnxLayout, PixelsBecomeASequenceWithoutATranspose) {
  ModelWriter w = convolution();
  w.ints("to", {1, 4, 36});
  w.node("Reshape", {"c", "to"}, {"s"});
  proto::Node& transpose = w.node("Transpose", {"s"}, {"y"});
  proto::Attribute& permutation = ModelWriter::attribute(transpose, "perm");
  for (int64_t d : {0, 2, 1}) permutation.add_ints(d);
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(count(model->graph, Op::kTranspose), 1);
}

}  // namespace
}  // namespace tuff::onnx::test
