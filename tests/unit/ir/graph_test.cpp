// What graphs share: their nodes, and the list of them as far as it is the same.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/rewrite.h"

namespace tuff {
namespace {

const TensorType kType{DType::kF32, {4}};

// p -> abs -> negate -> exponential
Graph chain() {
  Graph graph;
  Value v = graph.add_parameter(kType, "p");
  for (Op op : {Op::kAbs, Op::kNegate, Op::kExponential}) v = add_op(graph, op, {v}, kType);
  graph.set_outputs({v});
  return graph;
}

Value add_unary(Graph& graph, Op op, Value v) { return add_op(graph, op, {v}, kType); }

TEST(SharedNodes, CopiesGrowApart) {
  Graph first = chain();
  Graph second = first;
  EXPECT_EQ(add_unary(second, Op::kSine, {3, 0}), (Value{4, 0}));
  EXPECT_EQ(add_unary(first, Op::kCosine, {3, 0}), (Value{4, 0}));
  EXPECT_EQ(first.node(4).op, Op::kCosine);
  EXPECT_EQ(second.node(4).op, Op::kSine);
  EXPECT_EQ(first.nodes().size(), 5u);
  // Both still find what they had.
  EXPECT_EQ(add_unary(first, Op::kNegate, {1, 0}), (Value{2, 0}));
  EXPECT_EQ(add_unary(second, Op::kNegate, {1, 0}), (Value{2, 0}));
}

TEST(SharedNodes, ACopyOutlivesItsGraph) {
  auto graph = std::make_unique<Graph>(chain());
  Graph copy = *graph;
  graph.reset();
  EXPECT_EQ(copy, chain());
}

TEST(SharedNodes, TheSameNodesInOrderAreTheSameGraph) {
  Graph graph = chain();
  Graph again = graph.parameters_only();
  for (uint32_t id = 1; id < graph.nodes().size(); ++id)
    EXPECT_EQ(again.add_shared(graph, id), (Value{id, 0}));
  again.set_outputs(graph.outputs(), graph.output_names());
  EXPECT_EQ(again, graph);
  EXPECT_EQ(again.hash(), graph.hash());
}

TEST(SharedNodes, AShorterListDoesNotFindWhatFollowsInTheLonger) {
  Graph graph = chain();
  Graph shorter = graph.parameters_only();
  EXPECT_EQ(shorter.add_shared(graph, 1), (Value{1, 0}));
  // The longer graph has a negate of node 1 and an exponential of node 2.
  EXPECT_EQ(add_unary(shorter, Op::kAbs, {0, 0}), (Value{1, 0}));
  EXPECT_EQ(add_unary(shorter, Op::kSine, {1, 0}), (Value{2, 0}));
  EXPECT_EQ(add_unary(shorter, Op::kExponential, {2, 0}), (Value{3, 0}));
  EXPECT_EQ(add_unary(shorter, Op::kNegate, {1, 0}), (Value{4, 0}));
  EXPECT_EQ(graph, chain());
}

TEST(SharedNodes, EffectsAndLivenessAreOfTheNodesThatAreThere) {
  Graph graph = chain();
  Node call;
  call.op = Op::kCustomCall;
  call.types = {kType};
  call.attrs = CustomCallAttrs{.call_target_name = "f", .has_side_effect = true};
  graph.add(call);
  EXPECT_FALSE(graph.parameters_only().has_side_effects());
  Graph again = graph.parameters_only();
  for (uint32_t id = 1; id < graph.nodes().size(); ++id) again.add_shared(graph, id);
  EXPECT_TRUE(again.has_side_effects());

  Graph live = chain();
  live.note_live();
  EXPECT_TRUE(Graph(live).is_known_live());
  live.set_outputs({{1, 0}});
  EXPECT_FALSE(live.is_known_live());
  EXPECT_EQ(live_nodes(live), (std::vector<bool>{true, true, false, false}));
}

TEST(ValueMap, KeepsValuesUntilOneDiffers) {
  Graph graph = chain();
  ValueMap map(graph);
  for (uint32_t id : {0u, 1u, 2u}) map.set(id, Value{id, 0});
  EXPECT_TRUE(map.keeps({{0, 0}, {2, 0}}));
  map.set(3, Value{7, 0});
  EXPECT_TRUE(map.keeps({{0, 0}, {2, 0}}));
  EXPECT_FALSE(map.keeps({{3, 0}}));
  map.set(1, Value{5, 0});
  EXPECT_EQ(map.of({{0, 0}, {1, 0}, {2, 0}, {3, 0}}),
            (std::vector<Value>{{0, 0}, {5, 0}, {2, 0}, {7, 0}}));
}

TEST(ValueMap, TakesNodesInAnyOrder) {
  Graph graph = chain();
  ValueMap map(graph);
  for (uint32_t id : {0u, 2u, 1u, 3u}) map.set(id, Value{id, 0});
  EXPECT_TRUE(map.keeps({{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
}

TEST(Rewrite, WhatNoRuleTouchesIsTheSameGraph) {
  Graph graph = chain();
  Graph kept = rewrite_graph(graph, [](const RewriteSite&) { return std::nullopt; });
  EXPECT_EQ(kept, graph);
  EXPECT_EQ(kept.nodes().begin(), graph.nodes().begin());
  EXPECT_TRUE(kept.is_known_live());
}

}  // namespace
}  // namespace tuff
