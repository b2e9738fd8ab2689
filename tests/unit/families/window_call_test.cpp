// reduce_window as a call against the evaluator, and when it becomes one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/convolution/window.h"
#include "backend/device.h"
#include "tests/models/run_model.h"
#include "tests/unit/cpu/call_operands.h"
#include "tests/unit/cpu/lowers_to.h"
#include "tests/unit/families/contractions.h"

namespace tuff::test {
namespace {

// What `attributes` (ranks as the input's) make of the input.
std::string window_graph(const std::string& input, const std::string& result,
                         const std::string& attributes, const std::string& op,
                         const std::string& initial) {
  return "graph window(%x: " + input + ") {\n  %i = constant f32[] " + initial +
         "\n  %w = reduce_window(%x, %i) {" + attributes + "} : " + result + " applies " + op +
         "\n  return %w\n}\n";
}

const std::string kPool =
    "padding = [0, 0, 0, 1, 1, 0, 0, 0], window_dimensions = [1, 3, 2, 1], "
    "window_strides = [1, 2, 1, 1]";

TEST(CpuWindow, AgreesWithEvaluator) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  const std::string texts[] = {
      window_graph("f32[2,9,7,33]", "f32[2,4,7,33]", kPool, "maximum", "-inf"),
      // Padding takes part with an initial value that is no identity.
      window_graph("f32[2,9,7,33]", "f32[2,4,7,33]", kPool, "maximum", "0.25"),
      window_graph("f32[2,9,7,16]", "f32[2,4,7,16]", kPool, "add", "1.5"),
      window_graph("f32[2,9,7,64]", "f32[2,4,7,64]", kPool, "minimum", "inf"),
      // Dilated; two inner dimensions that no window reaches across; large enough for threads.
      window_graph("f32[11,5,32]", "f32[7,5,32]",
                   "window_dimensions = [3, 1, 1], window_dilations = [2, 1, 1]", "multiply", "1"),
      // Gaps between elements: of the windows' own dilation, too; gaps that count.
      window_graph("f32[2,4,5,16]", "f32[2,8,12,16]",
                   "base_dilations = [1, 2, 3, 1], window_dimensions = [1, 2, 3, 1], "
                   "padding = [0, 0, 1, 1, 1, 0, 0, 0]",
                   "add", "0"),
      window_graph("f32[3,5,16]", "f32[5,5,16]",
                   "base_dilations = [4, 1, 1], window_dimensions = [3, 1, 1], "
                   "window_dilations = [2, 1, 1]",
                   "maximum", "-inf"),
      window_graph("f32[3,5,16]", "f32[7,5,16]",
                   "base_dilations = [4, 1, 1], window_dimensions = [3, 1, 1]", "add", "0.5"),
      // Dilations with a common factor; inputs that are cut off; many results.
      window_graph("f32[3,5,16]", "f32[8,5,16]",
                   "base_dilations = [6, 1, 1], window_dimensions = [4, 1, 1], "
                   "window_dilations = [4, 1, 1], padding = [5, 2, 0, 0, 0, 0]",
                   "add", "0"),
      window_graph("f32[6,5,16]", "f32[6,5,16]",
                   "base_dilations = [2, 1, 1], window_dimensions = [3, 1, 1], "
                   "padding = [-2, -1, 0, 0, 0, 0]",
                   "add", "0"),
      window_graph("f32[9000,16]", "f32[4499,16]",
                   "window_dimensions = [3, 1], window_strides = [2, 1]", "maximum", "-inf"),
      // Windows whose taps grow and shrink at both ends, with more of them than are kept at a time.
      window_graph("f32[3,40,16]", "f32[3,40,16]",
                   "padding = [0, 0, 35, 34, 0, 0], window_dimensions = [1, 70, 1]", "maximum",
                   "-inf"),
      window_graph("f32[9,21,18]", "f32[9,12,18]",
                   "padding = [4, 4, 1, 2, 0, 0], window_dimensions = [9, 2, 1], "
                   "window_strides = [1, 2, 1]",
                   "add", "0"),
      window_graph("f32[1,40,41,64]", "f32[1,38,39,64]", "window_dimensions = [1, 3, 3, 1]", "add",
                   "0")};
  for (const std::string& text : texts) {
    EXPECT_TRUE(lowers_to<WindowCall>(text)) << text;
    expect_agreement(text, **device, (*device)->caps());
  }
}

TEST(CpuWindow, NaNComesThrough) {
  WindowCall call;
  call.columns = 17, call.dims = {{2, 3, 17, 2, 1, 1, 0}};
  call.initial = -std::numeric_limits<float>::infinity();
  std::vector<float> input(51, 1.0f), result(34);
  input[20] = std::numeric_limits<float>::quiet_NaN();
  std::vector<cpu::CallOperand> operands{operand(input), operand(result)};
  ASSERT_TRUE(cpu::create_window(call, table())->run(operands).ok());
  for (size_t i = 0; i < result.size(); ++i) EXPECT_EQ(std::isnan(result[i]), i % 17 == 3) << i;
}

// What follows goes over the call's result, and may return that too.
TEST(CpuWindow, WhatFollowsReadsTheCallsResult) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  const std::string relu =
      "  %z = constant f32[] 0\n  %b = broadcast_in_dim(%z) {broadcast_dimensions = []} : "
      "f32[2,4,7,33]\n  %r = maximum(%w, %b) : f32[2,4,7,33]\n";
  const std::string turned =
      relu + "  %t = transpose(%r) {permutation = [0, 3, 1, 2]} : f32[2,33,4,7]\n";
  for (const std::string& after : {relu + "  return %r\n}\n", relu + "  return %w, %r\n}\n",
                                   relu + "  return %r, %w\n}\n", turned + "  return %t\n}\n"}) {
    std::string text = window_graph("f32[2,9,7,33]", "f32[2,4,7,33]", kPool, "add", "0");
    text = text.substr(0, text.rfind("  return")) + after;
    EXPECT_FALSE(lowers_to<WindowCall>(text)) << "one step alone: " << text;
    expect_agreement(text, **device, (*device)->caps());
  }
}

TEST(CpuWindow, WhatIsNoCall) {
  // Few elements side by side; a window across the innermost dimension; a prefix sum.
  EXPECT_FALSE(lowers_to<WindowCall>(
      window_graph("f32[2,9,7,3]", "f32[2,4,7,3]", kPool, "maximum", "-inf")));
  EXPECT_FALSE(lowers_to<WindowCall>(
      window_graph("f32[4,40]", "f32[4,38]", "window_dimensions = [1, 3]", "add", "0")));
  EXPECT_FALSE(lowers_to<WindowCall>(
      window_graph("f32[40,32]", "f32[40,32]",
                   "padding = [39, 0, 0, 0], window_dimensions = [40, 1]", "add", "0")));
}

}  // namespace
}  // namespace tuff::test
