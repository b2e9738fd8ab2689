// Reduces whose rows are few and long, in one kernel or split into parts: batch norm and its
// gradients, sums over a batch.
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

}  // namespace

std::vector<FamilyCase> rows_cases() {
  return {two_levels("of_an_image", "5,13,11,48", "48", "0, 1, 2", "3"),
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
      })"}};
}

}  // namespace tuff::test
