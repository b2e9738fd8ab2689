// Reduces whose rows are few and long, in one kernel or split into parts: batch norm and its
// gradients, sums over a batch. And those whose rows are short and many.
#include <algorithm>

#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// x of `shape` (its last dimension `c`), reduced over the others in two levels, with an output
// of every point and one of every row.
FamilyCase two_levels(const std::string& name, const std::string& shape, const std::string& c,
                      const std::string& dimensions, const std::string& last) {
  std::string full = "f32[" + shape + "]", row = "f32[" + c + "]";
  std::string spread = "{broadcast_dimensions = [" + last + "]} : " + full;
  std::string over = "{dimensions = [" + dimensions + "]} : " + row;
  return {"rows_" + name, "graph main(%x: " + full + ", %w: " + row + ") {" + R"(
        %zero = constant f32[] 0
        %three = constant f32[] 3
        %s = reduce(%x, %three) )" +
                              over + R"( applies add
        %m = add(%s, %w) : )" +
                              row + R"(
        %b = broadcast_in_dim(%m) )" +
                              spread + R"(
        %d = subtract(%x, %b) : )" +
                              full + R"(
        %q = reduce(%d, %zero) )" +
                              over + R"( applies add
        %h = reduce(%d, %three) )" +
                              over + R"( applies maximum
        %r = add(%q, %h) : )" +
                              row + R"(
        %e = broadcast_in_dim(%r) )" +
                              spread + R"(
        %y = add(%d, %e) : )" +
                              full + R"(
        return %y, %r
      })"};
}

// x of `shape` + `columns`, reduced over the last dimension: where the greatest element stands, the
// first of equals.
FamilyCase greatest(const std::string& name, const std::string& shape, const std::string& columns) {
  std::string full = "[" + shape + "," + columns + "]", row = "[" + shape + "]";
  std::string last = std::to_string(std::count(shape.begin(), shape.end(), ',') + 1);
  return {"rows_greatest_" + name, "graph main(%x: i32" + full + R"() {
        %low = constant i32[] -2147483648
        %none = constant i32[] 0
        %i = iota() {iota_dimension = )" +
                                       last + "} : i32" + full + R"(
        %r:2 = reduce(%x, %i, %low, %none) {dimensions = [)" +
                                       last + "]} : i32" + row + ", i32" + row +
                                       R"( graph (%a: i32[], %b: i32[], %c: i32[], %d: i32[]) {
          %more = compare(%a, %c) {comparison_direction = "GT"} : i1[]
          %same = compare(%a, %c) {comparison_direction = "EQ"} : i1[]
          %first = compare(%b, %d) {comparison_direction = "LT"} : i1[]
          %tie = and(%same, %first) : i1[]
          %keep = or(%more, %tie) : i1[]
          %v = select(%keep, %a, %c) : i32[]
          %w = select(%keep, %b, %d) : i32[]
          return %v, %w
        }
        return %r#0, %r#1
      })"};
}

// Sums of products over the last dimension.
FamilyCase dots(const std::string& name, const std::string& shape, const std::string& columns) {
  std::string full = "f32[" + shape + "," + columns + "]", row = "f32[" + shape + "]";
  std::string last = std::to_string(std::count(shape.begin(), shape.end(), ',') + 1);
  return {"rows_dots_" + name, "graph main(%x: " + full + ", %w: f32[" + columns + "]) {" + R"(
        %one = constant f32[] 1
        %b = broadcast_in_dim(%w) {broadcast_dimensions = [)" +
                                   last + "]} : " + full + R"(
        %p = multiply(%x, %b) : )" +
                                   full + R"(
        %s = reduce(%p, %one) {dimensions = [)" +
                                   last + "]} : " + row + R"( applies add
        return %s
      })"};
}

}  // namespace

std::vector<FamilyCase> rows_cases() {
  return {greatest("of_20", "1031", "20"),
          greatest("of_1", "7,3", "1"),
          greatest("of_300", "5,11,3", "300"),
          greatest("of_rows_in_planes", "3,2,401,5", "3"),
          dots("of_3", "2053", "3"),
          dots("of_pairs", "601,2", "2"),
          dots("of_150", "2,3,5", "150"),
          dots("of_none", "9", "0"),
          dots("of_no_rows", "0", "3"),
          dots("long", "1", "65537"),
          dots("few_and_long", "3", "70001"),
          two_levels("of_few_lanes_each", "1201,3,2", "2", "0, 1", "2"),
          {"rows_of_columns_beside_two", R"(graph main(%x: f32[1201,7,2]) {
        %zero = constant f32[] 0
        %s = reduce(%x, %zero) {dimensions = [1]} : f32[1201,2] applies add
        %b = broadcast_in_dim(%s) {broadcast_dimensions = [0, 2]} : f32[1201,7,2]
        %d = subtract(%x, %b) : f32[1201,7,2]
        return %d
      })"},
          {"rows_of_differences", R"(graph main(%x: f32[37,3], %y: f32[701,3]) {
        %zero = constant f32[] 0
        %a = broadcast_in_dim(%x) {broadcast_dimensions = [0, 2]} : f32[37,701,3]
        %b = broadcast_in_dim(%y) {broadcast_dimensions = [1, 2]} : f32[37,701,3]
        %d = subtract(%a, %b) : f32[37,701,3]
        %q = multiply(%d, %d) : f32[37,701,3]
        %s = reduce(%q, %zero) {dimensions = [2]} : f32[37,701] applies add
        return %s
      })"},
          {"rows_long_in_two_levels", R"(graph main(%x: f32[2,65543]) {
        %low = constant f32[] -inf
        %zero = constant f32[] 0
        %m = reduce(%x, %low) {dimensions = [1]} : f32[2] applies maximum
        %b = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : f32[2,65543]
        %d = subtract(%b, %x) : f32[2,65543]
        %s = reduce(%d, %zero) {dimensions = [1]} : f32[2] applies maximum
        %c = broadcast_in_dim(%s) {broadcast_dimensions = [0]} : f32[2,65543]
        %y = add(%d, %c) : f32[2,65543]
        return %y, %s
      })"},
          two_levels("of_an_image", "5,13,11,48", "48", "0, 1, 2", "3"),
          two_levels("narrow_of_a_prime_length", "2053,16", "16", "0", "1"),
          two_levels("that_fill_half_the_lanes", "1,263,256", "256", "0, 1", "2"),
          two_levels("of_a_prime_length", "131,307", "307", "0", "1"),
          two_levels("in_two_blocks", "67,769", "769", "0", "1"),
          two_levels("of_one_lane", "40009,1", "1", "0", "1"),
          two_levels("short", "3,7", "7", "0", "1"),
          two_levels("empty", "0,5", "5", "0", "1"),
          {"rows_between_others", R"(graph main(%x: f32[3,211,5,17], %w: f32[3,5,17]) {
        %zero = constant f32[] 0
        %s = reduce(%x, %zero) {dimensions = [1]} : f32[3,5,17] applies add
        %t = multiply(%s, %w) : f32[3,5,17]
        return %t
      })"},
          {"rows_of_sums_transposed", R"(graph main(%x: f32[33,1201], %y: f32[33]) {
        %zero = constant f32[] 0
        %t = transpose(%x) {permutation = [1, 0]} : f32[1201,33]
        %s = reduce(%t, %zero) {dimensions = [0]} : f32[33] applies add
        %d = subtract(%y, %s) : f32[33]
        return %d
      })"},
          {"rows_rounded", R"(graph main(%x: bf16[1031,40]) {
        %zero = constant bf16[] 0
        %s = reduce(%x, %zero) {dimensions = [0]} : bf16[40] applies add
        %b = broadcast_in_dim(%s) {broadcast_dimensions = [1]} : bf16[1031,40]
        %y = add(%x, %b) : bf16[1031,40]
        return %y, %s
      })"},
          {"rows_of_integers", R"(graph main(%x: i32[1031,40], %i: i32[]) {
        %s = reduce(%x, %i) {dimensions = [0]} : i32[40] applies minimum
        %b = broadcast_in_dim(%s) {broadcast_dimensions = [1]} : i32[1031,40]
        %y = multiply(%x, %b) : i32[1031,40]
        return %y
      })"},
          {"rows_of_two_types", R"(graph main(%x: f32[1031,40]) {
        %zero = constant f32[] 0
        %none = constant i32[] 0
        %s = reduce(%x, %zero) {dimensions = [0]} : f32[40] applies add
        %c = convert(%x) : i32[1031,40]
        %n = reduce(%c, %none) {dimensions = [0]} : i32[40] applies maximum
        return %s, %n
      })"},
          // Columns that are spelled out, in a result whose lines are no whole words.
          {"rows_of_few_columns_into_longer_lines", R"(graph main(%x: f32[4,64], %z: f32[4,65]) {
        %zero = constant f32[] 0
        %at = constant i32[] 0
        %s = reduce(%x, %zero) {dimensions = [0]} : f32[64] applies add
        %b = broadcast_in_dim(%s) {broadcast_dimensions = [1]} : f32[4,64]
        %d = subtract(%x, %b) : f32[4,64]
        %r = dynamic_update_slice(%z, %d, %at, %at) : f32[4,65]
        return %r
      })"}};
}

}  // namespace tuff::test
