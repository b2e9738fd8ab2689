// Composites by name, from a StableHLO text to the devices: the numbers are the decomposition's,
// and the way they are computed the name's.
#include <gtest/gtest.h>

#include "frontend/stablehlo/read.h"
#include "ir/verify.h"
#include "tests/unit/families/agrees.h"

namespace tuff {
namespace {

struct CompositeCase {
  std::string name, text;
  const char* call;       // the only step with library calls
  size_t vulkan_kernels;  // all steps on Vulkan
};
void PrintTo(const CompositeCase& c, std::ostream* out) { *out << c.name; }

// As litert_torch writes it: heads behind positions, a mask that is added.
constexpr const char* kAttention = R"(
func.func @main(%q: tensor<2x8x3x4xf32>, %k: tensor<2x9x3x4xf32>, %v: tensor<2x9x3x4xf32>,
                %mask: tensor<1x1x8x9xf32>) -> tensor<2x8x3x4xf32> {
  %0 = stablehlo.composite "odml.scaled_dot_product_attention" %q, %k, %v, %mask
    {composite_attributes = {scale = 0.5 : f32}, decomposition = @sdpa}
    : (tensor<2x8x3x4xf32>, tensor<2x9x3x4xf32>, tensor<2x9x3x4xf32>, tensor<1x1x8x9xf32>)
    -> tensor<2x8x3x4xf32>
  return %0 : tensor<2x8x3x4xf32>
}
func.func private @sdpa(%q: tensor<2x8x3x4xf32>, %k: tensor<2x9x3x4xf32>, %v: tensor<2x9x3x4xf32>,
                        %mask: tensor<1x1x8x9xf32>) -> tensor<2x8x3x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<2x3x8x9xf32>
  %qt = stablehlo.transpose %q, dims = [0, 2, 1, 3] : (tensor<2x8x3x4xf32>) -> tensor<2x3x8x4xf32>
  %kt = stablehlo.transpose %k, dims = [0, 2, 3, 1] : (tensor<2x9x3x4xf32>) -> tensor<2x3x4x9xf32>
  %vt = stablehlo.transpose %v, dims = [0, 2, 1, 3] : (tensor<2x9x3x4xf32>) -> tensor<2x3x9x4xf32>
  %s = stablehlo.dot_general %qt, %kt, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
    : (tensor<2x3x8x4xf32>, tensor<2x3x4x9xf32>) -> tensor<2x3x8x9xf32>
  %scaled = stablehlo.multiply %s, %half : tensor<2x3x8x9xf32>
  %mb = stablehlo.broadcast_in_dim %mask, dims = [0, 1, 2, 3]
    : (tensor<1x1x8x9xf32>) -> tensor<2x3x8x9xf32>
  %x = stablehlo.add %scaled, %mb : tensor<2x3x8x9xf32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3]
    : (tensor<2x3x8x9xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %m1 = stablehlo.reshape %m : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
  %m2 = stablehlo.broadcast_in_dim %m1, dims = [0, 1, 2, 3]
    : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x9xf32>
  %d = stablehlo.subtract %x, %m2 : tensor<2x3x8x9xf32>
  %e = stablehlo.exponential %d : tensor<2x3x8x9xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3]
    : (tensor<2x3x8x9xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %t1 = stablehlo.reshape %t : (tensor<2x3x8xf32>) -> tensor<2x3x8x1xf32>
  %t2 = stablehlo.broadcast_in_dim %t1, dims = [0, 1, 2, 3]
    : (tensor<2x3x8x1xf32>) -> tensor<2x3x8x9xf32>
  %p = stablehlo.divide %e, %t2 : tensor<2x3x8x9xf32>
  %o = stablehlo.dot_general %p, %vt, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
    : (tensor<2x3x8x9xf32>, tensor<2x3x9x4xf32>) -> tensor<2x3x8x4xf32>
  %r = stablehlo.transpose %o, dims = [0, 2, 1, 3] : (tensor<2x3x8x4xf32>) -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}
)";

// As PyTorch/XLA spells it: rows as the features of a batch norm.
constexpr const char* kLayerNorm = R"(
func.func @main(%x: tensor<2x5x7xf32>, %g: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<2x5x7xf32> {
  %0 = stablehlo.composite "tenstorrent.layer_norm" %x, %g, %b
    {composite_attributes = {epsilon = 0.001 : f32, normalized_shape = dense<7> : tensor<1xi64>},
     decomposition = @norm}
    : (tensor<2x5x7xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}
func.func private @norm(%x: tensor<2x5x7xf32>, %g: tensor<7xf32>, %b: tensor<7xf32>)
    -> tensor<2x5x7xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<10xf32>
  %rows = stablehlo.reshape %x : (tensor<2x5x7xf32>) -> tensor<1x10x7xf32>
  %n, %mean, %var = "stablehlo.batch_norm_training"(%rows, %one, %zero)
    {epsilon = 0.001 : f32, feature_index = 1 : i64}
    : (tensor<1x10x7xf32>, tensor<10xf32>, tensor<10xf32>)
    -> (tensor<1x10x7xf32>, tensor<10xf32>, tensor<10xf32>)
  %y = stablehlo.reshape %n : (tensor<1x10x7xf32>) -> tensor<2x5x7xf32>
  %gb = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<7xf32>) -> tensor<2x5x7xf32>
  %s = stablehlo.multiply %gb, %y : tensor<2x5x7xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<7xf32>) -> tensor<2x5x7xf32>
  %r = stablehlo.add %bb, %s : tensor<2x5x7xf32>
  return %r : tensor<2x5x7xf32>
}
)";

// x.pow(2), and a division by the root.
constexpr const char* kRmsNorm = R"(
func.func @main(%x: tensor<2x5x7xf32>, %g: tensor<7xf32>) -> tensor<2x5x7xf32> {
  %0 = stablehlo.composite "odml.rms_norm" %x, %g
    {composite_attributes = {epsilon = 0.001 : f32}, decomposition = @norm}
    : (tensor<2x5x7xf32>, tensor<7xf32>) -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}
func.func private @norm(%x: tensor<2x5x7xf32>, %g: tensor<7xf32>) -> tensor<2x5x7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<2x5x7xf32>
  %count = stablehlo.constant dense<7.0> : tensor<2x5xf32>
  %eps = stablehlo.constant dense<0.001> : tensor<2x5xf32>
  %q = stablehlo.power %x, %two : tensor<2x5x7xf32>
  %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<2x5x7xf32>, tensor<f32>) -> tensor<2x5xf32>
  %m = stablehlo.divide %t, %count : tensor<2x5xf32>
  %w = stablehlo.add %m, %eps : tensor<2x5xf32>
  %r = stablehlo.sqrt %w : tensor<2x5xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x7xf32>
  %y = stablehlo.divide %x, %rb : tensor<2x5x7xf32>
  %gb = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<7xf32>) -> tensor<2x5x7xf32>
  %o = stablehlo.multiply %y, %gb : tensor<2x5x7xf32>
  return %o : tensor<2x5x7xf32>
}
)";

// x / (1 + exp(-2 k (x + c x^3))) is a gelu by tanh.
constexpr const char* kGelu = R"(
func.func @main(%a: tensor<5x6xf32>, %b: tensor<6x7xf32>) -> tensor<5x7xf32> {
  %x = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<5x6xf32>, tensor<6x7xf32>) -> tensor<5x7xf32>
  %0 = stablehlo.composite "aten.gelu.default" %x
    {composite_attributes = {approximate = "tanh"}, decomposition = @gelu}
    : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
func.func private @gelu(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<5x7xf32>
  %c = stablehlo.constant dense<0.044715> : tensor<5x7xf32>
  %k = stablehlo.constant dense<-1.5957691216> : tensor<5x7xf32>
  %xx = stablehlo.multiply %x, %x : tensor<5x7xf32>
  %xxx = stablehlo.multiply %xx, %x : tensor<5x7xf32>
  %cx = stablehlo.multiply %xxx, %c : tensor<5x7xf32>
  %s = stablehlo.add %x, %cx : tensor<5x7xf32>
  %ks = stablehlo.multiply %s, %k : tensor<5x7xf32>
  %e = stablehlo.exponential %ks : tensor<5x7xf32>
  %d = stablehlo.add %e, %one : tensor<5x7xf32>
  %y = stablehlo.divide %x, %d : tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}
)";

// The name of a norm on something else.
constexpr const char* kLie = R"(
func.func @main(%x: tensor<5x7xf32>, %g: tensor<7xf32>) -> tensor<5x7xf32> {
  %0 = stablehlo.composite "odml.rms_norm" %x, %g
    {composite_attributes = {epsilon = 0.001 : f32}, decomposition = @f}
    : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
func.func private @f(%x: tensor<5x7xf32>, %g: tensor<7xf32>) -> tensor<5x7xf32> {
  %gb = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<7xf32>) -> tensor<5x7xf32>
  %y = stablehlo.multiply %x, %gb : tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}
)";

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

const char* call_name(const Step& step) {
  return std::visit(
      [](const auto& call) {
        if constexpr (std::is_same_v<decltype(call), const std::monostate&>)
          return "none";
        else
          return call.kName;
      },
      step.call);
}

class CompositeTest : public ::testing::TestWithParam<std::tuple<CompositeCase, const char*>> {};

TEST_P(CompositeTest, AgreesWithTheEvaluatorOfItsDecomposition) {
  auto [c, device_name] = GetParam();
  auto graph = read_stablehlo(c.text, c.name);
  ASSERT_OK(graph);
  Status valid = verify(*graph);
  ASSERT_OK(valid);
  auto device = open_device(device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model({*graph, {}, {}}, **device, {});
  ASSERT_OK(executable);
  const Steps& steps = executable->program().steps;
  if ((*device)->caps().library_calls) {
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_STREQ(call_name(steps[0]), c.call);
  }
  if (device_name == std::string("vulkan")) {
    EXPECT_EQ(steps.size(), c.vulkan_kernels);
  }
  test::expect_agrees(*executable, *graph, 1, c.name);
}

INSTANTIATE_TEST_SUITE_P(
    All, CompositeTest,
    ::testing::Combine(::testing::Values(CompositeCase{"attention", kAttention, "attention", 1},
                                         CompositeCase{"layer_norm", kLayerNorm, "layer norm", 1},
                                         CompositeCase{"rms_norm", kRmsNorm, "rms norm", 1},
                                         CompositeCase{"gelu", kGelu, "matmul", 1},
                                         CompositeCase{"lie", kLie, "none", 1}),
                       ::testing::Values("cpu", "vulkan")),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace tuff
