// reduce_window.
#include "tests/unit/families/cases.h"

namespace tuff::test {

std::vector<FamilyCase> window_cases() {
  return {
      {"window_spread_by_its_gradient", R"(graph main(%x: f32[2,3,5,7]) {
        %z = constant f32[] 0
        %n = negate(%x) : f32[2,3,5,7]
        %w = reduce_window(%n, %z) {base_dilations = [1, 1, 2, 3], padding = [0, 0, 0, 0, 2, 1, 1, 4], window_dimensions = [1, 1, 3, 2]} : f32[2,3,10,23] applies add
        return %w
      })"},
      {"window_with_gaps_and_strides", R"(graph main(%x: i32[5,9]) {
        %l = constant i32[] -2147483648
        %w = reduce_window(%x, %l) {base_dilations = [3, 2], padding = [1, 0, 0, 3], window_dimensions = [5, 2], window_strides = [2, 1]} : i32[5,19] applies maximum
        return %w
      })"},
      {"window_with_gaps_that_count", R"(graph main(%x: f32[5]) {
        %h = constant f32[] 0.5
        %w = reduce_window(%x, %h) {base_dilations = [3], window_dimensions = [4]} : f32[10] applies add
        return %w
      })"},
      {"window_with_two_dilations", R"(graph main(%x: f32[9]) {
        %z = constant f32[] 0
        %w = reduce_window(%x, %z) {base_dilations = [3], window_dilations = [2], window_dimensions = [4]} : f32[19] applies add
        return %w
      })"},

      {"window_max_pool", R"(graph main(%x: f32[2,12,10,5]) {
        %low = constant f32[] -inf
        %r = reduce_window(%x, %low) {window_dimensions = [1, 3, 3, 1], window_strides = [1, 2, 2, 1], padding = [0, 0, 1, 1, 1, 1, 0, 0]} : f32[2,6,5,5] applies maximum
        return %r
      })"},
      {"window_between_elementwise", R"(graph main(%x: f32[3,7,7], %y: f32[3,6,6]) {
        %zero = constant f32[] 0
        %a = abs(%x) : f32[3,7,7]
        %b = add(%a, %x) : f32[3,7,7]
        %r = reduce_window(%b, %zero) {window_dimensions = [1, 2, 2]} : f32[3,6,6] applies add
        %s = multiply(%r, %y) : f32[3,6,6]
        return %s
      })"},
      {"window_sums_from_an_initial_value", R"(graph main(%x: f32[11], %i: f32[]) {
        %r = reduce_window(%x, %i) {window_dimensions = [5], padding = [3, 2], window_strides = [3]} : f32[4] applies add
        return %r
      })"},
      {"window_cumulative_sum", R"(graph main(%x: f32[3,37]) {
        %zero = constant f32[] 0
        %e = negate(%x) : f32[3,37]
        %r = reduce_window(%e, %zero) {window_dimensions = [1, 37], padding = [0, 0, 36, 0]} : f32[3,37] applies add
        return %r
      })"},
      {"scan_of_a_long_row_with_work_around_it", R"(graph main(%x: f32[1,1031], %y: f32[1,1031]) {
        %z = constant f32[] 3
        %a = abs(%x) : f32[1,1031]
        %r = reduce_window(%a, %z) {window_dimensions = [1, 1031], padding = [0, 0, 1030, 0]} : f32[1,1031] applies add
        %t = multiply(%r, %y) : f32[1,1031]
        return %t, %r
      })"},
      {"scan_by_a_body_of_several_operations", R"(graph main(%x: i32[2,1031]) {
        %zero = constant i32[] 0
        %r = reduce_window(%x, %zero) {window_dimensions = [1, 1031], padding = [0, 0, 1030, 0]} : i32[2,1031] graph modular(%a: i32[], %b: i32[]) {
          %s = add(%a, %b) : i32[]
          %m = constant i32[] 65535
          %r = and(%s, %m) : i32[]
          return %r
        }
        return %r
      })"},
      {"scan_backwards_in_columns", R"(graph main(%x: i32[307,5]) {
        %z = constant i32[] -9
        %r = reduce_window(%x, %z) {window_dimensions = [307, 1], padding = [0, 306, 0, 0]} : i32[307,5] applies maximum
        return %r
      })"},
      {"scan_of_many_rows_in_chunks", R"(graph main(%x: f16[3,128,2]) {
        %z = constant f16[] 0
        %r = reduce_window(%x, %z) {window_dimensions = [1, 128, 1], padding = [0, 0, 127, 0, 0, 0]} : f16[3,128,2] applies add
        return %r
      })"},
      {"scan_that_does_not_commute", R"(graph main(%x: f32[83]) {
        %z = constant f32[] 1
        %r = reduce_window(%x, %z) {window_dimensions = [83], padding = [82, 0]} : f32[83] graph (%a: f32[], %b: f32[]) {
          return %b
        }
        %s = reduce_window(%x, %z) {window_dimensions = [83], padding = [0, 82]} : f32[83] graph (%a: f32[], %b: f32[]) {
          return %a
        }
        return %r, %s
      })"},
      {"scan_of_two", R"(graph main(%x: f32[2,67], %i: i32[2,67]) {
        %z = constant f32[] 0
        %o = constant i32[] 0
        %r:2 = reduce_window(%x, %i, %z, %o) {window_dimensions = [1, 67], padding = [0, 0, 66, 0]} : f32[2,67], i32[2,67] graph (%a: f32[], %p: i32[], %b: f32[], %q: i32[]) {
          %c = compare(%a, %b) {comparison_direction = "GE"} : i1[]
          %m = select(%c, %a, %b) : f32[]
          %n = select(%c, %p, %q) : i32[]
          return %m, %n
        }
        return %r#0, %r#1
      })"},
      {"window_cumulative_backwards", R"(graph main(%x: i32[19,2]) {
        %one = constant i32[] 1
        %r = reduce_window(%x, %one) {window_dimensions = [19, 1], padding = [0, 18, 0, 0]} : i32[19,2] applies multiply
        return %r
      })"},
      {"window_dilated", R"(graph main(%x: f32[13,5]) {
        %zero = constant f32[] 0
        %r = reduce_window(%x, %zero) {window_dimensions = [3, 2], window_dilations = [4, 2], window_strides = [2, 1]} : f32[3,3] applies add
        return %r
      })"},
      {"window_over_dilated_base", R"(graph main(%x: f32[5,4], %i: f32[]) {
        %r = reduce_window(%x, %i) {window_dimensions = [3, 2], base_dilations = [3, 2], padding = [2, 1, 0, 3]} : f32[14,9] applies minimum
        return %r
      })"},
      {"window_negative_padding", R"(graph main(%x: f32[9]) {
        %zero = constant f32[] 0
        %r = reduce_window(%x, %zero) {window_dimensions = [2], padding = [-2, -1]} : f32[5] applies add
        return %r
      })"},
      {"window_any", R"(graph main(%x: i1[7,6]) {
        %no = constant i1[] false
        %r = reduce_window(%x, %no) {window_dimensions = [3, 3]} : i1[5,4] applies or
        return %r
      })"},
      {"window_of_two_inputs", R"(graph main(%x: f32[23], %k: i32[23], %i: f32[], %j: i32[]) {
        %r:2 = reduce_window(%x, %k, %i, %j) {window_dimensions = [4], window_strides = [2], padding = [1, 2]} : f32[12], i32[12] graph (%a: f32[], %b: i32[], %c: f32[], %d: i32[]) {
          %p = compare(%a, %c) {comparison_direction = "GE"} : i1[]
          %v = select(%p, %a, %c) : f32[]
          %w = select(%p, %b, %d) : i32[]
          return %v, %w
        }
        return %r#0, %r#1
      })"},
      {"window_of_one", R"(graph main(%x: f32[1], %s: f32[]) {
        %r = reduce_window(%x, %s) {window_dimensions = [1]} : f32[1] applies add
        %t = reduce_window(%s, %s) {window_dimensions = []} : f32[] applies add
        return %r, %t
      })"},
      {"window_over_nothing", R"(graph main(%x: f32[0,3], %i: f32[]) {
        %r = reduce_window(%x, %i) {window_dimensions = [2, 1], padding = [1, 3, 0, 0]} : f32[3,3] applies add
        return %r
      })"},
      {"window_with_no_results", R"(graph main(%x: f32[2], %i: f32[], %y: f32[3]) {
        %r = reduce_window(%x, %i) {window_dimensions = [5]} : f32[0] applies add
        %s = negate(%y) : f32[3]
        return %r, %s
      })"},
      {"window_over_a_view", R"(graph main(%x: f32[4,6]) {
        %zero = constant f32[] 0
        %t = transpose(%x) {permutation = [1, 0]} : f32[6,4]
        %r = reduce_window(%t, %zero) {window_dimensions = [2, 4]} : f32[5,1] applies add
        %q = reshape(%r) : f32[5]
        %n = negate(%q) : f32[5]
        return %n
      })"},
  };
}

}  // namespace tuff::test
