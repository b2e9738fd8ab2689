// Graphs of tuff_graph.hpp: shapes, numbers, and derivatives against central differences in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <tuff_gradients.hpp>

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tuff::DType;
using tuff::Graph;
using tuff::Shape;
using tuff::Tensor;

const tuff::Device& cpu() {
  static const tuff::Device device = tuff::Context().open("cpu");
  return device;
}

std::vector<double> run(Graph& graph, const std::vector<tuff::Buffer>& inputs, size_t result = 0) {
  tuff::Program program = cpu().compile_bytes(graph.stablehlo());
  std::vector<tuff_buffer*> arguments;
  for (const tuff::Buffer& input : inputs) arguments.push_back(input.get());
  return program.run(arguments)[result].read<double>();
}

// A scalar function of f64 tensors with these shapes.
struct Case {
  const char* name;
  std::vector<Shape> shapes;
  Tensor (*loss)(std::vector<Tensor> x);
};

void PrintTo(const Case& c, std::ostream* to) { *to << c.name; }

// Weighs the elements differently, so that a derivative in the wrong place shows.
Tensor weighed(Tensor x) {
  Tensor flat = tuff::reshape(x, {x.type().num_elements()});
  Tensor number = tuff::convert(tuff::iota(x.graph(), {DType::kI32, flat.shape()}, 0), x.dtype());
  return tuff::sum(flat * tuff::sin(number + 1.0));
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, IsThatOfCentralDifferences) {
  const Case& c = GetParam();
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<std::vector<double>> values;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> between(0.2, 1.7);
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    inputs.push_back(graph.input("x" + std::to_string(i), {DType::kF64, c.shapes[i]}));
    values.emplace_back(static_cast<size_t>(inputs.back().type().num_elements()));
    for (double& value : values.back()) value = between(random);
  }
  Tensor loss = c.loss(inputs);
  graph.output("loss", loss);
  for (Tensor gradient : tuff::gradients(loss, inputs)) graph.output("gradient", gradient);
  tuff::Program program = cpu().compile_bytes(graph.stablehlo());
  auto results_of = [&] {
    std::vector<tuff::Buffer> buffers;
    std::vector<tuff_buffer*> arguments;
    for (size_t i = 0; i < values.size(); ++i) {
      buffers.push_back(cpu().buffer(c.shapes[i], values[i]));
      arguments.push_back(buffers.back().get());
    }
    return program.run(arguments);
  };
  std::vector<tuff::Buffer> results = results_of();
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<double> gradient = results[i + 1].read<double>();
    ASSERT_EQ(gradient.size(), values[i].size());
    for (size_t k = 0; k < gradient.size(); ++k) {
      double middle = values[i][k];
      values[i][k] = middle + kStep;
      double above = results_of()[0].read<double>()[0];
      values[i][k] = middle - kStep;
      double below = results_of()[0].read<double>()[0];
      values[i][k] = middle;
      double slope = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[k], slope, 1e-6 * std::max(1.0, std::abs(slope)))
          << "of argument " << i << ", element " << k;
    }
  }
}

Tensor dot(std::vector<Tensor> x, tuff::DotDimensions dims) {
  return weighed(tuff::dot_general(x[0], x[1], std::move(dims)));
}

Tensor convolve(std::vector<Tensor> x, Shape strides, std::pair<int64_t, int64_t> rows,
                std::pair<int64_t, int64_t> columns, Shape dilation) {
  tuff::Convolution how;
  how.strides = std::move(strides), how.padding = {rows, columns};
  how.rhs_dilation = std::move(dilation);
  return weighed(tuff::convolution(x[0], x[1], how));
}

const Case kCases[] = {
    {"add_broadcast", {{2, 3}, {3}}, [](auto x) { return weighed(x[0] + x[1]); }},
    {"subtract_column", {{2, 3}, {2, 1}}, [](auto x) { return weighed(x[0] - x[1]); }},
    {"multiply_scalar", {{2, 3}, {}}, [](auto x) { return weighed(x[0] * x[1] * x[0]); }},
    {"divide", {{4}, {4}}, [](auto x) { return weighed(x[0] / x[1]); }},
    {"power", {{3}, {3}}, [](auto x) { return weighed(tuff::power(x[0], x[1])); }},
    {"maximum", {{5}, {5}}, [](auto x) { return weighed(tuff::maximum(x[0], x[1])); }},
    {"minimum", {{5}, {5}}, [](auto x) { return weighed(tuff::minimum(x[0], x[1])); }},
    {"relu", {{6}}, [](auto x) { return weighed(tuff::relu(x[0] - 1.0)); }},
    {"exp_log", {{3}}, [](auto x) { return weighed(tuff::exp(x[0]) + tuff::log(x[0])); }},
    {"roots", {{3}}, [](auto x) { return weighed(tuff::sqrt(x[0]) + tuff::rsqrt(x[0])); }},
    {"tanh_logistic",
     {{3}},
     [](auto x) { return weighed(tuff::tanh(x[0]) * tuff::logistic(x[0])); }},
    {"sine_cosine", {{3}}, [](auto x) { return weighed(tuff::sin(x[0]) * tuff::cos(x[0])); }},
    {"negate_abs", {{3}}, [](auto x) { return weighed(-tuff::abs(x[0] - 1.0)); }},
    {"select",
     {{4}, {4}},
     [](auto x) {
       return weighed(tuff::select(tuff::compare("GT", x[0], x[1]), x[0] * x[0], x[1]));
     }},
    {"views",
     {{2, 3, 4}},
     [](auto x) {
       Tensor t = tuff::transpose(x[0], {2, 0, 1});
       return weighed(tuff::reverse(tuff::slice(tuff::reshape(t, {4, 6}), {1, 2}, {4, 6}), {1}));
     }},
    {"pad",
     {{2, 3}},
     [](auto x) {
       return weighed(tuff::pad(x[0] * x[0], {1, 0}, {0, 2}));
     }},
    {"concatenate",
     {{2, 1}, {2, 3}},
     [](auto x) {
       return weighed(tuff::concatenate({x[0], x[1] * 2.0}, 1));
     }},
    {"sum_middle", {{2, 3, 4}}, [](auto x) { return weighed(tuff::sum(x[0] * x[0], {1})); }},
    {"mean_all", {{3, 2}}, [](auto x) { return tuff::mean(x[0] * x[0]); }},
    {"max_of_rows", {{3, 4}}, [](auto x) { return weighed(tuff::reduce("maximum", x[0], {1})); }},
    {"matmul", {{3, 4}, {4, 2}}, [](auto x) { return weighed(tuff::matmul(x[0], x[1])); }},
    {"matmul_batched",
     {{2, 3, 4}, {2, 4, 2}},
     [](auto x) { return weighed(tuff::matmul(x[0], x[1])); }},
    {"matmul_rows", {{2, 3, 4}, {4, 2}}, [](auto x) { return weighed(tuff::matmul(x[0], x[1])); }},
    {"dot_scrambled",
     {{4, 2, 3, 5}, {5, 7, 4, 2}},
     [](auto x) {
       return dot(x, {{1}, {3}, {3, 0}, {0, 2}});
     }},
    {"dot_outer", {{2}, {3}}, [](auto x) { return dot(x, {}); }},
    {"convolution",
     {{1, 5, 4, 2}, {3, 2, 2, 3}},
     [](auto x) {
       return convolve(x, {1, 1}, {1, 1}, {0, 1}, {1, 1});
     }},
    {"convolution_strided",
     {{2, 7, 6, 1}, {3, 3, 1, 2}},
     [](auto x) {
       return convolve(x, {2, 3}, {1, 0}, {2, 1}, {1, 1});
     }},
    {"convolution_dilated",
     {{1, 8, 7, 2}, {2, 3, 2, 2}},
     [](auto x) {
       return convolve(x, {2, 1}, {0, 1}, {1, 1}, {3, 2});
     }},
    {"max_pool",
     {{1, 5, 5, 2}},
     [](auto x) {
       tuff::Pooling how;
       how.window = {3, 2}, how.padding = {{1, 1}, {0, 1}};
       return weighed(tuff::max_pool(x[0], how));
     }},
    {"take",
     {{5, 3}},
     [](auto x) {
       Tensor rows = x[0].graph().template constant<int32_t>({2, 2}, {4, 0, 4, 2});
       return weighed(tuff::take(x[0] * x[0], rows));
     }},
    {"softmax", {{2, 5}}, [](auto x) { return weighed(tuff::softmax(x[0], 1)); }},
    {"gelu", {{6}}, [](auto x) { return weighed(tuff::gelu(x[0] - 1.0)); }},
    {"layer_norm",
     {{3, 4}, {4}, {4}},
     [](auto x) { return weighed(tuff::layer_norm(x[0], x[1], x[2])); }},
    {"cross_entropy",
     {{3, 4}},
     [](auto x) {
       Tensor labels = x[0].graph().template constant<int32_t>({3}, {0, 3, 1});
       return tuff::cross_entropy(x[0], labels);
     }},
};
INSTANTIATE_TEST_SUITE_P(, Gradient, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Graphs, GradientOfWhatTheLossDoesNotUseIsZero) {
  Graph graph;
  Tensor x = graph.input("x", {DType::kF64, {2}}), y = graph.input("y", {DType::kF64, {2}});
  graph.output("dy", tuff::gradients(tuff::sum(x), {y})[0]);
  std::vector<tuff::Buffer> inputs;
  inputs.push_back(cpu().buffer<double>({2}, {1, 2})),
      inputs.push_back(cpu().buffer<double>({2}, {1, 2}));
  EXPECT_THAT(run(graph, inputs), ElementsAre(0, 0));
}

TEST(Graphs, ConstantsOfEveryKindArrive) {
  Graph graph;
  Tensor x = graph.input("x", {DType::kF64, {}});
  Tensor literal = graph.constant<double>({4}, {0.1, -INFINITY, 1e-310, 3});
  graph.output(
      "y", tuff::concatenate({literal + x, graph.constant(INFINITY, {DType::kF64, {1}}),
                              tuff::convert(graph.constant(-7, {DType::kI8, {1}}), DType::kF64)},
                             0));
  std::vector<tuff::Buffer> inputs;
  inputs.push_back(cpu().buffer<double>({}, {0}));
  EXPECT_THAT(run(graph, inputs), ElementsAre(0.1, -INFINITY, 1e-310, 3, INFINITY, -7));
}

TEST(Graphs, WrongShapesAreErrorsAtTheCall) {
  Graph graph;
  Tensor x = graph.input("x", {DType::kF32, {2, 3}}), y = graph.input("y", {DType::kF32, {2, 3}});
  auto message = [](auto&& build) -> std::string {
    try {
      build();
    } catch (const tuff::Error& error) {
      EXPECT_EQ(error.status(), TUFF_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] { tuff::matmul(x, y); }), HasSubstr("Contracting dimensions"));
  EXPECT_THAT(message([&] { tuff::reshape(x, {4}); }), HasSubstr("number of elements"));
  EXPECT_THAT(message([&] { x + tuff::transpose(y, {1, 0}); }), HasSubstr("do not broadcast"));
  EXPECT_THAT(message([&] { tuff::transpose(x, {0, 0}); }), HasSubstr("each dimension once"));
  EXPECT_THAT(message([&] { tuff::slice(x, {0, 0}, {2, 4}); }), HasSubstr("beyond its operand"));
  EXPECT_THAT(message([&] { tuff::gradients(x, {x}); }), HasSubstr("scalar"));
  EXPECT_THAT(message([&] { graph.stablehlo(); }), HasSubstr("needs an output"));
  EXPECT_THAT(message([&] { tuff::mean(x, {-1}); }), HasSubstr("no dimension (-1)"));
  EXPECT_THAT(message([&] { tuff::softmax(x, 2); }), HasSubstr("names dimensions"));
  EXPECT_THAT(message([&] { tuff::sum(x, {0, 0}); }), HasSubstr("one twice"));
  EXPECT_THAT(message([&] { tuff::reduce("xor", x, {0}); }), HasSubstr("reduce by xor"));
  EXPECT_THAT(message([&] { tuff::reshape(x, {-2, -3}); }), HasSubstr("negative"));
  EXPECT_THAT(message([&] { tuff::concatenate({}, 0); }), HasSubstr("needs operands"));
  EXPECT_THAT(message([&] { tuff::elementwise("add", {}); }), HasSubstr("needs operands"));
  EXPECT_THAT(message([&] { tuff::iota(graph, x.type(), 2); }), HasSubstr("names dimensions"));
  EXPECT_THAT(message([&] { tuff::select(x, x, y); }), HasSubstr("booleans"));
  EXPECT_THAT(message([&] { tuff::take(x, y); }), HasSubstr("integer type"));
  EXPECT_THAT(message([&] {
                tuff::dot_general(x, y, {{}, {}, {5}, {0}});
              }),
              HasSubstr("names dimensions"));
  EXPECT_THAT(message([&] {
                tuff::broadcast_in_dim(x, {DType::kF32, {2, 3, 4}}, {0, 7});
              }),
              HasSubstr("names dimensions"));
  EXPECT_THAT(message([&] { tuff::broadcast_to(x, {3}); }), HasSubstr("fewer dimensions"));
  EXPECT_THAT(message([&] { graph.input("a\"b", x.type()); }), HasSubstr("quotes"));
  EXPECT_THAT(message([&] {
                graph.constant(1, {static_cast<DType>(99), {}});
              }),
              HasSubstr("no complex"));
}

TEST(Graphs, WrongWindowsAreErrorsAtTheCall) {
  Graph graph;
  Tensor x = graph.input("x", {DType::kF32, {1, 4, 4, 2}});
  Tensor kernel = graph.input("k", {DType::kF32, {3, 3, 2, 5}});
  auto refuses = [&](auto&& change) {
    tuff::Convolution how;
    change(how);
    EXPECT_THROW(tuff::convolution(x, kernel, how), tuff::Error) << how.dimensions;
  };
  refuses([](tuff::Convolution& how) { how.strides = {0, 1}; });
  refuses([](tuff::Convolution& how) { how.rhs_dilation = {1}; });
  refuses([](tuff::Convolution& how) { how.padding.clear(); });
  for (const char* layout : {"", "[b, 0, 1, f]", "]x[0, 1, i, o]->[", "[b, 0, 1, f"})
    refuses([layout](tuff::Convolution& how) { how.dimensions = layout; });
  tuff::Pooling pooling;
  pooling.strides = {2, 0};
  EXPECT_THROW(tuff::max_pool(x, pooling), tuff::Error);
  pooling.strides = {2};
  EXPECT_THROW(tuff::max_pool(x, pooling), tuff::Error);
}

TEST(Graphs, TensorsOfTwoGraphsDoNotMix) {
  Graph one, two;
  Tensor x = one.input("x", {DType::kF32, {}}), y = two.input("y", {DType::kF32, {}}), none;
  EXPECT_THROW(x + y, tuff::Error);
  EXPECT_THROW(x + none, tuff::Error);
  EXPECT_THROW(none.shape(), tuff::Error);
  EXPECT_THROW(one.output("y", y), tuff::Error);
  EXPECT_THROW(one.donate(y, 0), tuff::Error);
  one.output("x", x + x);
  EXPECT_THROW(one.donate(x + x, 0), tuff::Error);
  EXPECT_THROW(tuff::gradients(x, {y}), tuff::Error);
  Tensor number = one.input("n", {DType::kI32, {}});
  EXPECT_THROW(tuff::gradients(number, {x}), tuff::Error);
}

// Reductions of integers and booleans begin with their own ends.
TEST(Graphs, LeastAndLargestOfEveryType) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kU64}) {
    Graph graph;
    Tensor x = graph.input("x", {DType::kF64, {3}}), n = tuff::convert(x, dtype);
    for (const char* body : {"minimum", "maximum"})
      graph.output(body, tuff::convert(tuff::reduce(body, n, {0}), DType::kF64));
    std::vector<tuff::Buffer> inputs;
    inputs.push_back(cpu().buffer<double>({3}, {7, 3, 5}));
    EXPECT_THAT(run(graph, inputs, 0), ElementsAre(3)) << static_cast<int>(dtype);
    EXPECT_THAT(run(graph, inputs, 1), ElementsAre(7)) << static_cast<int>(dtype);
  }
  for (double limit : {0.0, 1.0}) {
    Graph graph;
    Tensor x = graph.input("x", {DType::kF64, {2}}),
           is = tuff::compare("GT", x, tuff::like(x, limit));
    for (const char* body : {"minimum", "maximum"})
      graph.output(body, tuff::convert(tuff::reduce(body, is, {0}), DType::kF64));
    std::vector<tuff::Buffer> inputs;
    inputs.push_back(cpu().buffer<double>({2}, {1, 1}));
    EXPECT_THAT(run(graph, inputs, 0), ElementsAre(1 - limit));
    EXPECT_THAT(run(graph, inputs, 1), ElementsAre(1 - limit));
  }
}

TEST(Graphs, ConstantsFitTheirType) {
  Graph graph;
  Tensor n = graph.input("n", {DType::kI8, {}}), u = graph.input("u", {DType::kU64, {}});
  EXPECT_THROW(n + 200.0, tuff::Error);
  EXPECT_THROW(n * 0.5, tuff::Error);
  EXPECT_THROW(u + -1.0, tuff::Error);
  EXPECT_THROW(u + NAN, tuff::Error);
  n + -128.0, u + 9223372036854775808.0;
}

}  // namespace
}  // namespace tuff_test
