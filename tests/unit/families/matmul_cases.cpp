// Contractions as large as schedules tell apart (elements of B: 2^14, 2^18), with sizes that
// fill no tile; long sums; single rows.
#include <fmt/format.h>

#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// A is [m, k], B is [k, n]; `after` goes on from %c.
std::string dot(const std::string& dtype, int64_t m, int64_t n, int64_t k,
                const std::string& more = "", const std::string& after = "  return %c\n") {
  return fmt::format(
             "graph main(%a: {0}[{1},{3}], %b: {0}[{3},{2}]{4}) {{\n"
             "  %c = dot_general(%a, %b) {{lhs_contracting_dimensions = [1], "
             "rhs_contracting_dimensions = [0]}} : {0}[{1},{2}]\n",
             dtype, m, n, k, more) +
         after + "}\n";
}

std::string batched(const std::string& dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: {0}[{1},{2},{4}], %b: {0}[{1},{4},{3}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [0], lhs_contracting_dimensions = "
      "[2], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [1]}} : "
      "{0}[{1},{2},{3}]\n  return %c\n}}\n",
      dtype, batch, m, n, k);
}

// Products of i8, A [batch, k, m] and B [batch, n, k], what follows read as f32.
std::string bytes(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: i8[{0},{3},{1}], %b: i8[{0},{2},{3}], %s: f32[{2}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_batching_dimensions = [0], lhs_contracting_dimensions = "
      "[1], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [2]}} : "
      "i32[{0},{1},{2}]\n  %f = convert(%c) : f32[{0},{1},{2}]\n"
      "  %t = broadcast_in_dim(%s) {{broadcast_dimensions = [2]}} : f32[{0},{1},{2}]\n"
      "  %r = multiply(%f, %t) : f32[{0},{1},{2}]\n  return %r, %c\n}}\n",
      batch, m, n, k);
}

// A is [k, m], B is [n, k].
std::string transposed(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: f32[{2},{0}], %b: f32[{1},{2}]) {{\n"
      "  %c = dot_general(%a, %b) {{lhs_contracting_dimensions = [0], rhs_contracting_dimensions = "
      "[1]}} : f32[{0},{1}]\n  return %c\n}}\n",
      m, n, k);
}

std::string convolution(int64_t height, int64_t width, int64_t in, int64_t out) {
  return fmt::format(
      "graph main(%x: f32[1,{0},{1},{2}], %w: f32[3,3,{2},{3}]) {{\n"
      "  %y = convolution(%x, %w) {{input_batch_dimension = 0, input_feature_dimension = 3, "
      "input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, "
      "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], "
      "output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, "
      "2], padding = [1, 1, 1, 1]}} : f32[1,{0},{1},{3}]\n  return %y\n}}\n",
      height, width, in, out);
}

}  // namespace

std::vector<FamilyCase> matmul_cases() {
  return {{"matmul_of_many_columns", dot("f32", 37, 514, 512)},
          {"matmul_of_odd_sizes", dot("f32", 17, 515, 511)},
          {"matmul_of_a_length_of_threes", dot("f32", 16, 513, 513)},
          {"matmul_with_work_after_it",
           dot("f32", 9, 130, 128, ", %bias: f32[130], %r: f32[9,130]",
               "  %z = constant f32[9,130] 0\n"
               "  %v = broadcast_in_dim(%bias) {broadcast_dimensions = [1]} : f32[9,130]\n"
               "  %d = add(%c, %v) : f32[9,130]\n"
               "  %e = maximum(%d, %z) : f32[9,130]\n"
               "  %f = add(%e, %r) : f32[9,130]\n"
               "  return %f\n")},
          {"matmul_of_transposes", transposed(33, 514, 512)},
          {"matmul_of_halves", dot("f16", 19, 1030, 260)},
          {"matmul_of_bf16", dot("bf16", 5, 512, 515)},
          {"matmul_of_bytes", bytes(1, 67, 41, 130)},
          {"matmul_of_bytes_in_a_batch", bytes(3, 5, 1, 1030)},
          {"matmul_of_few_bytes", bytes(2, 1, 3, 1)},
          {"matmul_of_integers_in_a_batch", batched("i32", 3, 18, 1010, 260)},
          {"matmul_of_a_row", dot("f32", 1, 300, 1030)},
          {"matmul_of_a_column", dot("f32", 301, 1, 1030)},
          {"matmul_of_long_sums", dot("f32", 3, 5, 70'001)},
          {"matmul_of_an_image", convolution(7, 5, 32, 913)}};
}

}  // namespace tuff::test
