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

}  // namespace
}  // namespace tuff::onnx::test
