// Convolutions of our own: 1x1 windows, 3x3 ones by Winograd's filtering, and those of each channel
// by itself.
#ifdef TUFF_HAS_ONEDNN
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/convolution/depthwise.h"
#include "backend/cpu/convolution/winograd.h"
#include "backend/cpu/gemm/panel_product.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/convolution_calls.h"

namespace tuff::test {
namespace {

cpu::LibraryCallPtr pointwise(const ConvolutionCall& call) {
  return std::make_unique<cpu::PanelProduct>(cpu::pointwise_call(call, true), table(), owner());
}

TEST(CpuPointwise, ShapesAndPostOps) {
  struct {
    int64_t n, side, in, out, stride, results;
  } shapes[] = {{1, 1, 1, 1, 1, 1},     {2, 5, 3, 20, 1, 5},  {1, 7, 64, 130, 1, 7},
                {3, 13, 70, 17, 1, 13}, {2, 8, 33, 70, 2, 4}, {3, 17, 5, 66, 2, 9},
                {1, 23, 40, 65, 3, 8},  {2, 6, 17, 33, 1, 4}, {1, 3, 3000, 50, 1, 3},
                {0, 5, 3, 20, 1, 5}};
  for (auto& [n, side, in, out, stride, results] : shapes)
    for (const PostOpList& list : one_pass_lists()) {
      ConvolutionCall call =
          forward({n, side, side, in}, {1, 1, in, out}, {n, results, results, out},
                  {stride, stride}, {0, 0}, {0, 0}, {1, 1}, 1);
      SCOPED_TRACE("shape " + std::to_string(side) + "x" + std::to_string(in) + "x" +
                   std::to_string(out));
      call.post_ops = list;
      ASSERT_TRUE(is_pointwise(call));
      expect_one_pass(
          call, list, [](const ConvolutionCall& c) { return pointwise(c); }, 0);
    }
}

struct WindowShape {
  int64_t n, height, width, in, out;
  int64_t low = 1, high = 1;  // padding of each dimension
  int64_t tile = 0;           // that is expected
};

ConvolutionCall with_3x3_windows(const WindowShape& s) {
  int64_t more = s.low + s.high - 2;
  return forward({s.n, s.height, s.width, s.in}, {3, 3, s.in, s.out},
                 {s.n, s.height + more, s.width + more, s.out}, {1, 1}, {s.low, s.low},
                 {s.high, s.high}, {1, 1}, 1);
}

constexpr auto kTolerance = static_cast<float>(tolerance("long_product"));

TEST(CpuWinograd, ShapesAndPostOps) {
  const WindowShape shapes[] = {
      {.n = 1, .height = 14, .width = 14, .in = 64, .out = 64, .tile = 2},
      {.n = 1, .height = 19, .width = 23, .in = 33, .out = 70, .tile = 4},
      {.n = 3, .height = 21, .width = 13, .in = 40, .out = 129, .low = 0, .high = 0, .tile = 4},
      {.n = 1, .height = 31, .width = 11, .in = 64, .out = 31, .low = 2, .high = 1, .tile = 4},
      {.n = 1, .height = 14, .width = 13, .in = 67, .out = 65, .low = 0, .high = 2, .tile = 2}};
  std::vector<PostOpList> lists = one_pass_lists();
  for (const PostOpList& list : gate_lists()) lists.push_back(list);
  for (const WindowShape& shape : shapes)
    for (const PostOpList& list : lists) {
      bool is_rich = list.size() >= 3;  // the others, for one shape
      if (&shape != shapes && !is_rich) continue;
      ConvolutionCall call = with_3x3_windows(shape);
      SCOPED_TRACE("channels " + std::to_string(shape.in) + " to " + std::to_string(shape.out));
      call.post_ops = list;
      ASSERT_EQ(winograd_tile(call), shape.tile);
      ASSERT_TRUE(takes_bounds(call));
      expect_one_pass(
          call, list,
          [](const ConvolutionCall& c) { return cpu::create_winograd(c, true, table(), owner()); },
          kTolerance);
    }
}

struct DepthwiseShape {
  int64_t n, height, width, channels, window_y, window_x;
  int64_t stride = 1, low = 1, high = 1, dilation = 1;
};

ConvolutionCall depthwise(const DepthwiseShape& s) {
  auto results = [&](int64_t size, int64_t window) {
    return (size + s.low + s.high - (window - 1) * s.dilation - 1) / s.stride + 1;
  };
  return forward({s.n, s.height, s.width, s.channels}, {s.window_y, s.window_x, 1, s.channels},
                 {s.n, results(s.height, s.window_y), results(s.width, s.window_x), s.channels},
                 {s.stride, s.stride}, {s.low, s.low}, {s.high, s.high}, {s.dilation, s.dilation},
                 s.channels);
}

const DepthwiseShape kDepthwise[] = {
    {.n = 1, .height = 14, .width = 14, .channels = 48, .window_y = 3, .window_x = 3},
    {.n = 2, .height = 9, .width = 30, .channels = 24, .window_y = 3, .window_x = 3, .stride = 2},
    {.n = 1,
     .height = 7,
     .width = 7,
     .channels = 300,
     .window_y = 5,
     .window_x = 5,
     .low = 2,
     .high = 2},
    // Windows larger than the picture, and wider than high; without padding, with more than a
    // window's; gaps.
    {.n = 3,
     .height = 2,
     .width = 3,
     .channels = 9,
     .window_y = 7,
     .window_x = 7,
     .low = 3,
     .high = 3},
    {.n = 1,
     .height = 11,
     .width = 13,
     .channels = 17,
     .window_y = 1,
     .window_x = 4,
     .stride = 3,
     .low = 0,
     .high = 0},
    {.n = 1,
     .height = 6,
     .width = 5,
     .channels = 8,
     .window_y = 2,
     .window_x = 3,
     .low = 4,
     .high = 5},
    {.n = 1,
     .height = 20,
     .width = 21,
     .channels = 33,
     .window_y = 3,
     .window_x = 3,
     .stride = 2,
     .low = 2,
     .high = 1,
     .dilation = 2}};

TEST(CpuDepthwise, ShapesAndPostOps) {
  std::vector<PostOpList> lists = one_pass_lists();
  for (const PostOpList& list : gate_lists()) lists.push_back(list);
  for (const DepthwiseShape& shape : kDepthwise)
    for (const PostOpList& list : lists) {
      ConvolutionCall call = depthwise(shape);
      SCOPED_TRACE("channels " + std::to_string(shape.channels));
      call.post_ops = list;
      ASSERT_TRUE(is_depthwise(call));
      ASSERT_TRUE(takes_bounds(call));
      expect_one_pass(
          call, list,
          [](const ConvolutionCall& c) { return cpu::create_depthwise(c, true, table(), owner()); },
          kTolerance);
    }
}

TEST(CpuDepthwise, EveryProcessorLevelAndNaN) {
  for (const DepthwiseShape& shape : kDepthwise) {
    ConvolutionCall call = depthwise(shape);
    call.post_ops = {{PostOp::Kind::kMaximum, PostOp::With::kValue, 0, -1e30f},
                     {PostOp::Kind::kMinimum, PostOp::With::kValue, 0, 1e30f}};
    Tensors t(call);
    std::vector<float> want = naive(call, t), got(want.size());
    for (cpu::IsaLevel level :
         {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
      if (!cpu::isa_level_available(level)) continue;
      std::vector<cpu::CallOperand> operands{operand(t.source), operand(t.weights), operand(got)};
      auto convolution = cpu::create_depthwise(call, false, cpu::lane_table(level), owner());
      ASSERT_TRUE(convolution->run(operands).ok());
      EXPECT_LE(difference(got, want), kTolerance) << cpu::isa_level_name(level);
    }
    t.source.assign(t.source.size(), std::numeric_limits<float>::quiet_NaN());
    std::vector<cpu::CallOperand> operands{operand(t.source), operand(t.weights), operand(got)};
    ASSERT_TRUE(cpu::create_depthwise(call, false, table(), owner())->run(operands).ok());
    EXPECT_TRUE(std::any_of(got.begin(), got.end(), [](float x) { return std::isnan(x); }));
  }
}

// x * logistic(x) where it is flat, steep, tiny and not a number.
TEST(CpuRows, SiluAtItsEdges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> inputs = {0.0f,      -0.0f, 1e-30f, -1e-30f, 1e30f,  -1e30f,
                               kInfinity, 87.3f, -87.3f, -88.0f,  -104.0f};
  for (float x = -30; x < 30; x += 0.37f) inputs.push_back(x);
  for (cpu::IsaLevel level :
       {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    SCOPED_TRACE(cpu::isa_level_name(level));
    std::vector<float> got = inputs;
    const auto count = static_cast<int64_t>(got.size());
    cpu::lane_table(level).silu(1, count, got.data(), count);
    for (size_t i = 0; i < inputs.size(); ++i) {
      double x = inputs[i], want = x / (1 + std::exp(-x));
      if (got[i] == want) continue;  // infinity
      EXPECT_NEAR(got[i], want, 4e-7 * std::abs(want) + 1e-35) << x;
    }
    float nan[] = {std::numeric_limits<float>::quiet_NaN()};
    cpu::lane_table(level).silu(1, 1, nan, 1);
    EXPECT_TRUE(std::isnan(nan[0]));
  }
}

TEST(CpuWinograd, EveryProcessorLevel) {
  ConvolutionCall call = with_3x3_windows({.n = 1, .height = 17, .width = 20, .in = 37, .out = 41});
  for (cpu::IsaLevel level :
       {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    SCOPED_TRACE(cpu::isa_level_name(level));
    expect_one_pass(
        call, one_pass_lists().back(),
        [&](const ConvolutionCall& c) {
          return cpu::create_winograd(c, true, cpu::lane_table(level), owner());
        },
        kTolerance);
  }
}

// Turned around, and with the dimensions in another order: what a gradient's weights are.
TEST(CpuWinograd, WeightsInOtherLayouts) {
  const WindowShape shape = {.n = 1, .height = 16, .width = 16, .in = 48, .out = 64};
  ConvolutionCall call = with_3x3_windows(shape);
  call.weights.strides = {9 * 48 * 64, 9, 9 * 64, -3, -1};
  call.weights.offset = 8;
  expect_one_pass(
      call, {},
      [](const ConvolutionCall& c) { return cpu::create_winograd(c, true, table(), owner()); },
      kTolerance);
}

TEST(CpuWinograd, NaNReachesTheResultsThatSeeIt) {
  ConvolutionCall call = with_3x3_windows({.n = 1, .height = 16, .width = 16, .in = 40, .out = 64});
  call.post_ops = {{PostOp::Kind::kMaximum, PostOp::With::kValue, 0, 0}};
  Tensors t(call);
  t.source[static_cast<size_t>(place(call.source, {0, 5, 7, 9}))] =
      std::numeric_limits<float>::quiet_NaN();
  cpu::CallOperand operands[] = {operand(t.source), operand(t.weights), operand(t.destination)};
  ASSERT_TRUE(cpu::create_winograd(call, true, table(), owner())->run(operands).ok());
  for (int64_t y = 6; y <= 8; ++y)
    for (int64_t x = 8; x <= 10; ++x)
      for (int64_t c = 0; c < 64; ++c)
        ASSERT_TRUE(std::isnan(t.destination[place(call.destination, {0, c, y, x})]));
}

TEST(WinogradTile, OnlyWhereItPaysAndIsAllowed) {
  const WindowShape shape = {.n = 1, .height = 28, .width = 28, .in = 128, .out = 128};
  EXPECT_EQ(winograd_tile(with_3x3_windows(shape)), 4);
  // Few channels, few pixels: transforms, or weights, are most of the work.
  EXPECT_EQ(
      winograd_tile(with_3x3_windows({.n = 1, .height = 28, .width = 28, .in = 3, .out = 64})), 0);
  EXPECT_EQ(
      winograd_tile(with_3x3_windows({.n = 1, .height = 7, .width = 7, .in = 512, .out = 512})), 0);
  auto changed = [&](const auto& change) {
    ConvolutionCall call = with_3x3_windows(shape);
    change(call);
    return winograd_tile(call);
  };
  using C = ConvolutionCall;
  EXPECT_EQ(changed([](C& c) { c.only_direct = true; }), 0) << "the program asks for precision";
  EXPECT_EQ(changed([](C& c) { c.kind = C::Kind::kBackwardData; }), 0);
  EXPECT_EQ(changed([](C& c) { c.dilations = {1, 2}; }), 0);
  EXPECT_EQ(changed([](C& c) { c.strides = {2, 1}; }), 0);
  EXPECT_EQ(changed([](C& c) { c.source.strides[1] = 2; }), 0) << "channels apart";
  EXPECT_EQ(changed([](C& c) { c.weights.dtype = DType::kBF16; }), 0);
  EXPECT_EQ(changed([](C& c) {
              c.post_ops = {{PostOp::Kind::kGeluErf, PostOp::With::kNothing},
                            {PostOp::Kind::kAdd, PostOp::With::kValue, 0, 1}};
            }),
            0)
      << "more than one pass";
}

}  // namespace
}  // namespace tuff::test
#endif
