// select_and_scatter, sort and top_k.
#include "tests/unit/families/cases.h"

namespace tuff::test {

std::vector<FamilyCase> sort_cases() {
  return {
      {"select_max_pool_gradient", R"(graph main(%x: f32[2,7,6,3], %s: f32[2,4,3,3]) {
        %zero = constant f32[] 0
        %r = select_and_scatter(%x, %s, %zero) {window_dimensions = [1, 3, 3, 1], window_strides = [1, 2, 2, 1], padding = [0, 0, 1, 1, 1, 0, 0, 0]} : f32[2,7,6,3] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "GE"} : i1[]
          return %p
        } applies add
        %t = negate(%r) : f32[2,7,6,3]
        return %t
      })"},
      {"select_with_gaps_and_an_initial_value", R"(graph main(%x: f32[11], %s: f32[4], %i: f32[]) {
        %r = select_and_scatter(%x, %s, %i) {window_dimensions = [2], window_strides = [3]} : f32[11] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %p
        } applies add
        return %r
      })"},
      {"select_in_long_windows", R"(graph main(%x: f32[40], %s: f32[20]) {
        %zero = constant f32[] 0
        %r = select_and_scatter(%x, %s, %zero) {window_dimensions = [21]} : f32[40] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "GT"} : i1[]
          return %p
        } applies add
        return %r
      })"},
      // The last column of each window lies outside of both parts.
      {"select_from_two_parts_and_padding",
       R"(graph main(%x: i32[5,1], %y: i32[5,1], %s: i32[3,1]) {
        %zero = constant i32[] 0
        %c = concatenate(%x, %y) {dimension = 1} : i32[5,2]
        %r = select_and_scatter(%c, %s, %zero) {window_dimensions = [2, 3], window_strides = [3, 2], padding = [2, 1, 0, 2]} : i32[5,2] graph (%a: i32[], %b: i32[]) {
          %ge = compare(%a, %b) {comparison_direction = "GE"} : i1[]
          return %ge
        } applies add
        return %r
      })"},
      {"select_from_no_window", R"(graph main(%x: f32[1,3], %s: f32[0,3], %i: f32[]) {
        %r = select_and_scatter(%x, %s, %i) {window_dimensions = [2, 1]} : f32[1,3] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "GE"} : i1[]
          return %p
        } applies add
        return %r
      })"},
      {"sort_rows", R"(graph main(%x: f32[3,37]) {
        %r = sort(%x) {dimension = 1, is_stable = 1} : f32[3,37] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %p
        }
        %t = negate(%r) : f32[3,37]
        return %t
      })"},
      {"sort_columns_with_a_second_input", R"(graph main(%x: i32[11,2], %k: f32[11,2]) {
        %r:2 = sort(%x, %k) {dimension = 0, is_stable = 1} : i32[11,2], f32[11,2] graph (%a: i32[], %b: i32[], %c: f32[], %d: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "GT"} : i1[]
          return %p
        }
        return %r#0, %r#1
      })"},
      {"sort_by_an_argument", R"(graph main(%x: f32[23]) {
        %i = iota() {iota_dimension = 0} : i32[23]
        %y = abs(%x) : f32[23]
        %r:2 = sort(%y, %i) {dimension = 0, is_stable = 1} : f32[23], i32[23] graph (%a: f32[], %b: f32[], %c: i32[], %d: i32[]) {
          %p = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %p
        }
        return %r#1
      })"},
      {"sort_long_rows", R"(graph main(%x: i32[3,211]) {
        %i = iota() {iota_dimension = 1} : i32[3,211]
        %r:2 = sort(%x, %i) {dimension = 1, is_stable = 1} : i32[3,211], i32[3,211] graph (%a: i32[], %b: i32[], %c: i32[], %d: i32[]) {
          %p = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %p
        }
        %t = negate(%r#1) : i32[3,211]
        return %r#0, %t
      })"},
      {"sort_long_columns_backwards", R"(graph main(%x: f32[1000,2], %k: i32[1000,2]) {
        %r:2 = sort(%x, %k) {dimension = 0, is_stable = 1} : f32[1000,2], i32[1000,2] graph (%a: f32[], %b: f32[], %c: i32[], %d: i32[]) {
          %e = compare(%a, %b) {comparison_direction = "EQ"} : i1[]
          %g = compare(%a, %b) {comparison_direction = "GT"} : i1[]
          %h = compare(%c, %d) {comparison_direction = "LT"} : i1[]
          %p = select(%e, %h, %g) : i1[]
          return %p
        }
        return %r#0, %r#1
      })"},
      {"sort_a_full_pair_of_runs", R"(graph main(%x: f32[128]) {
        %r = sort(%x) {dimension = 0, is_stable = 1} : f32[128] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "GT"} : i1[]
          return %p
        }
        return %r
      })"},
      {"top_of_a_long_row", R"(graph main(%x: f32[2,517]) {
        %r:2 = top_k(%x) {k = 7} : f32[2,7], i32[2,7]
        return %r#0, %r#1
      })"},
      {"sort_one", R"(graph main(%x: f32[4,1]) {
        %r = sort(%x) {dimension = 1} : f32[4,1] graph (%a: f32[], %b: f32[]) {
          %p = compare(%a, %b) {comparison_direction = "LT"} : i1[]
          return %p
        }
        return %r
      })"},
      {"top_k_rows", R"(graph main(%x: f32[3,37]) {
        %r:2 = top_k(%x) {k = 5} : f32[3,5], i32[3,5]
        return %r#0, %r#1
      })"},
      // Many equals: the first ones come first, in every chunk of a row.
      {"top_k_of_equals", R"(graph main(%x: i32[3,1009]) {
        %two = constant i32[] 2
        %t = broadcast_in_dim(%two) {broadcast_dimensions = []} : i32[3,1009]
        %m = remainder(%x, %t) : i32[3,1009]
        %r:2 = top_k(%m) {k = 40} : i32[3,40], i32[3,40]
        return %r#0, %r#1
      })"},
      {"top_k_of_ascending_rows", R"(graph main(%x: f32[2,3,1]) {
        %i = iota() {iota_dimension = 2} : f32[2,3,701]
        %b = broadcast_in_dim(%x) {broadcast_dimensions = [0, 1, 2]} : f32[2,3,701]
        %s = add(%i, %b) : f32[2,3,701]
        %r:2 = top_k(%s) {k = 3} : f32[2,3,3], i32[2,3,3]
        %n = negate(%r#0) : f32[2,3,3]
        return %n, %r#1
      })"},
      {"top_one_of_columns", R"(graph main(%x: f16[301,5]) {
        %t = transpose(%x) {permutation = [1, 0]} : f16[5,301]
        %r:2 = top_k(%t) {k = 1} : f16[5,1], i32[5,1]
        return %r#0, %r#1
      })"},
      // Rows so long that the first few are selected; numbers that equal each other, and none.
      {"top_k_selected", R"(graph main(%x: f32[3,2,1031]) {
        %nan = constant f32[] nan
        %zero = constant f32[] 0
        %minus = constant f32[] -0
        %high = constant f32[] 1.25
        %n = broadcast_in_dim(%nan) {broadcast_dimensions = []} : f32[3,2,1031]
        %o = broadcast_in_dim(%zero) {broadcast_dimensions = []} : f32[3,2,1031]
        %m = broadcast_in_dim(%minus) {broadcast_dimensions = []} : f32[3,2,1031]
        %h = broadcast_in_dim(%high) {broadcast_dimensions = []} : f32[3,2,1031]
        %f = floor(%x) : f32[3,2,1031]
        %p0 = compare(%f, %h) {comparison_direction = "GT"} : i1[3,2,1031]
        %a = select(%p0, %n, %f) : f32[3,2,1031]
        %p1 = compare(%x, %o) {comparison_direction = "LT"} : i1[3,2,1031]
        %b = select(%p1, %m, %a) : f32[3,2,1031]
        %r:2 = top_k(%b) {k = 128} : f32[3,2,128], i32[3,2,128]
        %s:2 = top_k(%x) {k = 3} : f32[3,2,3], i32[3,2,3]
        return %r#0, %r#1, %s#0, %s#1
      })"},
      {"top_k_selected_of_narrow_types",
       R"(graph main(%y: ui8[2,1333], %z: bf16[1,2048], %v: i64[2,1024]) {
        %b:2 = top_k(%y) {k = 100} : ui8[2,100], i32[2,100]
        %c:2 = top_k(%z) {k = 1} : bf16[1,1], i32[1,1]
        %e:2 = top_k(%v) {k = 7} : i64[2,7], i32[2,7]
        return %b#0, %b#1, %c#0, %c#1, %e#0, %e#1
      })"},
      {"top_k_of_bytes", R"(graph main(%x: ui8[2,333]) {
        %r:2 = top_k(%x) {k = 100} : ui8[2,100], i32[2,100]
        return %r#0, %r#1
      })"},
      {"top_k_of_everything", R"(graph main(%x: i32[11]) {
        %r:2 = top_k(%x) {k = 11} : i32[11], i32[11]
        return %r#0, %r#1
      })"},
  };
}

}  // namespace tuff::test
