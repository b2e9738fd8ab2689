#include "tests/unit/families/contractions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backend/compile.h"
#include "backend/executable.h"
#include "ir/evaluate/evaluate.h"
#include "ir/text/parse.h"
#include "ir/verify.h"
#include "shaders/emit/emit_glsl.h"

namespace tuff::test {

namespace {

#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().to_string()

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

}  // namespace

std::string dot(const std::string& dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: {0}[{1},{2},{4}], %b: {0}[{1},{4},{3}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [0], lhs_contracting_dimensions = "
      "[2], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [1]}} : "
      "{0}[{1},{2},{3}]\n  return %c\n}}\n",
      dtype, batch, m, n, k);
}

std::string mixed_dot(const std::string& dtype, const std::string& result, int64_t m, int64_t n,
                      int64_t k) {
  return fmt::format(
      "graph main(%a: {0}[{2},{4}], %b: {0}[{4},{3}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[1], rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]}} : {1}[{2},{3}]\n"
      "  return %c\n}}\n",
      dtype, result, m, n, k);
}

std::string transposed_dot(int64_t m, int64_t n, int64_t k, const std::string& dtype) {
  return fmt::format(
      "graph main(%a: {3}[{2},{0}], %b: {3}[{1},{2}], %bias: {3}[{1}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[0], rhs_batching_dimensions = [], rhs_contracting_dimensions = [1]}} : {3}[{0},{1}]\n"
      "  %d = broadcast_in_dim(%bias) {{broadcast_dimensions = [1]}} : {3}[{0},{1}]\n"
      "  %e = add(%c, %d) : {3}[{0},{1}]\n  return %e\n}}\n",
      m, n, k, dtype);
}

std::string convolution(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                        const std::string& dtype) {
  int64_t pad = stride == kernel ? 0 : kernel / 2;
  int64_t result = (size + 2 * pad - kernel) / stride + 1;
  return fmt::format(
      "graph main(%x: {7}[2,{0},{0},{1}], %w: {7}[{3},{3},{1},{2}]) {{\n"
      "  %y = convolution(%x, %w) {{input_batch_dimension = 0, input_feature_dimension = 3, "
      "input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, "
      "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], "
      "output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, "
      "2], window_strides = [{5}, {5}], padding = [{6}, {6}, {6}, {6}]}} : {7}[2,{4},{4},{2}]\n"
      "  return %y\n}}\n",
      size, in, out, kernel, result, stride, pad, dtype);
}

std::string two_way_dot(const std::string& dtype, int64_t m, int64_t n, int64_t k0, int64_t k1) {
  return fmt::format(
      "graph main(%a: {0}[{1},{3},{4}], %b: {0}[{2},{3},{4}], %s: {0}[]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[1, 2], rhs_batching_dimensions = [], rhs_contracting_dimensions = [1, 2]}} : {0}[{1},{2}]\n"
      "  %sb = broadcast_in_dim(%s) {{broadcast_dimensions = []}} : {0}[{1},{2}]\n"
      "  %d = multiply(%c, %sb) : {0}[{1},{2}]\n"
      "  %t = transpose(%d) {{permutation = [1, 0]}} : {0}[{2},{1}]\n  return %t, %d\n}}\n",
      dtype, m, n, k0, k1);
}

std::string padded_dot(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: bf16[{0},{2}], %b: f32[{3},{1}]) {{\n"
      "  %one = constant f32[] 1.0\n  %f = convert(%a) : f32[{0},{2}]\n"
      "  %p = pad(%f, %one) {{edge_padding_high = [0, 1], edge_padding_low = [0, 2], "
      "interior_padding = [0, 0]}} : f32[{0},{3}]\n"
      "  %c = dot_general(%p, %b) {{lhs_batching_dimensions = [], lhs_contracting_dimensions = "
      "[1], rhs_batching_dimensions = [], rhs_contracting_dimensions = [0]}} : f32[{0},{1}]\n"
      "  return %c\n}}\n",
      m, n, k, k + 3);
}

std::string grouped_convolution(int64_t size, int64_t groups, int64_t in, int64_t out) {
  return fmt::format(
      "graph main(%x: f32[2,{1},{0},{0}], %w: f32[{2},{3},3,3]) {{\n"
      "  %y = convolution(%x, %w) {{input_batch_dimension = 0, input_feature_dimension = 1, "
      "input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, "
      "kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], "
      "output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, "
      "3], padding = [1, 1, 1, 1], feature_group_count = {4}}} : f32[2,{2},{0},{0}]\n"
      "  return %y\n}}\n",
      size, groups * in, groups * out, in, groups);
}

void expect_agreement(const std::string& text, Device& device, const Caps& caps) {
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
  auto executable = Executable::create(device, *program, {});
  ASSERT_OK(executable);
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph->num_parameters(); ++i)
    arguments.push_back(small_integers(graph->node(i).types[0], i));
  auto expected = evaluate(*graph, arguments);
  ASSERT_OK(expected);
  auto got = (*executable)(arguments);
  ASSERT_OK(got);
  for (size_t o = 0; o < expected->size(); ++o) EXPECT_EQ((*got)[o], (*expected)[o]) << o;
}

std::string kernels_text(const std::string& graph_text, const Caps& caps) {
  auto graph = parse_graph(graph_text);
  EXPECT_TRUE(graph.ok());
  auto program = compile(*graph, caps, {}, nullptr);
  EXPECT_TRUE(program.ok());
  std::string text;
  for (const Kernel& kernel : (*program)->kernels) {
    Status status = verify_kernel(kernel);
    EXPECT_TRUE(status.ok()) << status.error().to_string();
    auto shader = emit_glsl(kernel, caps);
    EXPECT_TRUE(shader.ok());
    text += "---- " + kernel.family + " ----\n" + shader->text;
  }
  return text;
}

void expect_golden(const std::string& name, const std::string& text) {
  std::string path = TUFF_TEST_DATA "/kernels/tiles/" + name + ".golden";
  if (std::getenv("TUFF_REWRITE_GOLDENS") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

}  // namespace tuff::test
