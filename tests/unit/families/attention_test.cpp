// Attention on both devices, as a kernel and as a call, against the reference evaluator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/vulkan/vulkan.h"
#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "tests/models/run_model.h"
#include "tests/unit/families/ways.h"

namespace tuff {
namespace {

struct AttentionCase {
  std::string name;
  int64_t batch, heads, rows, columns, depth, out;
  std::string dtype = "f32";
  enum class Mask { kNone, kCausal, kInput } mask = Mask::kNone;
  bool values_first = false;  // dot(V, weights), as JAX's einsum has it
};

void PrintTo(const AttentionCase& c, std::ostream* out) { *out << c.name; }

std::string mask_text(const AttentionCase& c, const std::string& scores) {
  if (c.mask == AttentionCase::Mask::kNone) return "";
  std::string text, bits = "i1" + scores.substr(scores.find('['));
  std::string ints = "i32" + scores.substr(scores.find('['));
  if (c.mask == AttentionCase::Mask::kCausal)
    text = fmt::format(
        "  %i = iota() {{iota_dimension = 2}} : {0}\n  %j = iota() {{iota_dimension = 3}} : {0}\n"
        "  %keep = compare(%i, %j) {{comparison_direction = \"GE\"}} : {1}\n",
        ints, bits);
  else
    text = fmt::format(
        "  %keep = broadcast_in_dim(%mask) {{broadcast_dimensions = [0, 2, 3]}} : {}\n", bits);
  return text + fmt::format(
                    "  %lb = broadcast_in_dim(%low) : {0}\n"
                    "  %masked = select(%keep, %x, %lb) : {0}\n",
                    scores);
}

// q: [batch, rows, heads, depth], k: [batch, columns, heads, depth], v: likewise, out wide.
std::string graph_text(const AttentionCase& c) {
  auto type = [&](const char* dims, auto... sizes) {
    return c.dtype + fmt::format(fmt::runtime(dims), sizes...);
  };
  std::string scores = type("[{},{},{},{}]", c.batch, c.heads, c.rows, c.columns);
  std::string by_row = type("[{},{},{}]", c.batch, c.heads, c.rows);
  std::string logits = c.mask == AttentionCase::Mask::kNone ? "%x" : "%masked";
  std::string text =
      fmt::format("graph main(%q: {}, %k: {}, %v: {}{}) {{\n",
                  type("[{},{},{},{}]", c.batch, c.rows, c.heads, c.depth),
                  type("[{},{},{},{}]", c.batch, c.columns, c.heads, c.depth),
                  type("[{},{},{},{}]", c.batch, c.columns, c.heads, c.out),
                  c.mask == AttentionCase::Mask::kInput
                      ? fmt::format(", %mask: i1[{},{},{}]", c.batch, c.rows, c.columns)
                      : "");
  text += fmt::format(
      "  %z = constant {0}[] 0.0\n  %low = constant {0}[] -inf\n  %half = constant {0}[] 0.5\n"
      "  %s = dot_general(%q, %k) {{lhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = "
      "[3], rhs_batching_dimensions = [0, 2], rhs_contracting_dimensions = [3]}} : {1}\n"
      "  %hb = broadcast_in_dim(%half) : {1}\n  %x = multiply(%s, %hb) : {1}\n",
      c.dtype, scores);
  text += mask_text(c, scores);
  text += fmt::format(
      "  %m = reduce({2}, %low) {{dimensions = [3]}} : {1} applies maximum\n"
      "  %mb = broadcast_in_dim(%m) {{broadcast_dimensions = [0, 1, 2]}} : {0}\n"
      "  %d = subtract({2}, %mb) : {0}\n  %e = exponential(%d) : {0}\n"
      "  %t = reduce(%e, %z) {{dimensions = [3]}} : {1} applies add\n"
      "  %tb = broadcast_in_dim(%t) {{broadcast_dimensions = [0, 1, 2]}} : {0}\n"
      "  %p = divide(%e, %tb) : {0}\n",
      scores, by_row, logits);
  if (c.values_first)
    return text + fmt::format(
                      "  %o = dot_general(%v, %p) {{lhs_batching_dimensions = [0, 2], "
                      "lhs_contracting_dimensions = [1], rhs_batching_dimensions = [0, 1], "
                      "rhs_contracting_dimensions = [3]}} : {}\n  return %o\n}}\n",
                      type("[{},{},{},{}]", c.batch, c.heads, c.out, c.rows));
  return text + fmt::format(
                    "  %o = dot_general(%p, %v) {{lhs_batching_dimensions = [0, 1], "
                    "lhs_contracting_dimensions = [3], rhs_batching_dimensions = [0, 2], "
                    "rhs_contracting_dimensions = [1]}} : {}\n  return %o\n}}\n",
                    type("[{},{},{},{}]", c.batch, c.heads, c.rows, c.out));
}

// Numbers in [-1, 1]; of the mask's rows one in five keeps nothing.
Literal argument_of(const TensorType& type, uint32_t seed) {
  Literal value(type);
  uint32_t state = seed * 2654435761u + 1;
  int64_t columns = type.shape.back();
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    if (is_float(type.dtype))
      value.set_double(i, static_cast<double>(state >> 16) / 32768 - 1);
    else
      value.set_int(i, i / columns % 5 != 3 && (state >> 16) % 3 != 0);
  }
  return value;
}

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

void check_numbers(const Graph& graph, Executable& executable) {
  for (const Kernel& kernel : executable.program().kernels) {
    Status status = verify_kernel(kernel);
    ASSERT_OK(status);
  }
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    arguments.push_back(argument_of(graph.node(i).types[0], i));
  auto expected = evaluate(graph, arguments);
  ASSERT_OK(expected);
  auto got = executable(arguments);
  ASSERT_OK(got);
  EXPECT_LE(scale_error((*got)[0], (*expected)[0]),
            tolerance("attention", (*expected)[0].type().dtype));
  EXPECT_EQ(validation_errors(), 0);
}

class AttentionTest : public ::testing::TestWithParam<std::tuple<AttentionCase, const char*>> {};

TEST_P(AttentionTest, AgreesWithEvaluator) {
  auto [c, device_name] = GetParam();
  auto graph = parse_graph(graph_text(c));
  ASSERT_OK(graph);
  Status valid = verify(*graph);
  ASSERT_OK(valid);
  bool by_library = device_name == std::string("library");
  auto device = open_device(by_library ? "cpu" : device_name);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  LoadedModel model{*graph, {}, {}};
  auto executable =
      compile_model(model, **device,
                    by_library ? std::set<std::string>{} : std::set<std::string>{"library_calls"});
  ASSERT_OK(executable);
  // One column is no softmax. A row or three do not fill the lanes: dot, softmax and dot stay
  // apart.
  // A library's matmuls know f32 only.
  bool wanted = c.rows >= 4 && c.columns > 1 && (!by_library || c.dtype == "f32");
  bool fused = by_library ? executable->program().steps.size() == 1
                          : executable->program().kernels.size() == 1;
  EXPECT_EQ(fused, wanted);
  EXPECT_TRUE(!fused || executable->program().arena_bytes == 0);
  check_numbers(*graph, *executable);
}

class AttentionOtherWaysTest
    : public ::testing::TestWithParam<std::tuple<AttentionCase, test::Way>> {};

TEST_P(AttentionOtherWaysTest, AgreesWithEvaluator) {
  auto [c, way] = GetParam();
  auto graph = parse_graph(graph_text(c));
  ASSERT_OK(graph);
  auto device = test::open_as(way);
  if (!device.ok() && is_missing_device(device.error())) GTEST_SKIP() << device.error().to_string();
  ASSERT_OK(device);
  auto executable = compile_model({*graph, {}, {}}, **device, {});
  ASSERT_OK(executable);
  check_numbers(*graph, *executable);
}

using Mask = AttentionCase::Mask;
const AttentionCase kCases[] = {
    {"plain", 2, 3, 16, 32, 8, 8},
    {"one_row", 1, 2, 1, 7, 4, 4},
    {"one_column", 2, 1, 5, 1, 3, 5},
    {"primes", 1, 3, 13, 37, 7, 11, "f32", Mask::kNone, true},
    {"causal", 1, 2, 19, 19, 6, 10, "f32", Mask::kCausal},
    {"causal_513", 1, 1, 513, 513, 4, 2, "f32", Mask::kCausal, true},
    {"masked_rows", 3, 2, 11, 17, 5, 6, "f32", Mask::kInput},
    {"wide", 1, 1, 9, 33, 64, 128},
    {"many_heads", 3, 8, 5, 7, 4, 6, "f32", Mask::kInput},
    {"rows_in_blocks", 1, 1, 275, 301, 8, 5, "f32", Mask::kCausal},
    {"rows_in_blocks_transposed", 2, 1, 130, 1030, 5, 3, "f32", Mask::kNone, true},
    {"result_of_one_column", 2, 2, 6, 9, 1, 1},
    {"f16", 1, 2, 10, 21, 8, 6, "f16", Mask::kCausal},
    {"bf16", 2, 2, 10, 21, 8, 6, "bf16", Mask::kInput, true},
};

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("cpu", "vulkan", "library")),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(All, AttentionOtherWaysTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::ValuesIn(test::other_ways())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace tuff
