// Contractions under the schedules of every class of device, run on the devices that are
// here, against the reference evaluator. Arguments are small integers, so sums are exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

std::string dot(const std::string& dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: {0}[{1},{2},{4}], %b: {0}[{1},{4},{3}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [0], lhs_contracting_dimensions = "
      "[2], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [1]}} : "
      "{0}[{1},{2},{3}]\n  return %c\n}}\n",
      dtype, batch, m, n, k);
}

// Both operands transposed: rows of A are not contiguous, columns of B are along k.
std::string transposed_dot(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: f32[{2},{0}], %b: f32[{1},{2}], %bias: f32[{1}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[0], rhs_batching_dimensions = [], rhs_contracting_dimensions = [1]}} : f32[{0},{1}]\n"
      "  %d = broadcast_in_dim(%bias) {{broadcast_dimensions = [1]}} : f32[{0},{1}]\n"
      "  %e = add(%c, %d) : f32[{0},{1}]\n  return %e\n}}\n",
      m, n, k);
}

std::string convolution(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  int64_t pad = kernel / 2, result = (size + 2 * pad - kernel) / stride + 1;
  return fmt::format(
      "graph main(%x: f32[2,{0},{0},{1}], %w: f32[{3},{3},{1},{2}]) {{\n"
      "  %y = convolution(%x, %w) {{input_batch_dimension = 0, input_feature_dimension = 3, "
      "input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, "
      "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], "
      "output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, "
      "2], window_strides = [{5}, {5}], padding = [{6}, {6}, {6}, {6}]}} : f32[2,{4},{4},{2}]\n"
      "  return %y\n}}\n",
      size, in, out, kernel, result, stride, pad);
}

Literal small_integers(const TensorType& type, uint32_t seed) {
  Literal value(type);
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    int64_t n = static_cast<int64_t>((state >> 16) % 7) - 3;
    if (is_float(type.dtype))
      value.set_double(i, static_cast<double>(n));
    else
      value.set_int(i, n);
  }
  return value;
}

struct Way {
  const char* name;
  const char* device;
  DeviceClass device_class;
};
constexpr Way kWays[] = {{"cpu", "cpu", DeviceClass::kCpu},
                         {"software_on_cpu", "cpu", DeviceClass::kSoftwareRasteriser},
                         {"discrete_on_cpu", "cpu", DeviceClass::kDiscreteGpu},
                         {"software", "vulkan", DeviceClass::kSoftwareRasteriser},
                         {"integrated", "vulkan", DeviceClass::kIntegratedGpu},
                         {"discrete", "vulkan", DeviceClass::kDiscreteGpu}};

// A software driver takes seconds to compile a GPU's tiles: those do the hard cases.
std::vector<std::string> cases_of(const Way& way) {
  std::vector<std::string> cases{dot("f32", 3, 5, 70, 12), dot("bf16", 1, 17, 33, 7),
                                 transposed_dot(21, 38, 14), convolution(7, 3, 18, 3, 2)};
  // Few results of long sums, which are split: evenly, with a rest, with an epilogue.
  for (const std::string& text :
       {dot("f32", 1, 2, 12, 33000), dot("f32", 2, 3, 5, 32771), dot("i32", 1, 1, 1, 40000),
        dot("f16", 1, 4, 9, 1030), dot("i1", 1, 2, 3, 600), transposed_dot(7, 19, 33001),
        convolution(3, 600, 5, 3, 1)})
    cases.push_back(text);
  bool gpu = way.device_class == DeviceClass::kDiscreteGpu ||
             way.device_class == DeviceClass::kIntegratedGpu;
  if (gpu && way.device == std::string("vulkan")) return cases;
  for (const std::string& text :
       {dot("f32", 1, 1, 1, 1), dot("f32", 2, 16, 32, 8), dot("f32", 1, 17, 33, 7),
        dot("f32", 1, 2, 300, 66), dot("f32", 1, 64, 2, 9), dot("f16", 1, 19, 34, 10),
        dot("i32", 2, 18, 20, 6), dot("f32", 1, 9, 10, 0), transposed_dot(3, 17, 5),
        convolution(6, 8, 33, 1, 1), convolution(5, 4, 6, 5, 1)})
    cases.push_back(text);
  return cases;
}

class ScheduleTest : public ::testing::TestWithParam<Way> {};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

TEST_P(ScheduleTest, AgreesWithEvaluator) {
  const Way& way = GetParam();
  auto device = open_device(way.device);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  Caps caps = (*device)->caps();
  caps.device_class = way.device_class;
  caps.library_calls = false;
  if (way.device == std::string("cpu")) {  // as lavapipe says of itself
    caps.max_group_invocations = 1024;
    caps.subgroup_size = 8;
    caps.subgroup_shuffle = true;
  }
  for (const std::string& text : cases_of(way)) {
    SCOPED_TRACE(text);
    auto graph = parse_graph(text);
    ASSERT_OK(graph);
    Status valid = verify(*graph);
    ASSERT_OK(valid);
    auto program = compile(*graph, caps, {}, nullptr);
    ASSERT_OK(program);
    for (const Kernel& kernel : (*program)->kernels) {
      Status status = verify_kernel(kernel);
      ASSERT_OK(status);
    }
    auto executable = Executable::create(**device, *program, {});
    ASSERT_OK(executable);
    std::vector<Literal> arguments;
    for (uint32_t i = 0; i < graph->num_parameters(); ++i)
      arguments.push_back(small_integers(graph->node(i).types[0], i));
    auto expected = evaluate(*graph, arguments);
    ASSERT_OK(expected);
    auto got = (*executable)(arguments);
    ASSERT_OK(got);
    EXPECT_EQ((*got)[0], (*expected)[0]);
  }
  EXPECT_EQ(validation_errors(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleTest, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tuff
