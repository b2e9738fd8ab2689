// dynamic_update_slice, optimization_barrier, bitcast_convert between widths.
#include "tests/unit/families/cases.h"

namespace tuff::test {

std::vector<FamilyCase> update_cases() {
  return {
      {"update_clamps_starts", R"(graph main(%x: f32[7,5], %u: f32[3,2], %i: i32[], %j: i32[]) {
        %r = dynamic_update_slice(%x, %u, %i, %j) : f32[7,5]
        return %r
      })"},
      {"update_start_below_zero", R"(graph main(%x: f32[11], %u: f32[4]) {
        %i = constant i32[] -5
        %r = dynamic_update_slice(%x, %u, %i) : f32[11]
        return %r
      })"},
      {"update_narrow_start", R"(graph main(%x: f32[301], %u: f32[1], %i: i8[]) {
        %r = dynamic_update_slice(%x, %u, %i) : f32[301]
        return %r
      })"},
      {"update_unsigned_start", R"(graph main(%x: f32[9], %u: f32[2], %i: ui32[]) {
        %r = dynamic_update_slice(%x, %u, %i) : f32[9]
        return %r
      })"},
      {"update_of_nothing", R"(graph main(%x: f32[5], %u: f32[0], %i: i32[]) {
        %r = dynamic_update_slice(%x, %u, %i) : f32[5]
        return %r
      })"},
      {"update_of_everything_in_one_dimension",
       R"(graph main(%x: f32[2,7,3], %u: f32[2,1,3], %i: i32[], %z: i32[]) {
        %r = dynamic_update_slice(%x, %u, %z, %i, %z) : f32[2,7,3]
        return %r
      })"},
      {"update_between_elementwise", R"(graph main(%x: f32[7,5], %u: f32[2,5], %i: i32[]) {
        %y = negate(%x) : f32[7,5]
        %v = abs(%u) : f32[2,5]
        %k = add(%i, %i) : i32[]
        %z = constant i32[] 0
        %r = dynamic_update_slice(%y, %v, %k, %z) : f32[7,5]
        %s = add(%r, %x) : f32[7,5]
        return %s, %r
      })"},
      {"update_of_a_view", R"(graph main(%x: f32[6,4], %u: f32[4,3], %i: i32[]) {
        %t = transpose(%u) {permutation = [1, 0]} : f32[3,4]
        %z = constant i32[] 0
        %r = dynamic_update_slice(%x, %t, %i, %z) : f32[6,4]
        %q = transpose(%r) {permutation = [1, 0]} : f32[4,6]
        return %q
      })"},
      {"update_from_an_iota", R"(graph main(%x: i32[40], %i: i32[]) {
        %k = iota() {iota_dimension = 0} : i32[20]
        %two = multiply(%k, %k) : i32[20]
        %r = dynamic_update_slice(%x, %two, %i) : i32[40]
        return %r
      })"},
      {"updates_of_a_ring",
       R"(graph main(%x: f32[5,3], %u: f32[1,3], %v: f32[1,3], %i: i32[], %j: i32[]) {
        %z = constant i32[] 0
        %a = dynamic_update_slice(%x, %u, %i, %z) : f32[5,3]
        %b = dynamic_update_slice(%a, %v, %j, %z) : f32[5,3]
        %c = dynamic_slice(%b, %i, %z) {slice_sizes = [1, 3]} : f32[1,3]
        return %b, %c
      })"},
      {"barrier", R"(graph main(%x: f32[6], %y: i32[3]) {
        %a = negate(%x) : f32[6]
        %b:2 = optimization_barrier(%a, %y) : f32[6], i32[3]
        %c = add(%b#0, %x) : f32[6]
        return %c, %b#1
      })"},
      {"bits_narrower", R"(graph main(%x: f32[3,5]) {
        %r = bitcast_convert(%x) : ui8[3,5,4]
        %s = bitcast_convert(%x) : i16[3,5,2]
        return %r, %s
      })"},
      {"bits_wider", R"(graph main(%x: ui8[3,4], %y: i16[7,2]) {
        %r = bitcast_convert(%x) : i32[3]
        %s = bitcast_convert(%y) : ui32[7]
        %t = add(%r, %r) : i32[3]
        return %t, %s
      })"},
  };
}

}  // namespace tuff::test
