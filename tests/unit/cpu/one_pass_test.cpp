// Convolutions of our own: 1x1 windows, and 3x3 ones by Winograd's filtering.
#ifdef TUFF_HAS_ONEDNN
#include <gtest/gtest.h>

#include <limits>

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
  for (const WindowShape& shape : shapes)
    for (const PostOpList& list : one_pass_lists()) {
      bool is_rich = list.size() >= 3;  // the others, for one shape
      if (&shape != shapes && !is_rich) continue;
      ConvolutionCall call = with_3x3_windows(shape);
      SCOPED_TRACE("channels " + std::to_string(shape.in) + " to " + std::to_string(shape.out));
      call.post_ops = list;
      ASSERT_EQ(winograd_tile(call), shape.tile);
      ASSERT_TRUE(takes_maximum(call));
      expect_one_pass(
          call, list,
          [](const ConvolutionCall& c) { return cpu::create_winograd(c, true, table(), owner()); },
          kTolerance);
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
              c.post_ops = {{PostOp::Kind::kGeluErf, PostOp::With::kNothing}};
            }),
            0);
}

}  // namespace
}  // namespace tuff::test
#endif
