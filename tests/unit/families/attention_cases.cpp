#include "tests/unit/families/attention_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>

#include "ir/evaluate/evaluate.h"
#include "ir/evaluate/tolerances.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "tests/models/run_model.h"

namespace tuff::test {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

void PrintTo(const AttentionCase& c, std::ostream* out) { *out << c.name; }

namespace {

std::string mask_text(const AttentionCase& c, const std::string& scores) {
  if (c.mask == AttentionCase::Mask::kNone) return "";
  if (c.mask == AttentionCase::Mask::kBias)
    return fmt::format(
        "  %bias = broadcast_in_dim(%mask) {{broadcast_dimensions = [1, 2, 3]}} : {0}\n"
        "  %masked = add(%x, %bias) : {0}\n",
        scores);
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
                  : c.mask == AttentionCase::Mask::kBias
                      ? ", %mask: " + type("[{},{},{}]", c.heads, c.rows, c.columns)
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

// Numbers in [-scale, scale]; of the mask's rows one in five keeps nothing.
Literal argument_of(const TensorType& type, uint32_t seed, double scale) {
  Literal value(type);
  uint32_t state = seed * 2654435761u + 1;
  int64_t columns = type.shape.back();
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    if (is_float(type.dtype))
      value.set_double(i, scale * (static_cast<double>(state >> 16) / 32768 - 1));
    else
      value.set_int(i, i / columns % 5 != 3 && (state >> 16) % 3 != 0);
  }
  return value;
}

}  // namespace

Result<Graph> graph_of(const AttentionCase& c) {
  TUFF_ASSIGN(Graph graph, parse_graph(graph_text(c)));
  TUFF_RETURN_IF_ERROR(verify(graph));
  return graph;
}

void check_numbers(const AttentionCase& c, const Graph& graph, Executable& executable, Runs runs) {
  for (const Kernel& kernel : executable.program().kernels) {
    Status status = verify_kernel(kernel);
    ASSERT_OK(status);
  }
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    arguments.push_back(argument_of(graph.node(i).types[0], i, i == 0 ? c.steep : 1));
  auto expected = evaluate(graph, arguments);
  ASSERT_OK(expected);
  auto got = executable(arguments);
  ASSERT_OK(got);
  EXPECT_LE(scale_error((*got)[0], (*expected)[0]),
            tolerance("attention", (*expected)[0].type().dtype));
  if (runs == Runs::kOther) return;
  auto again = executable(arguments);
  ASSERT_OK(again);
  EXPECT_EQ((*again)[0], (*got)[0]);
}

}  // namespace tuff::test
