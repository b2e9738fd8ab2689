// What loads of contractions compute: weights of narrower types, converted and scaled.
#include <fmt/format.h>

#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// A dot of %a, f32 [m, k], and %w, [k, n] of another type, and one with its transpose: the
// weights' users in a training step.
std::string two_dots(const std::string& weights, int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "graph main(%a: f32[{1},{3}], %w: {0}[{3},{2}], %g: f32[{1},{2}]) {{\n"
      "  %c = convert(%w) : f32[{3},{2}]\n"
      "  %t = transpose(%c) {{permutation = [1, 0]}} : f32[{2},{3}]\n"
      "  %d = dot_general(%a, %c) {{lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [0]}} : f32[{1},{2}]\n"
      "  %e = dot_general(%g, %t) {{lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [0]}} : f32[{1},{3}]\n"
      "  return %d, %e\n}}\n",
      weights, m, n, k);
}

// Zero points by column, scales by block of `block` rows.
std::string dequantised(int64_t m, int64_t n, int64_t k, int64_t block) {
  return fmt::format(
      "graph main(%a: f32[{0},{2}], %w: i8[{2},{1}], %z: i8[{1}], %s: f16[{4},{1}]) {{\n"
      "  %zb = broadcast_in_dim(%z) {{broadcast_dimensions = [1]}} : i8[{2},{1}]\n"
      "  %u = subtract(%w, %zb) : i8[{2},{1}]\n"
      "  %c = convert(%u) : f32[{2},{1}]\n"
      "  %f = convert(%s) : f32[{4},{1}]\n"
      "  %sb = broadcast_in_dim(%f) {{broadcast_dimensions = [0, 2]}} : f32[{4},{3},{1}]\n"
      "  %sr = reshape(%sb) : f32[{2},{1}]\n"
      "  %v = multiply(%c, %sr) : f32[{2},{1}]\n"
      "  %d = dot_general(%a, %v) {{lhs_contracting_dimensions = [1], "
      "rhs_contracting_dimensions = [0]}} : f32[{0},{1}]\n  return %d\n}}\n",
      m, n, k, block, k / block);
}

}  // namespace

std::vector<FamilyCase> load_cases() {
  return {{"load_of_bf16", two_dots("bf16", 7, 130, 65)},
          {"load_of_bf16_in_many_rows", two_dots("bf16", 131, 100, 67)},
          {"load_of_halves_for_one_row", two_dots("f16", 1, 257, 129)},
          {"load_of_even_sizes", two_dots("bf16", 16, 512, 256)},
          {"load_of_bytes", two_dots("i8", 5, 33, 31)},
          {"load_of_nothing", two_dots("bf16", 3, 5, 0)},
          {"load_of_bf16_by_rows_in_a_batch", R"(graph main(%x: f32[3,5,7], %w: bf16[3,9,7]) {
        %c = convert(%w) : f32[3,9,7]
        %d = dot_general(%x, %c) {lhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_batching_dimensions = [0], rhs_contracting_dimensions = [2]} : f32[3,5,9]
        return %d
      })"},
          {"load_of_bits_of_another_type", R"(graph main(%x: f32[5,7], %w: f16[7,9]) {
        %b = bitcast_convert(%w) : bf16[7,9]
        %c = convert(%b) : f32[7,9]
        %d = dot_general(%x, %c) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,9]
        return %d
      })"},
          {"load_of_part_of_the_rows", R"(graph main(%x: bf16[9,7], %w: f32[7,5]) {
        %s = slice(%x) {limit_indices = [8, 7], start_indices = [2, 0], strides = [2, 1]} : bf16[3,7]
        %c = convert(%s) : f32[3,7]
        %r = reverse(%c) {dimensions = [0]} : f32[3,7]
        %d = dot_general(%r, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[3,5]
        return %d
      })"},
          {"load_beside_an_update", R"(graph main(%x: f32[6,40], %w: bf16[40,50], %y: f32[6,50]) {
        %c = convert(%w) : f32[40,50]
        %d = dot_general(%x, %c) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[6,50]
        %e = subtract(%d, %y) : f32[6,50]
        %g = dot_general(%x, %e) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[40,50]
        %u = subtract(%c, %g) : f32[40,50]
        return %u
      })"},
          {"load_of_zero_points_and_scales", dequantised(5, 33, 48, 8)},
          {"load_of_scales_in_many_rows", dequantised(130, 64, 96, 32)},
          {"load_of_a_padded_image",
           R"(graph main(%x: bf16[2,7,7,3], %w: bf16[3,3,3,5]) {
        %a = convert(%x) : f32[2,7,7,3]
        %b = convert(%w) : f32[3,3,3,5]
        %y = convolution(%a, %b) {input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2], padding = [1, 1, 1, 1]} : f32[2,7,7,5]
        return %y
      })"}};
}

}  // namespace tuff::test
