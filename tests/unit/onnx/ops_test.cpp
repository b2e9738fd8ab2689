// Operators whose meaning changed with the opset, and composites.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/composite.h"
#include "tests/unit/onnx/models.h"

namespace tuff::onnx::test {
namespace {

using testing::ElementsAre;

std::vector<double> run_op(int64_t opset, const std::string& op,
                           const std::vector<std::string>& inputs,
                           const std::function<void(ModelWriter&, proto::Node&)>& more,
                           const Literal& x) {
  ModelWriter w(opset);
  w.input("x", x.type().shape);
  more(w, w.node(op, inputs, {"y"}));
  w.output("y");
  auto model = read(w.bytes());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? doubles(run(*model, {x})[0]) : std::vector<double>();
}

const Literal kRow = Literal::from_doubles(DType::kF32, {1, 4}, {1, 2, 3, 4});

TEST(OnnxOps, AttributesThatBecameInputs) {
  for (int64_t opset : {9, 13})
    EXPECT_THAT(run_op(
                    opset, "Slice",
                    opset < 10 ? std::vector<std::string>{"x"}
                               : std::vector<std::string>{"x", "s", "e", "a", "t"},
                    [&](ModelWriter& w, proto::Node& node) {
                      if (opset < 10) {
                        ModelWriter::attribute(node, "starts").add_ints(1);
                        ModelWriter::attribute(node, "ends").add_ints(-1);
                        ModelWriter::attribute(node, "axes").add_ints(1);
                      } else {
                        w.ints("s", {1}), w.ints("e", {-1}), w.ints("a", {1}), w.ints("t", {1});
                      }
                    },
                    kRow),
                ElementsAre(2, 3));
}

TEST(OnnxOps, NegativeStepsGoBackwards) {
  EXPECT_THAT(run_op(
                  13, "Slice", {"x", "s", "e", "a", "t"},
                  [](ModelWriter& w, proto::Node&) {
                    w.ints("s", {-1}), w.ints("e", {INT64_MIN}), w.ints("a", {1}),
                        w.ints("t", {-2});
                  },
                  kRow),
              ElementsAre(4, 2));
}

TEST(OnnxOps, SoftmaxIsOfTheAxisOrOfAllThatFollows) {
  Literal x = Literal::splat({DType::kF32, {1, 2, 2}}, 7);
  auto none = [](ModelWriter&, proto::Node&) {};
  EXPECT_THAT(run_op(13, "Softmax", {"x"}, none, x), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(run_op(12, "Softmax", {"x"}, none, x), ElementsAre(0.25, 0.25, 0.25, 0.25));
}

TEST(OnnxOps, ModHasTheDivisorsSign) {
  Literal x = Literal::from_doubles(DType::kF32, {2}, {-3, 3});
  auto divisor = [](ModelWriter& w, proto::Node& node) {
    w.floats("two", {1}, 2);
    node.add_input("two");
    ModelWriter::attribute(node, "fmod").set_i(1);
  };
  EXPECT_THAT(run_op(13, "Mod", {"x"}, divisor, x), ElementsAre(-1, 1));
}

TEST(OnnxOps, AttributesThatSayTwoThingsAreRefused) {
  auto refusal = [](const std::string& op, std::vector<std::pair<std::string, int64_t>> values) {
    ModelWriter w(13);
    w.input("x", {2, 2});
    w.ints("n", {1, 2});
    proto::Node& node = w.node(op, {"x", op == "Mod" ? "x" : "n"}, {"y"});
    for (auto& [name, value] : values) ModelWriter::attribute(node, name).set_i(value);
    w.output("y");
    auto model = read(w.bytes());
    return model.ok() ? std::string() : model.error().to_string();
  };
  EXPECT_THAT(refusal("Mod", {{"fmod", 5}}), testing::HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refusal("ReverseSequence", {{"time_axis", 1}}), testing::HasSubstr("same axis"));
}

TEST(OnnxOps, CompositesArriveByTheirNames) {
  ModelWriter w(20);
  w.input("x", {3, 8});
  w.floats("scale", {8}, 1);
  w.node("LayerNormalization", {"x", "scale"}, {"a"});
  w.node("Softmax", {"a"}, {"b"});
  w.node("Gelu", {"b"}, {"y"});
  w.output("y");
  auto model = read(w.bytes());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  std::vector<size_t> kinds;
  for (const Node& node : model->graph.nodes())
    if (is_named_region(node)) kinds.push_back(node.attrs.as<FusedAttrs>().composite.index());
  EXPECT_THAT(kinds, ElementsAre(Composite(LayerNorm()).index(), Composite(Softmax()).index(),
                                 Composite(Gelu()).index()));
}

}  // namespace
}  // namespace tuff::onnx::test
