// Contractions and what follows them: what our CPU gives to a library, with the
// epilogue before, in and after its post-ops.
#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// A convolution's attributes: NHWC x HWIO unless the dimension numbers say otherwise.
std::string convolution(const std::string& more) {
  return R"({input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2])" +
         more + "}";
}

std::vector<FamilyCase> dots() {
  return {
      {"dot_bias_residual", R"(graph main(%x: f32[5,7], %w: f32[7,9], %b: f32[9], %r: f32[5,9]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,9]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [1]} : f32[5,9]
        %s = add(%d, %v) : f32[5,9]
        %t = add(%r, %s) : f32[5,9]
        return %t
      })"},
      {"dot_bias_then_square", R"(graph main(%x: f32[5,7], %w: f32[7,9], %b: f32[9]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,9]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [1]} : f32[5,9]
        %s = subtract(%d, %v) : f32[5,9]
        %t = multiply(%s, %s) : f32[5,9]
        return %t
      })"},
      {"dot_per_row_and_reversed_subtract",
       R"(graph main(%x: f32[5,7], %w: f32[7,9], %b: f32[5], %c: f32[9]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,9]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [0]} : f32[5,9]
        %s = add(%d, %v) : f32[5,9]
        %u = broadcast_in_dim(%c) {broadcast_dimensions = [1]} : f32[5,9]
        %t = subtract(%u, %s) : f32[5,9]
        return %t
      })"},
      {"dot_square_rows_and_columns_differ",
       R"(graph main(%x: f32[6,7], %w: f32[7,6], %b: f32[6], %r: f32[6,6]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[6,6]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [0]} : f32[6,6]
        %s = multiply(%d, %v) : f32[6,6]
        %q = transpose(%r) {permutation = [1, 0]} : f32[6,6]
        %t = add(%s, %q) : f32[6,6]
        return %t
      })"},
      {"dot_of_a_vector_whose_columns_are_in_two_places",
       R"(graph main(%w: f32[7], %k: f32[3,7,5], %y: f32[3,5], %c: f32[5]) {
        %d = dot_general(%w, %k) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]} : f32[3,5]
        %s = add(%y, %d) : f32[3,5]
        %v = broadcast_in_dim(%c) {broadcast_dimensions = [1]} : f32[3,5]
        %t = multiply(%s, %v) : f32[3,5]
        return %t
      })"},
      {"dot_part_of_a_longer_bias", R"(graph main(%x: f32[2,3,7], %w: f32[7,9], %b: f32[20]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]} : f32[2,3,9]
        %p = slice(%b) {limit_indices = [14], start_indices = [5], strides = [1]} : f32[9]
        %v = broadcast_in_dim(%p) {broadcast_dimensions = [2]} : f32[2,3,9]
        %s = add(%d, %v) : f32[2,3,9]
        return %s
      })"},
      {"dot_used_twice", R"(graph main(%x: f32[5,7], %w: f32[7,9], %b: f32[9]) {
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[5,9]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [1]} : f32[5,9]
        %s = add(%d, %v) : f32[5,9]
        %t = multiply(%s, %d) : f32[5,9]
        return %s, %t
      })"},
      {"dot_transposed_update", R"(graph main(%x: f32[11,7], %g: f32[11,9], %w: f32[7,9]) {
        %d = dot_general(%g, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[9,7]
        %t = transpose(%d) {permutation = [1, 0]} : f32[7,9]
        %u = add(%t, %t) : f32[7,9]
        %n = subtract(%w, %u) : f32[7,9]
        return %n
      })"},
      {"dot_heads_with_bias", R"(graph main(%x: f32[2,5,3,4], %y: f32[2,6,3,4], %b: f32[6]) {
        %d = dot_general(%x, %y) {lhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_batching_dimensions = [0, 2], rhs_contracting_dimensions = [3]} : f32[2,3,5,6]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [3]} : f32[2,3,5,6]
        %s = add(%d, %v) : f32[2,3,5,6]
        return %s
      })"}};
}

std::vector<FamilyCase> convolutions() {
  return {
      {"convolution_normalised",
       R"(graph main(%x: f32[2,5,6,3], %w: f32[3,3,3,4], %m: f32[4], %s: f32[4], %b: f32[4], %r: f32[2,5,6,4]) {
        %c = convolution(%x, %w) )" +
           convolution(", padding = [1, 1, 1, 1]") + R"( : f32[2,5,6,4]
        %mm = broadcast_in_dim(%m) {broadcast_dimensions = [3]} : f32[2,5,6,4]
        %d = subtract(%c, %mm) : f32[2,5,6,4]
        %ss = broadcast_in_dim(%s) {broadcast_dimensions = [3]} : f32[2,5,6,4]
        %e = multiply(%d, %ss) : f32[2,5,6,4]
        %bb = broadcast_in_dim(%b) {broadcast_dimensions = [3]} : f32[2,5,6,4]
        %f = add(%e, %bb) : f32[2,5,6,4]
        %g = add(%f, %r) : f32[2,5,6,4]
        %z = constant f32[] 0
        %zz = broadcast_in_dim(%z) {broadcast_dimensions = []} : f32[2,5,6,4]
        %h = maximum(%g, %zz) : f32[2,5,6,4]
        return %h
      })"},
      {"convolution_leaves_a_rest", R"(graph main(%x: f32[1,8,8,3], %w: f32[1,1,3,4]) {
        %c = convolution(%x, %w) )" + convolution(", window_strides = [2, 3]") +
                                        R"( : f32[1,4,3,4]
        return %c
      })"},
      {"convolution_input_gradient",
       R"(graph main(%g: f32[2,4,5,4], %w: f32[3,3,6,4]) {
        %k = reverse(%w) {dimensions = [0, 1]} : f32[3,3,6,4]
        %t = transpose(%k) {permutation = [0, 1, 3, 2]} : f32[3,3,4,6]
        %c = convolution(%g, %t) )" +
           convolution(", lhs_dilation = [2, 2], padding = [1, 2, 1, 1]") +
           R"( : f32[2,8,9,6]
        return %c
      })"},
      {"convolution_weight_gradient",
       R"(graph main(%x: f32[2,8,9,3], %g: f32[2,4,5,6], %w: f32[3,3,3,6]) {
        %c = convolution(%x, %g) {rhs_dilation = [2, 2], padding = [0, 1, 1, 1], input_batch_dimension = 3, input_feature_dimension = 0, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [1, 2], output_batch_dimension = 2, output_feature_dimension = 3, output_spatial_dimensions = [0, 1]} : f32[3,3,3,6]
        %n = subtract(%w, %c) : f32[3,3,3,6]
        return %n
      })"},
      {"convolution_one_pixel_weight_gradient",
       R"(graph main(%x: f32[2,5,7,3], %g: f32[2,5,7,6], %w: f32[1,1,3,6], %b: f32[6]) {
        %c = convolution(%x, %g) {input_batch_dimension = 3, input_feature_dimension = 0, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [1, 2], output_batch_dimension = 2, output_feature_dimension = 3, output_spatial_dimensions = [0, 1]} : f32[1,1,3,6]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [3]} : f32[1,1,3,6]
        %d = add(%c, %v) : f32[1,1,3,6]
        %n = subtract(%w, %d) : f32[1,1,3,6]
        return %n
      })"},
      {"convolution_one_pixel_weight_gradient_channels_first",
       R"(graph main(%x: f32[2,3,5,7], %g: f32[2,6,5,7], %b: f32[6]) {
        %c = convolution(%x, %g) {input_batch_dimension = 1, input_feature_dimension = 0, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 1, output_feature_dimension = 0, output_spatial_dimensions = [2, 3]} : f32[6,3,1,1]
        %v = broadcast_in_dim(%b) {broadcast_dimensions = [0]} : f32[6,3,1,1]
        %d = add(%c, %v) : f32[6,3,1,1]
        return %d
      })"},
      {"convolution_one_window_of_one_image",
       R"(graph main(%x: bf16[1,3,5,7], %w: bf16[6,3,5,7]) {
        %c = convolution(%x, %w) {input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]} : bf16[1,6,1,1]
        return %c
      })"}};
}

}  // namespace

// Of exponentials and sums over nothing that repeats, which are no softmax; of zeros that
// the compiler of the kernel sees.
std::vector<FamilyCase> quotients() {
  return {{"quotient_of_zeros", R"(graph main(%x: f32[5], %w: f32[5,5]) {
        %zero = constant f32[] 0
        %minus = constant f32[] -0
        %z = broadcast_in_dim(%zero) {broadcast_dimensions = []} : f32[5]
        %m = broadcast_in_dim(%minus) {broadcast_dimensions = []} : f32[5]
        %a = divide(%x, %z) : f32[5]
        %b = divide(%x, %m) : f32[5]
        %d = dot_general(%x, %w) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[5]
        %c = divide(%d, %z) : f32[5]
        %e = multiply(%a, %z) : f32[5]
        return %a, %b, %c, %e
      })"},
          {"quotient_of_scalars", R"(graph main(%x: f32[5], %y: f32[]) {
        %zero = constant f32[] 0
        %e = exponential(%y) : f32[]
        %s = reduce(%x, %zero) {dimensions = [0]} : f32[] applies add
        %q = divide(%e, %s) : f32[]
        return %q
      })"}};
}

std::vector<FamilyCase> library_cases() {
  std::vector<FamilyCase> cases = dots();
  for (FamilyCase& c : convolutions()) cases.push_back(std::move(c));
  for (FamilyCase& c : quotients()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace tuff::test
