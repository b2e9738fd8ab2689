// Long, wide and deep graphs compile, on threads with little stack.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/compile.h"
#include "ir/passes/group/group_table.h"
#include "tests/unit/small_stack.h"

namespace tuff {
namespace {

std::shared_ptr<const Program> compiled(const Graph& graph, const Caps& caps) {
  std::shared_ptr<const Program> program;
  test::on_small_stack([&] {
    auto result = compile(graph, caps, {}, nullptr);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().to_string());
    if (result.ok()) program = *result;
  });
  return program ? program : std::make_shared<const Program>();
}

size_t most_ops(const Program& program) {
  size_t most = 0;
  for_each_step(program.steps,
                [&](const Step& step, int) { most = std::max(most, step.ops.size()); });
  return most;
}

Caps library_caps() {
  Caps caps;
  caps.library_calls = true;
  return caps;
}

const TensorType kType{DType::kF32, {4, 8}};

TEST(Size, AChainOf20000BecomesSeveralKernels) {
  Graph graph;
  Value x = graph.add_parameter(kType), y = graph.add_parameter(kType);
  for (int i = 0; i < 10000; ++i)
    x = add_op(graph, Op::kAdd, {add_op(graph, Op::kTanh, {x}, kType), y}, kType);
  graph.set_outputs({x});
  for (const Caps& caps : {Caps{}, library_caps()}) {
    auto program = compiled(graph, caps);
    EXPECT_LE(most_ops(*program), kMaxGroupMembers + 1);
    EXPECT_LE(program->steps.size(), 20000 / kMaxGroupMembers + 2);
  }
}

// Views move nothing, but one that is far from what it reads is stored on the way.
TEST(Size, AChainOfViewsIsCut) {
  Graph graph;
  Value x = graph.add_parameter({DType::kF32, {2000, 3}});
  for (int64_t rows = 1999; rows > 0; --rows) {
    TensorType type{DType::kF32, {rows, 3}};
    x = add_op(graph, Op::kReverse, {x}, graph.type(x), DimensionsAttrs{{0}});
    x = add_op(graph, Op::kSlice, {x}, type, SliceAttrs{{0, 0}, {rows, 3}, {1, 1}});
  }
  graph.set_outputs({x});
  EXPECT_GT(compiled(graph, {})->steps.size(), 1u);
}

TEST(Size, ManyOperandsAreBoundBySeveralKernels) {
  for (int64_t buffers : {4, 32}) {
    Graph graph;
    Caps caps;
    caps.max_storage_buffers = buffers;
    std::vector<Value> pieces;
    for (int i = 0; i < 500; ++i) pieces.push_back(graph.add_parameter(kType));
    TensorType all{DType::kF32, {4 * 500, 8}};
    Value whole = add_op(graph, Op::kConcatenate, pieces, all, ConcatenateAttrs{0});
    std::reverse(pieces.begin(), pieces.end());
    Value back = add_op(graph, Op::kConcatenate, pieces, all, ConcatenateAttrs{0});
    graph.set_outputs({add_op(graph, Op::kAdd, {whole, back}, all)});
    auto program = compiled(graph, caps);
    ASSERT_FALSE(program->kernels.empty());
    for (const Kernel& kernel : program->kernels)
      EXPECT_LE(static_cast<int64_t>(kernel.buffers.size()), buffers);
  }
}

TEST(Size, RegionsInRegions) {
  const TensorType flag{DType::kBool, {}};
  auto branch = std::make_shared<Graph>();
  Value x = (branch->add_parameter(flag), branch->add_parameter(kType));
  branch->set_outputs({add_op(*branch, Op::kTanh, {x}, kType)});
  GraphPtr inner = branch;
  for (int depth = 0; depth < 300; ++depth) {
    auto outer = std::make_shared<Graph>();
    Value p = outer->add_parameter(flag);
    Node node;
    node.op = Op::kIf;
    node.operands = {p, p, outer->add_parameter(kType)};
    node.types = {kType};
    node.regions = {inner, branch};
    outer->set_outputs({outer->add(std::move(node))});
    inner = outer;
  }
  EXPECT_FALSE(compiled(*inner, {})->steps.empty());
}

TEST(Size, ManyArgumentsAndOutputs) {
  Graph graph;
  std::vector<Value> outputs;
  std::vector<Value> arguments;
  for (int i = 0; i < 3000; ++i) arguments.push_back(graph.add_parameter(kType));
  for (Value v : arguments) outputs.push_back(add_op(graph, Op::kTanh, {v}, kType));
  graph.set_outputs(outputs);
  for (uint32_t i = 0; i < 3000; ++i) graph.donations.emplace_back(i, i);
  auto program = compiled(graph, {});
  EXPECT_EQ(program->outputs.size(), 3000u);
  // As many beside each other as a kernel has buffers for, and one for what is left.
  EXPECT_EQ(program->kernels.size(), 2u);
}

}  // namespace
}  // namespace tuff
