// What follows a convolution in its own pass: bounds, and x times a function of x.
#include <gtest/gtest.h>

#include "backend/device.h"
#include "tests/models/run_model.h"
#include "tests/unit/cpu/lowers_to.h"
#include "tests/unit/families/agrees.h"

namespace tuff::test {
namespace {

// A convolution of each channel by itself (1x1 windows of all of them where `across`), plus a bias
// for each, as %x; then `after`.
std::string graph_of(const std::string& after, bool across = false) {
  std::string kernel = across ? "16,16,1,1" : "16,1,3,3", groups = across ? "1" : "16";
  std::string padding = across ? "0, 0, 0, 0" : "1, 1, 1, 1";
  auto number = [](const std::string& name, const std::string& value) {
    return "  %" + name + "0 = constant f32[] " + value + "\n  %" + name + " = broadcast_in_dim(%" +
           name + "0) {broadcast_dimensions = []} : f32[2,9,11,16]\n";
  };
  return "graph gates(%a: f32[2,9,11,16], %w: f32[" + kernel + "], %b: f32[16]) {\n" +
         number("zero", "0") + number("half", "0.5") + number("one", "1") + number("two", "2") +
         number("three", "3") + number("six", "6") + number("nine", "9") + number("below", "-9") +
         "  %c = convolution(%a, %w) {batch_group_count = 1, feature_group_count = " + groups +
         ", input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = "
         "[1, 2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, "
         "kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, "
         "output_feature_dimension = 3, output_spatial_dimensions = [1, 2], padding = [" +
         padding +
         "], window_strides = [1, 1]} : f32[2,9,11,16]\n"
         "  %bb = broadcast_in_dim(%b) {broadcast_dimensions = [3]} : f32[2,9,11,16]\n"
         "  %x = add(%c, %bb) : f32[2,9,11,16]\n" +
         after + "}\n";
}

void expect_right(const std::string& text, Device& device) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto executable = compile_model({*graph, {}, {}}, device, {});
  ASSERT_TRUE(executable.ok()) << executable.error().to_string();
  expect_agrees(*executable, *graph, 3, text);
}

const std::string kT = " : f32[2,9,11,16]\n";
const std::string kSilu = "  %l = logistic(%x)" + kT + "  %r = multiply(%x, %l)" + kT;
const std::string kBounded = "  %m = maximum(%x, %zero)" + kT + "  %r = minimum(%m, %six)" + kT;
const std::string kGates[] = {kSilu, kBounded, "  %r = minimum(%x, %six)" + kT,
                              // x * min(max(x / 6 + 1 / 2, 0), 1)
                              "  %d = divide(%x, %six)" + kT + "  %e = add(%half, %d)" + kT +
                                  "  %f = maximum(%e, %zero)" + kT + "  %g = minimum(%f, %one)" +
                                  kT + "  %r = multiply(%g, %x)" + kT,
                              // x * (min(max(x + 3, 0), 6) / 6)
                              "  %d = add(%x, %three)" + kT + "  %e = clamp(%zero, %d, %six)" + kT +
                                  "  %f = divide(%e, %six)" + kT + "  %r = multiply(%x, %f)" + kT};

TEST(CpuGates, GoIntoTheConvolution) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  if (!(*device)->caps().library_calls) GTEST_SKIP() << "a build without oneDNN";
  for (const std::string& gate : kGates)
    for (bool across : {false, true}) {
      std::string text = graph_of(gate + "  return %r\n", across);
      EXPECT_TRUE(lowers_to<ConvolutionCall>(text)) << text;
      expect_right(text, **device);
    }
}

TEST(CpuGates, OthersFollowIt) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device.ok());
  const std::string others[] = {
      // Another function; one that is read otherwise; x is read otherwise.
      "  %d = multiply(%x, %two)" + kT + "  %l = logistic(%d)" + kT + "  %r = multiply(%x, %l)" +
          kT + "  return %r\n",
      kSilu + "  return %r, %l\n", kSilu + "  return %r, %x\n",
      kSilu + "  %s = add(%r, %x)" + kT + "  return %s\n",
      "  %l = logistic(%x)" + kT + "  %r = multiply(%l, %l)" + kT + "  return %r\n",
      // The gate of a bounded x, which is another one from there on.
      "  %d = clamp(%below, %x, %nine)" + kT + "  %l = logistic(%d)" + kT +
          "  %r = multiply(%x, %l)" + kT + "  return %r\n",
      // The order of bounds.
      "  %m = minimum(%x, %six)" + kT + "  %r = maximum(%m, %zero)" + kT + "  return %r\n"};
  for (const std::string& after : others) {
    EXPECT_FALSE(lowers_to<ConvolutionCall>(graph_of(after))) << after;
    expect_right(graph_of(after), **device);
  }
}

}  // namespace
}  // namespace tuff::test
