// A gelu after a contraction, in the forms that frameworks spell it: the CPU's library
// computes it as it stores.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/device.h"
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "tests/models/run_model.h"

namespace tuff {
namespace {

struct GeluCase {
  std::string name;
  std::string body;  // of %x and constants; the last line defines %y
  bool absorbed = true;
};
void PrintTo(const GeluCase& c, std::ostream* out) { *out << c.name; }

constexpr const char* kTanh = R"(
  %p = multiply(%x, %x) : T
  %q = multiply(%p, %x) : T
  %r = multiply(%q, %c) : T
  %s = add(%x, %r) : T
  %t = multiply(%s, %k) : T
  %u = tanh(%t) : T
  %v = add(%u, %one) : T
  %w = multiply(%v, %half) : T
  %y = multiply(%x, %w) : T
)";
constexpr const char* kErf = R"(
  %p = multiply(%x, %half) : T
  %q = multiply(%x, %root) : T
  %r = erf(%q) : T
  %s = add(%r, %one) : T
  %y = multiply(%p, %s) : T
)";
// x - x / 2 * (1 - erf(x / sqrt 2))
constexpr const char* kComplement = R"(
  %p = multiply(%x, %root) : T
  %q = erf(%p) : T
  %r = subtract(%one, %q) : T
  %s = multiply(%x, %half) : T
  %t = multiply(%r, %s) : T
  %y = subtract(%x, %t) : T
)";
constexpr const char* kThenScaled = R"(
  %p = multiply(%x, %half) : T
  %q = multiply(%x, %root) : T
  %r = erf(%q) : T
  %s = add(%r, %one) : T
  %g = multiply(%p, %s) : T
  %y = multiply(%g, %root) : T
)";
// An erf of x itself, a factor of x missing, x read by another: no gelu.
constexpr const char* kOtherArgument = R"(
  %p = multiply(%x, %half) : T
  %r = erf(%x) : T
  %s = add(%r, %one) : T
  %y = multiply(%p, %s) : T
)";
constexpr const char* kReadTwice = R"(
  %p = multiply(%x, %half) : T
  %q = multiply(%x, %root) : T
  %r = erf(%q) : T
  %s = add(%r, %one) : T
  %g = multiply(%p, %s) : T
  %y = add(%g, %q) : T
)";

std::string graph_text(const GeluCase& c, int64_t m, int64_t n, int64_t k) {
  std::string type = fmt::format("f32[{},{}]", m, n), text;
  text = fmt::format(
      "graph main(%a: f32[{0},{2}], %b: f32[{2},{1}], %bias: f32[{1}]) {{\n"
      "  %d = dot_general(%a, %b) {{lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [0]}} : T\n"
      "  %bb = broadcast_in_dim(%bias) {{broadcast_dimensions = [1]}} : T\n"
      "  %x = add(%d, %bb) : T\n",
      m, n, k);
  const std::pair<const char*, double> constants[] = {
      {"one", 1}, {"half", 0.5}, {"root", 0.70710678}, {"c", 0.044715}, {"k", 0.7978845608}};
  for (auto [name, value] : constants)
    text += fmt::format("  %{0}0 = constant f32[] {1}\n  %{0} = broadcast_in_dim(%{0}0) : T\n",
                        name, value);
  text += c.body + "  return %y\n}\n";
  for (size_t at; (at = text.find(": T\n")) != std::string::npos;) text.replace(at + 2, 1, type);
  return text;
}

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

class GeluTest : public ::testing::TestWithParam<GeluCase> {};

TEST_P(GeluTest, AgreesWithEvaluator) {
  const int64_t shapes[][3] = {{1, 1, 1}, {1, 33, 2}, {5, 7, 3}, {37, 130, 9}, {64, 64, 64}};
  for (auto [m, n, k] : shapes) {
    auto graph = parse_graph(graph_text(GetParam(), m, n, k));
    ASSERT_OK(graph);
    Status valid = verify(*graph);
    ASSERT_OK(valid);
    auto device = open_device("cpu");
    ASSERT_OK(device);
    LoadedModel model{*graph, {}, {}};
    auto executable = compile_model(model, **device, {});
    ASSERT_OK(executable);
    if ((*device)->caps().library_calls && m > 1) {
      EXPECT_EQ(executable->program().steps.size(), GetParam().absorbed ? 1u : 2u);
    }
    std::vector<Literal> arguments;
    for (uint32_t p = 0; p < graph->num_parameters(); ++p) {
      Literal value(graph->node(p).types[0]);
      for (int64_t i = 0; i < value.num_elements(); ++i)
        value.set_double(i, std::sin(static_cast<double>(i * (p + 3))) * 2.5);
      arguments.push_back(std::move(value));
    }
    auto expected = evaluate(*graph, arguments);
    ASSERT_OK(expected);
    auto got = (*executable)(arguments);
    ASSERT_OK(got);
    EXPECT_LE(scale_error((*got)[0], (*expected)[0]), tolerance("product_gelu"))
        << m << "x" << n << "x" << k;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GeluTest,
                         ::testing::Values(GeluCase{"tanh", kTanh}, GeluCase{"erf", kErf},
                                           GeluCase{"complement", kComplement},
                                           GeluCase{"then_scaled", kThenScaled},
                                           GeluCase{"other_argument", kOtherArgument, false},
                                           GeluCase{"read_twice", kReadTwice, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tuff
