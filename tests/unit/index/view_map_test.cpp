// Views as index arithmetic, checked against moving the elements for real.
#include "ir/index/view_map.h"

#include <gtest/gtest.h>

#include "ir/group/affine_access.h"

namespace tuff {
namespace {

Node view_node(Op op, Shape result, Attrs attrs) {
  Node node;
  node.op = op;
  node.types = {{DType::kI32, std::move(result)}};
  node.attrs = std::move(attrs);
  return node;
}

// Where result element `position` comes from: (operand, linear element).
std::pair<uint32_t, int64_t> source_of(const Node& node, const std::vector<Shape>& shapes,
                                       std::vector<int64_t> position) {
  IndexContext context;
  IndexVector index(position.begin(), position.end());
  auto sources = view_sources(context, node, shapes, index);
  EXPECT_EQ(sources.size(), 1u);  // constants decide every condition
  return {sources[0].operand, linearize(sources[0].index, shapes[sources[0].operand]).constant};
}

TEST(ViewMap, TransposePermutes) {
  Node node = view_node(Op::kTranspose, {3, 2}, TransposeAttrs{{1, 0}});
  EXPECT_EQ(source_of(node, {{2, 3}}, {2, 1}), std::make_pair(0u, int64_t{5}));
  EXPECT_EQ(source_of(node, {{2, 3}}, {1, 0}), std::make_pair(0u, int64_t{1}));
}

// What would broadcast to a longer leading dimension is the same for all of it; what has the
// dimension itself keeps its variable.
TEST(ViewMap, AnOpenLeadingDimensionIsLeftByVectorsAndKeptByRows) {
  IndexContext context;
  IndexVector index = {context.open_symbol("batch"), context.symbol("column", 0, 6)};
  Node row = view_node(Op::kReshape, {1, 7}, {});
  EXPECT_EQ(view_sources(context, row, {{7}}, index)[0].index, IndexVector{index[1]});
  EXPECT_EQ(view_sources(context, row, {{1, 7, 1}}, index)[0].index,
            (IndexVector{index[0], index[1], 0}));
  Node same = view_node(Op::kBroadcastInDim, {1, 7}, BroadcastInDimAttrs{{0, 1}});
  EXPECT_EQ(view_sources(context, same, {{1, 1}}, index)[0].index, (IndexVector{index[0], 0}));
}

TEST(ViewMap, BroadcastIgnoresNewAndUnitDimensions) {
  Node node = view_node(Op::kBroadcastInDim, {4, 2, 3}, BroadcastInDimAttrs{{1, 2}});
  EXPECT_EQ(source_of(node, {{1, 3}}, {3, 1, 2}), std::make_pair(0u, int64_t{2}));
}

TEST(ViewMap, SliceAndReverse) {
  Node slice = view_node(Op::kSlice, {2},
                         SliceAttrs{.start_indices = {1}, .limit_indices = {6}, .strides = {3}});
  EXPECT_EQ(source_of(slice, {{7}}, {1}), std::make_pair(0u, int64_t{4}));
  Node reverse = view_node(Op::kReverse, {7}, DimensionsAttrs{{0}});
  EXPECT_EQ(source_of(reverse, {{7}}, {1}), std::make_pair(0u, int64_t{5}));
}

TEST(ViewMap, PadFallsBackToThePaddingValue) {
  Node node = view_node(
      Op::kPad, {8},
      PadAttrs{.edge_padding_low = {1}, .edge_padding_high = {2}, .interior_padding = {1}});
  // low 1, then elements at 1, 3, 5, then high 2.
  for (int64_t i = 0; i < 8; ++i) {
    bool element = i == 1 || i == 3 || i == 5;
    EXPECT_EQ(source_of(node, {{3}, {}}, {i}),
              std::make_pair(element ? 0u : 1u, element ? (i - 1) / 2 : 0))
        << i;
  }
}

TEST(ViewMap, NegativePaddingCuts) {
  Node node = view_node(
      Op::kPad, {2},
      PadAttrs{.edge_padding_low = {-1}, .edge_padding_high = {-1}, .interior_padding = {0}});
  EXPECT_EQ(source_of(node, {{4}, {}}, {0}), std::make_pair(0u, int64_t{1}));
  EXPECT_EQ(source_of(node, {{4}, {}}, {1}), std::make_pair(0u, int64_t{2}));
}

TEST(ViewMap, ConcatenatePicksTheOperand) {
  Node node = view_node(Op::kConcatenate, {5}, ConcatenateAttrs{0});
  const uint32_t operand[] = {0, 0, 2, 2, 2};
  const int64_t element[] = {0, 1, 0, 1, 2};
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(source_of(node, {{2}, {0}, {3}}, {i}), std::make_pair(operand[i], element[i])) << i;
}

TEST(ViewMap, ConcatenateSaysWhereItsOperandsBegin) {
  Node node = view_node(Op::kConcatenate, {9}, ConcatenateAttrs{0});
  IndexContext context;
  IndexExpr i = context.symbol("i", 0, 8);
  auto sources = view_sources(context, node, {{2}, {3}, {4}}, {i});
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_TRUE(sources[0].implied.empty());
  for (size_t s : {1u, 2u}) {
    ASSERT_EQ(sources[s].implied.size(), 1u);
    EXPECT_EQ(sources[s].implied[0].e, i - (s == 1 ? 2 : 5));
  }
}

TEST(ViewMap, ReshapeOfSplitDimensionsStaysAffine) {
  // q of attention: [2*4, 3*5] seen as [2, 3, 4, 5].
  Graph graph;
  Value x = graph.add_parameter({DType::kF32, {8, 15}});
  Value split = add_op(graph, Op::kReshape, {x}, {DType::kF32, {2, 4, 3, 5}});
  Value heads = add_op(graph, Op::kTranspose, {split}, {DType::kF32, {2, 3, 4, 5}},
                       TransposeAttrs{{0, 2, 1, 3}});
  auto access = affine_access(graph, heads, [](uint32_t) { return true; });
  ASSERT_TRUE(access.has_value());
  EXPECT_EQ(access->base, x);
  EXPECT_EQ(access->strides, (std::vector<int64_t>{60, 5, 15, 1}));
}

TEST(ViewMap, MergingAcrossATransposeIsNotAffine) {
  Graph graph;
  Value x = graph.add_parameter({DType::kF32, {2, 3}});
  Value t = add_op(graph, Op::kTranspose, {x}, {DType::kF32, {3, 2}}, TransposeAttrs{{1, 0}});
  Value flat = add_op(graph, Op::kReshape, {t}, {DType::kF32, {6}});
  EXPECT_FALSE(affine_access(graph, flat, [](uint32_t) { return true; }).has_value());
}

}  // namespace
}  // namespace tuff
