// Convolutions and windowed reductions over spread dimensions: random windows, dilations and
// paddings, the devices' parts against the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/rewrite.h"
#include "tests/unit/spmd/programs.h"

namespace tuff {
namespace {

constexpr int kCases = 600;

struct Dimension {
  int64_t parts, input, output, kernel, stride, low, high, base, dilation;
  bool reversed;
};

void set_high(Dimension* d) {
  const int64_t held = (d->input - 1) * d->base + 1;
  d->high = (d->output - 1) * d->stride + (d->kernel - 1) * d->dilation + 1 - held - d->low;
}

// A result of as many elements as the operand, counted with stride and dilation, as "SAME" has.
Dimension random_dimension(std::mt19937& random, bool dilated) {
  auto one_of = [&](int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  };
  Dimension d{};
  d.parts = one_of(2, 4);
  d.stride = one_of(1, 3);
  d.base = dilated ? one_of(1, 3) : 1;
  d.input = d.parts * d.stride * one_of(1, 3);
  d.kernel = one_of(1, 4);
  d.dilation = one_of(1, 2);
  d.reversed = one_of(0, 3) == 0;
  d.low = one_of(-1, 4);
  d.output = d.input * d.base / d.stride;
  set_high(&d);
  return d;
}

// A kernel spread like its operand, as in the gradient of a kernel of `outputs` elements.
Dimension random_gradient(std::mt19937& random) {
  Dimension d = random_dimension(random, false);
  d.dilation = d.stride;
  d.kernel = d.input / d.dilation;
  d.stride = 1;
  d.reversed = false;
  d.low = static_cast<int64_t>(random() % 3);
  d.output = static_cast<int64_t>(random() % 3) + 1;
  set_high(&d);
  return d;
}

Mesh mesh_of(const std::vector<Dimension>& dims) {
  Mesh mesh;
  for (size_t i = 0; i < dims.size(); ++i)
    mesh.axes.push_back({fmt::format("m{}", i), dims[i].parts});
  return mesh;
}

// Input [b, spatial..., f], kernel [spatial..., i, o], each spatial dimension over its own axis.
WholeProgram convolution(const std::vector<Dimension>& dims, bool spreads_kernel) {
  const auto n = static_cast<int64_t>(dims.size());
  ConvolutionAttrs attrs;
  attrs.input_batch_dimension = attrs.output_batch_dimension = 0;
  attrs.input_feature_dimension = attrs.output_feature_dimension = n + 1;
  attrs.kernel_input_feature_dimension = n;
  attrs.kernel_output_feature_dimension = n + 1;
  attrs.feature_group_count = attrs.batch_group_count = 1;
  Shape input{2}, kernel, output{2};
  WholeProgram whole;
  whole.mesh = mesh_of(dims);
  Sharding of_input = Sharding::whole(n + 2), of_kernel = Sharding::whole(n + 2);
  for (int64_t s = 0; s < n; ++s) {
    const Dimension& d = dims[static_cast<size_t>(s)];
    attrs.input_spatial_dimensions.push_back(s + 1);
    attrs.output_spatial_dimensions.push_back(s + 1);
    attrs.kernel_spatial_dimensions.push_back(s);
    attrs.window_strides.push_back(d.stride);
    attrs.padding.insert(attrs.padding.end(), {d.low, d.high});
    attrs.lhs_dilation.push_back(d.base);
    attrs.rhs_dilation.push_back(d.dilation);
    attrs.window_reversal.push_back(d.reversed);
    input.push_back(d.input);
    kernel.push_back(d.kernel);
    output.push_back(d.output);
    of_input.axes[static_cast<size_t>(s) + 1] = {s};
    if (spreads_kernel) of_kernel.axes[static_cast<size_t>(s)] = {s};
  }
  input.push_back(3);
  kernel.insert(kernel.end(), {3, 2});
  output.push_back(2);
  Node node;
  node.op = Op::kConvolution;
  node.operands = {whole.graph.add_parameter({DType::kF32, input}),
                   whole.graph.add_parameter({DType::kF32, kernel})};
  node.attrs = attrs;
  node.types = {{DType::kF32, output}};
  whole.graph.set_outputs({whole.graph.add(std::move(node))});
  whole.arguments = {of_input, of_kernel};
  whole.outputs.resize(1);
  return whole;
}

WholeProgram reduce_window(const std::vector<Dimension>& dims, Op op, double initial) {
  const TensorType element{DType::kF32, {}};
  WholeProgram whole;
  whole.mesh = mesh_of(dims);
  WindowAttrs attrs;
  Shape input, output;
  Sharding sharding = Sharding::whole(static_cast<int64_t>(dims.size()));
  for (size_t s = 0; s < dims.size(); ++s) {
    const Dimension& d = dims[s];
    attrs.window_dimensions.push_back(d.kernel);
    attrs.window_strides.push_back(d.stride);
    attrs.padding.insert(attrs.padding.end(), {d.low, d.high});
    attrs.base_dilations.push_back(d.base);
    attrs.window_dilations.push_back(d.dilation);
    input.push_back(d.input);
    output.push_back(d.output);
    sharding.axes[s] = {static_cast<int64_t>(s)};
  }
  Graph region;
  Value a = region.add_parameter(element), b = region.add_parameter(element);
  region.set_outputs({add_op(region, op, {a, b}, element)});
  Node node;
  node.op = Op::kReduceWindow;
  node.operands = {whole.graph.add_parameter({DType::kF32, input})};
  node.operands.push_back(
      add_constant(whole.graph, Literal::from_doubles(DType::kF32, {}, {initial})));
  node.attrs = attrs;
  node.regions = {std::make_shared<const Graph>(std::move(region))};
  node.types = {{DType::kF32, output}};
  whole.graph.set_outputs({whole.graph.add(std::move(node))});
  whole.arguments = {sharding};
  whole.outputs.resize(1);
  return whole;
}

struct Counts {
  int gathered = 0, shifted = 0, alone = 0;
};

void compare(const WholeProgram& whole, Counts* counts) {
  SegmentedProgram program;
  ASSERT_NO_FATAL_FAILURE(run_and_compare(whole, &program));
  const std::string exchanges = exchanges_of(program);
  bool gathers = exchanges.find("all_gather") != std::string::npos;
  bool shifts = exchanges.find("collective_permute") != std::string::npos;
  ++(gathers ? counts->gathered : shifts ? counts->shifted : counts->alone);
}

// Most are made with what neighbours send, many without any exchange.
template <typename Make>
void compare_all(const Make& make, const Counts& least) {
  Counts counts;
  for (uint32_t seed = 1; seed <= kCases; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(compare(make(random), &counts));
  }
  fmt::print("{} gathered, {} of neighbours, {} alone\n", counts.gathered, counts.shifted,
             counts.alone);
  EXPECT_GT(counts.shifted, least.shifted);
  EXPECT_GT(counts.alone, least.alone);
}

std::vector<Dimension> dimensions(std::mt19937& random, bool dilated) {
  std::vector<Dimension> dims(1 + random() % 2);
  for (Dimension& d : dims) d = random_dimension(random, dilated);
  return dims;
}

TEST(SpreadWindows, Convolutions) {
  compare_all([](std::mt19937& random) { return convolution(dimensions(random, true), false); },
              {.shifted = kCases / 2, .alone = kCases / 20});
}

TEST(SpreadWindows, GradientsOfKernels) {
  compare_all(
      [](std::mt19937& random) {
        std::vector<Dimension> dims(1 + random() % 2);
        for (Dimension& d : dims) d = random_gradient(random);
        return convolution(dims, true);
      },
      {.shifted = kCases / 2, .alone = kCases / 20});
}

TEST(SpreadWindows, Reductions) {
  compare_all(
      [](std::mt19937& random) {
        std::vector<Dimension> dims = dimensions(random, true);
        bool sum = random() % 2 == 0;
        return reduce_window(dims, sum ? Op::kAdd : Op::kMaximum, sum ? 0.25 : -0.5);
      },
      {.shifted = kCases / 2, .alone = kCases / 20});
}

}  // namespace
}  // namespace tuff
