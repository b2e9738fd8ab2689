// scatter: few index vectors (each element's owner looks at them) and many.
#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

std::string scatter_at_computed_indices(int64_t count) {
  const std::string n = std::to_string(count);
  auto component = [&](const std::string& from, const std::string& to, const std::string& size) {
    return "%z" + to + " = constant i32[" + n + "] 0\n%n" + to + " = constant i32[" + n + "] " +
           size + "\n%l" + to + " = compare(" + from + ", %z" + to +
           ") {comparison_direction = \"LT\"} : i1[" + n + "]\n%a" + to + " = add(" + from +
           ", %n" + to + ") : i32[" + n + "]\n%s" + to + " = select(%l" + to + ", %a" + to + ", " +
           from + ") : i32[" + n + "]\n%c" + to + " = reshape(%s" + to + ") : i32[" + n + ",1]\n";
  };
  return "graph main(%x: f32[9,7], %i: i32[" + n + "], %j: i32[" + n + "], %u: f32[" + n +
         "]) {\n" + component("%i", "1", "9") + component("%j", "2", "7") +
         "%k = concatenate(%c1, %c2) {dimension = 1} : i32[" + n +
         ",2]\n%r = scatter(%x, %k, %u) {update_window_dims = [], inserted_window_dims = [0, 1], "
         "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1} : f32[9,7] applies add\n"
         "return %r\n}\n";
}

}  // namespace

std::vector<FamilyCase> scatter_cases() {
  return {
      {"scatter_rows", R"(graph main(%x: f32[7,5], %i: i32[4,1], %u: f32[4,5]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[7,5] applies add
        return %r
      })"},
      {"scatter_many_rows", R"(graph main(%x: f32[7,5], %i: i32[3,67,1], %u: f32[3,67,5]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2} : f32[7,5] applies add
        return %r
      })"},
      {"scatter_many_into_zeros_then_update",
       R"(graph main(%p: f32[11,3], %i: i32[101], %u: f32[101,3]) {
        %zero = constant f32[] 0
        %z = broadcast_in_dim(%zero) {broadcast_dimensions = []} : f32[11,3]
        %g = scatter(%z, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[11,3] applies add
        %h = add(%g, %p) : f32[11,3]
        %t = transpose(%h) {permutation = [1, 0]} : f32[3,11]
        return %t, %g
      })"},
      {"scatter_many_that_never_meet", R"(graph main(%x: f32[90,4], %u: f32[100,3], %v: f32[100]) {
        %i = iota() {iota_dimension = 0} : i32[100,1]
        %c = constant i32[100,1] 95
        %j = subtract(%c, %i) : i32[100,1]
        %r = scatter(%x, %j, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = 1} : f32[90,4] applies add
        %y = reshape(%x) : f32[360]
        %s = scatter(%y, %j, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = 1} : f32[360] graph (%a: f32[], %b: f32[]) { return %b }
        %t = negate(%s) : f32[360]
        return %r, %t
      })"},
      {"scatter_of_one_value", R"(graph main(%x: i32[9,4], %i: i32[5000,1], %f: i32[5,1]) {
        %one = constant i32[] 3
        %u = broadcast_in_dim(%one) {broadcast_dimensions = []} : i32[5000]
        %y = reshape(%x) : i32[36]
        %r = scatter(%y, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[36] applies add
        %v = broadcast_in_dim(%one) {broadcast_dimensions = []} : i32[5,4]
        %s = scatter(%x, %f, %v) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[9,4] applies add
        return %r, %s
      })"},
      // Two components that count from the end where they are negative.
      {"scatter_at_few_computed_indices", scatter_at_computed_indices(5)},
      {"scatter_at_many_computed_indices", scatter_at_computed_indices(5000)},
      // So many updates of so small a result that software devices share them out.
      {"scatter_many_small_in_shares",
       R"(graph main(%x: f32[50], %i: i32[1600,1], %u: f32[1600], %y: i32[7,5], %j: i32[2,800,2], %v: i32[2,800], %h: f16[3,9], %k: i32[3,1024,1], %w: f16[3,1024]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[50] applies add
        %s = scatter(%y, %j, %v) {update_window_dims = [], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2} : i32[7,5] applies maximum
        %t = scatter(%h, %k, %w) {update_window_dims = [], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2} : f16[3,9] applies minimum
        %n = negate(%r) : f32[50]
        return %n, %s, %t
      })"},
      // A body that keeps the last update may not be shared out.
      {"scatter_many_small_in_order",
       R"(graph main(%x: f32[50], %i: i32[1600,1], %u: f32[1600]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[50] graph (%a: f32[], %b: f32[]) { return %b }
        return %r
      })"},
      // Windows of whole lines, and lines beside each other: lanes own several of their elements.
      {"scatter_long_rows_that_never_meet",
       R"(graph main(%x: f32[90,64], %u: f32[80,64], %y: f32[4096], %v: f32[1024], %h: f16[90,48], %w: f16[80,48]) {
        %i = iota() {iota_dimension = 0} : i32[80,1]
        %c = constant i32[80,1] 93
        %j = subtract(%c, %i) : i32[80,1]
        %r = scatter(%x, %j, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = 1} : f32[90,64] graph (%a: f32[], %b: f32[]) { return %b }
        %k = iota() {iota_dimension = 0} : i32[1024,1]
        %three = constant i32[1024,1] 5
        %l = multiply(%k, %three) : i32[1024,1]
        %s = scatter(%y, %l, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = 1} : f32[4096] applies multiply
        %t = scatter(%h, %j, %w) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = 1} : f16[90,48] graph (%a: f16[], %b: f16[]) { return %b }
        return %r, %s, %t
      })"},
      {"scatter_last_update_wins",
       R"(graph main(%x: f32[9], %i: i32[80,1], %u: f32[80], %j: i32[5,1], %v: f32[5]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[9] graph (%a: f32[], %b: f32[]) { return %b }
        %s = scatter(%x, %j, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[9] graph (%a: f32[], %b: f32[]) { return %b }
        return %r, %s
      })"},
      {"scatter_windows_over_the_edge",
       R"(graph main(%x: f32[6,7], %i: i32[5,2], %u: f32[5,2,3], %j: i32[70,2], %v: f32[70,2,3]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1, 2], inserted_window_dims = [], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1} : f32[6,7] applies add
        %s = scatter(%x, %j, %v) {update_window_dims = [1, 2], inserted_window_dims = [], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1} : f32[6,7] applies maximum
        return %r, %s
      })"},
      {"scatter_partial_window", R"(graph main(%x: f32[6,7], %i: i32[5], %u: f32[5,4]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[6,7] applies add
        return %r
      })"},
      {"scatter_of_one_vector", R"(graph main(%x: f32[5,4], %i: i32[2], %u: f32[]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0} : f32[5,4] applies add
        return %r
      })"},
      {"scatter_batches",
       R"(graph main(%x: f32[2,3,11], %i: i32[2,3,1,1], %u: f32[2,3,1], %j: i32[2,3,70,1], %v: f32[2,3,70]) {
        %e = negate(%x) : f32[2,3,11]
        %r = scatter(%e, %i, %u) {update_window_dims = [], inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3} : f32[2,3,11] applies add
        %s = scatter(%e, %j, %v) {update_window_dims = [], inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3} : f32[2,3,11] applies add
        %t = abs(%r) : f32[2,3,11]
        return %t, %s
      })"},
      {"scatter_swapped_batches", R"(graph main(%x: f32[3,5,2], %i: i32[2,4,3], %u: f32[2,4,3]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [1], input_batching_dims = [0, 2], scatter_indices_batching_dims = [2, 0], scatter_dims_to_operand_dims = [1], index_vector_dim = 3} : f32[3,5,2] applies add
        return %r
      })"},
      {"scatter_unsigned_and_narrow_indices",
       R"(graph main(%x: i32[5], %i: ui32[70], %u: i32[70], %j: i8[4], %v: i32[4]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[5] applies add
        %s = scatter(%x, %j, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[5] applies multiply
        return %r, %s
      })"},
      {"scatter_of_updates_that_gpus_sort",
       R"(graph main(%x: f32[7,3], %i: i32[1031,1], %u: f32[1031,3], %y: f32[2,5], %j: i32[2,600], %v: f32[2,600]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[7,3] applies add
        %s = scatter(%y, %j, %v) {update_window_dims = [], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2} : f32[2,5] graph (%a: f32[], %b: f32[]) { return %b }
        %t = negate(%r) : f32[7,3]
        return %t, %s
      })"},
      {"scatter_of_two_inputs",
       R"(graph main(%x: f32[6], %k: i32[6], %i: i32[70], %u: f32[70], %v: i32[70]) {
        %r:2 = scatter(%x, %k, %i, %u, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[6], i32[6] graph (%a: f32[], %b: i32[], %c: f32[], %d: i32[]) {
          %p = compare(%a, %c) {comparison_direction = "GE"} : i1[]
          %v = select(%p, %a, %c) : f32[]
          %w = select(%p, %b, %d) : i32[]
          return %v, %w
        }
        return %r#0, %r#1
      })"},
      {"scatter_beyond_the_loop_limit_of_software_devices",
       R"(graph main(%x: i32[5], %i: i32[70001], %u: i32[70001]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[5] applies add
        return %r
      })"},
      {"scatter_into_columns",
       R"(graph main(%x: f32[4,9,3], %i: i32[80], %u: f32[4,80,3], %v: f32[3,80,4]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1} : f32[4,9,3] applies add
        %t = transpose(%v) {permutation = [2, 1, 0]} : f32[4,80,3]
        %s = scatter(%x, %i, %t) {update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1} : f32[4,9,3] applies minimum
        return %r, %s
      })"},
      {"scatter_by_two_numbers",
       R"(graph main(%x: f64[5,1,6,8], %i: i32[90,2], %u: f64[90,8], %y: bf16[5,6], %v: bf16[90]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [2, 0], index_vector_dim = 1} : f64[5,1,6,8] applies multiply
        %s = scatter(%y, %i, %v) {update_window_dims = [], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1} : bf16[5,6] graph (%a: bf16[], %b: bf16[]) { return %b }
        return %r, %s
      })"},
      {"scatter_counts",
       R"(graph main(%k: i32[40000], %w: i64[20]) {
        %n = constant i32[] 20
        %z = constant i32[] 0
        %nb = broadcast_in_dim(%n) {broadcast_dimensions = []} : i32[40000]
        %zb = broadcast_in_dim(%z) {broadcast_dimensions = []} : i32[40000]
        %neg = compare(%k, %zb) {comparison_direction = "LT"} : i1[40000]
        %up = add(%k, %nb) : i32[40000]
        %i = select(%neg, %up, %k) : i32[40000]
        %zero = constant i64[] 0
        %x = broadcast_in_dim(%zero) {broadcast_dimensions = []} : i64[20]
        %one = constant i64[] 1
        %u = broadcast_in_dim(%one) {broadcast_dimensions = []} : i64[40000]
        %c = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i64[20] applies add
        %r = add(%c, %w) : i64[20]
        return %r
      })"},
      // Few elements with many updates each, some outside on either side.
      {"scatter_into_bins", R"(graph main(%x: f32[37], %k: i32[40007], %u: f32[40007]) {
        %n = constant i32[] 41
        %nb = broadcast_in_dim(%n) {broadcast_dimensions = []} : i32[40007]
        %i = remainder(%k, %nb) : i32[40007]
        %o = constant f32[] 16
        %ob = broadcast_in_dim(%o) {broadcast_dimensions = []} : f32[40007]
        %v = round_nearest_even(%u) : f32[40007]
        %w = divide(%v, %ob) : f32[40007]
        %r = scatter(%x, %i, %w) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[37] applies add
        return %r
      })"},
      // The same of other operations: bins begin with what changes nothing.
      {"scatter_into_bins_of_extremes_and_products",
       R"(graph main(%x: f32[37], %y: i64[37], %z: i32[37], %k: i32[40007], %u: f32[40007]) {
        %n = constant i32[] 41
        %nb = broadcast_in_dim(%n) {broadcast_dimensions = []} : i32[40007]
        %i = remainder(%k, %nb) : i32[40007]
        %v = convert(%u) : i64[40007]
        %w = convert(%u) : i32[40007]
        %a = scatter(%x, %i, %u) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[37] applies maximum
        %b = scatter(%y, %i, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i64[37] applies minimum
        %c = scatter(%z, %i, %w) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i32[37] applies multiply
        return %a, %b, %c
      })"},
      // More updates of narrow rows than one part looks at, in no order, some outside.
      {"scatter_many_narrow_rows",
       R"(graph main(%x: f32[5000,3], %k: i32[9001], %u: f32[9001,3], %v: i16[20001], %j: i32[20001], %z: i16[6000]) {
        %m = constant i32[] 2654435
        %mb = broadcast_in_dim(%m) {broadcast_dimensions = []} : i32[9001]
        %p = iota() {iota_dimension = 0} : i32[9001]
        %h = multiply(%p, %mb) : i32[9001]
        %n = constant i32[] 5003
        %nb = broadcast_in_dim(%n) {broadcast_dimensions = []} : i32[9001]
        %q = remainder(%h, %nb) : i32[9001]
        %i = add(%q, %k) : i32[9001]
        %w = round_nearest_even(%u) : f32[9001,3]
        %r = scatter(%x, %i, %w) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[5000,3] applies add
        %s = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[5000,3] graph (%a: f32[], %b: f32[]) { return %b }
        %ml = broadcast_in_dim(%m) {broadcast_dimensions = []} : i32[20001]
        %pl = iota() {iota_dimension = 0} : i32[20001]
        %hl = multiply(%pl, %ml) : i32[20001]
        %nl = constant i32[20001] 6001
        %ql = remainder(%hl, %nl) : i32[20001]
        %l = add(%ql, %j) : i32[20001]
        %t = scatter(%z, %l, %v) {update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : i16[6000] graph (%a: i16[], %b: i16[]) { return %b }
        return %r, %s, %t
      })"},
      {"scatter_of_nothing", R"(graph main(%x: f32[4,3], %i: i32[0,1], %u: f32[0,3]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[4,3] applies add
        return %r
      })"},
      {"scatter_of_empty_windows", R"(graph main(%x: f32[4,3], %i: i32[70,1], %u: f32[70,0]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} : f32[4,3] applies add
        return %r
      })"},
      {"scatter_without_indices",
       R"(graph main(%x: f32[4,3], %i: i32[2,0], %u: f32[2,4,3], %j: i32[70,0], %v: f32[70,4,2]) {
        %r = scatter(%x, %i, %u) {update_window_dims = [1, 2], inserted_window_dims = [], scatter_dims_to_operand_dims = [], index_vector_dim = 1} : f32[4,3] applies add
        %s = scatter(%x, %j, %v) {update_window_dims = [1, 2], inserted_window_dims = [], scatter_dims_to_operand_dims = [], index_vector_dim = 1} : f32[4,3] applies add
        return %r, %s
      })"},
  };
}

}  // namespace tuff::test
