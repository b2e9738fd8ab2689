// Norms of rows as the CPU's calls: which groups become one, and their numbers at every level.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/attention/row_calls.h"
#include "backend/cpu/native/loop_code.h"
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/text/parse.h"
#include "tests/unit/families/agrees.h"

namespace tuff::test {
namespace {

struct Norm {
  std::string name;
  bool scale = true, shift = true;
  double count_off_by = 0;     // the divisor of the variance
  const char* squared = "%d";  // what is squared
  bool call = true;
  bool by_root = false;  // divided by the root
};
void PrintTo(const Norm& n, std::ostream* out) { *out << n.name; }

// The shift is the middle of a longer vector.
std::string graph_text(const Norm& norm, int64_t rows, int64_t columns) {
  std::string text = fmt::format(
      R"(graph main(%x: F, %g: f32[{1}], %b: f32[{2}]) {{
    %z = constant f32[] 0.0
    %n0 = constant f32[] {1}.0
    %n = broadcast_in_dim(%n0) : R
    %k0 = constant f32[] {3}
    %k = broadcast_in_dim(%k0) : R
    %e0 = constant f32[] 0.001
    %e = broadcast_in_dim(%e0) : R
    %s = reduce(%x, %z) {{dimensions = [1]}} : R applies add
    %m = divide(%s, %n) : R
    %mm = broadcast_in_dim(%m) {{broadcast_dimensions = [0]}} : F
    %d = subtract(%x, %mm) : F
    %q = multiply({4}, {4}) : F
    %t = reduce(%q, %z) {{dimensions = [1]}} : R applies add
    %v = divide(%t, %k) : R
    %w = add(%v, %e) : R
    %r = {8}(%w) : R
    %rr = broadcast_in_dim(%r) {{broadcast_dimensions = [0]}} : F
    %y = {9}(%d, %rr) : F
    %gg = broadcast_in_dim(%g) {{broadcast_dimensions = [1]}} : F
    %scaled = multiply(%y, %gg) : F
    %part = slice(%b) {{limit_indices = [{5}], start_indices = [2], strides = [1]}} : f32[{1}]
    %bb = broadcast_in_dim(%part) {{broadcast_dimensions = [1]}} : F
    %shifted = add({6}, %bb) : F
    return {7}
  }})",
      rows, columns, columns + 3,
      fmt::format("{:.1f}", static_cast<double>(columns) + norm.count_off_by), norm.squared,
      columns + 2, norm.scale ? "%scaled" : "%y",
      norm.shift   ? "%shifted"
      : norm.scale ? "%scaled"
                   : "%y",
      norm.by_root ? "sqrt" : "rsqrt", norm.by_root ? "divide" : "multiply");
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace(": F", fmt::format(": f32[{},{}]", rows, columns));
  replace(": R", fmt::format(": f32[{}]", rows));
  return text;
}

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

class LayerNormTest : public ::testing::TestWithParam<Norm> {};

TEST_P(LayerNormTest, AgreesWithEvaluator) {
  const int64_t shapes[][2] = {{1, 2},  {37, 20},   {16, 63},  {5, 7},   {3, 32},
                               {2, 33}, {130, 197}, {64, 768}, {300, 7}, {1030, 16}};
  for (auto [rows, columns] : shapes) {
    auto graph = parse_graph(graph_text(GetParam(), rows, columns));
    ASSERT_OK(graph);
    auto device = open_device("cpu");
    ASSERT_OK(device);
    LoadedModel model{*graph, {}, {}};
    auto executable = compile_model(model, **device, {});
    ASSERT_OK(executable);
    if ((*device)->caps().library_calls && rows > 1) {
      const Steps& steps = executable->program().steps;
      EXPECT_EQ(steps.size() == 1 && std::holds_alternative<LayerNormCall>(steps[0].call),
                GetParam().call && (rows < 256 || columns > 32 || !cpu::native::has_native_code()));
    }
    expect_agrees(*executable, *graph, 7, fmt::format("{}x{}", rows, columns));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerNormTest,
                         ::testing::Values(Norm{"plain", false, false}, Norm{"scaled", true, false},
                                           Norm{"shifted", false, true}, Norm{"scaled_and_shifted"},
                                           Norm{"other_count", true, true, -0.5, "%d", false},
                                           Norm{"squares_of_the_input", true, true, 0, "%x", false},
                                           Norm{"by_root", true, true, 0, "%d", true, true}),
                         [](const auto& info) { return info.param.name; });

// A reader need not spell it in the way that is found: the name says what it is.
TEST(LayerNorm, AFusedNodeOfThatNameIsACall) {
  auto graph = parse_graph(R"(graph main(%x: f32[5,7], %g: f32[7]) {
    %y = fused(%x, %g) {columns = 7, composite = "layer_norm", epsilon = 0.5, input = 0,
                        kind = "rows", scale = [1, 0]} : f32[5,7]
        graph rows(%x: f32[5,7], %g: f32[7]) {
      %z = constant f32[] 0.0
      %n = constant f32[] 7.0
      %nb = broadcast_in_dim(%n) : f32[5]
      %e = constant f32[] 0.5
      %eb = broadcast_in_dim(%e) : f32[5]
      %s = reduce(%x, %z) {dimensions = [1]} : f32[5] applies add
      %m = divide(%s, %nb) : f32[5]
      %xx = multiply(%x, %x) : f32[5,7]
      %t = reduce(%xx, %z) {dimensions = [1]} : f32[5] applies add
      %u = divide(%t, %nb) : f32[5]
      %mm = multiply(%m, %m) : f32[5]
      %v = subtract(%u, %mm) : f32[5]
      %w = add(%v, %eb) : f32[5]
      %r = rsqrt(%w) : f32[5]
      %mb = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : f32[5,7]
      %d = subtract(%x, %mb) : f32[5,7]
      %rb = broadcast_in_dim(%r) {broadcast_dimensions = [0]} : f32[5,7]
      %p = multiply(%d, %rb) : f32[5,7]
      %gb = broadcast_in_dim(%g) {broadcast_dimensions = [1]} : f32[5,7]
      %o = multiply(%p, %gb) : f32[5,7]
      return %o
    }
    return %y
  })");
  ASSERT_OK(graph);
  auto device = open_device("cpu");
  ASSERT_OK(device);
  LoadedModel model{*graph, {}, {}};
  auto executable = compile_model(model, **device, {});
  ASSERT_OK(executable);
  if ((*device)->caps().library_calls) {
    const Steps& steps = executable->program().steps;
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<LayerNormCall>(steps[0].call));
  }
  std::vector<Literal> arguments = {Literal(graph->node(0).types[0]),
                                    Literal(graph->node(1).types[0])};
  for (Literal& argument : arguments)
    for (int64_t i = 0; i < argument.num_elements(); ++i)
      argument.set_double(i, std::sin(static_cast<double>(i)) * 2.5 + 1);
  auto expected = evaluate(*graph, arguments);
  ASSERT_OK(expected);
  auto got = (*executable)(arguments);
  ASSERT_OK(got);
  EXPECT_LE(scale_error((*got)[0], (*expected)[0]), 1e-5);
}

// x * rsqrt(mean(x * x) + epsilon) * g
TEST(RmsNorm, AgreesWithEvaluator) {
  const int64_t shapes[][2] = {{1, 2}, {5, 7}, {3, 32}, {2, 33}, {130, 197}, {64, 768}};
  for (auto [rows, columns] : shapes) {
    auto graph = parse_graph(fmt::format(
        R"(graph main(%x: f32[{0},{1}], %g: f32[{1}]) {{
    %z = constant f32[] 0.0
    %n0 = constant f32[] {1}.0
    %n = broadcast_in_dim(%n0) : f32[{0}]
    %e0 = constant f32[] 0.001
    %e = broadcast_in_dim(%e0) : f32[{0}]
    %q = multiply(%x, %x) : f32[{0},{1}]
    %t = reduce(%q, %z) {{dimensions = [1]}} : f32[{0}] applies add
    %v = divide(%t, %n) : f32[{0}]
    %w = add(%v, %e) : f32[{0}]
    %r = rsqrt(%w) : f32[{0}]
    %rr = broadcast_in_dim(%r) {{broadcast_dimensions = [0]}} : f32[{0},{1}]
    %y = multiply(%x, %rr) : f32[{0},{1}]
    %gg = broadcast_in_dim(%g) {{broadcast_dimensions = [1]}} : f32[{0},{1}]
    %o = multiply(%y, %gg) : f32[{0},{1}]
    return %o
  }})",
        rows, columns));
    ASSERT_OK(graph);
    auto device = open_device("cpu");
    ASSERT_OK(device);
    auto executable = compile_model({*graph, {}, {}}, **device, {});
    ASSERT_OK(executable);
    const Steps& steps = executable->program().steps;
    if ((*device)->caps().library_calls && rows > 1) {
      EXPECT_TRUE(steps.size() == 1 && std::holds_alternative<RmsNormCall>(steps[0].call));
    }
    expect_agrees(*executable, *graph, 1, fmt::format("{}x{}", rows, columns));
  }
}

template <typename Call>
void expect_same_bits(cpu::LibraryCallPtr (*create)(const Call&, const cpu::LaneTable&)) {
  for (int64_t columns : {1, 2, 31, 32, 33, 197, 1000}) {
    std::vector<float> x(static_cast<size_t>(2 * columns)), first;
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 20;
    for (auto level : {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
      if (!cpu::isa_level_available(level)) continue;
      std::vector<float> out(x.size());
      auto call = create({{2, columns, 1e-5f}}, cpu::lane_table(level));
      cpu::CallOperand operands[] = {{reinterpret_cast<std::byte*>(x.data()), 0},
                                     {reinterpret_cast<std::byte*>(out.data()), 0}};
      ASSERT_TRUE(call->run(operands).ok());
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << columns << " columns";
    }
  }
}

TEST(RowNorms, EveryLevelGivesTheSameBits) {
  expect_same_bits(cpu::create_layer_norm);
  expect_same_bits(cpu::create_rms_norm);
}

}  // namespace
}  // namespace tuff::test
