// Loops and branches: what is carried, handed on, swapped, read again and nested.
#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

FamilyCase counted_loop() {
  return {"counted", R"(
graph main(%x: f32[5], %y: f32[5]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %y) : i32[], f32[5], f32[5] graph cond(%i: i32[], %a: f32[5], %b: f32[5]) {
    %n = constant i32[] 7
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[5], %b: f32[5]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %s = add(%a, %b) : f32[5]
    return %j, %s, %b
  }
  return %w, %w#1
})"};
}

// The body gives back its values in another order, so each must wait for the other.
FamilyCase swapped_carries() {
  return {"swapped", R"(
graph main(%x: f32[5], %y: f32[5], %z: f32[5]) {
  %zero = constant i32[] 0
  %w:4 = while(%zero, %x, %y, %z) : i32[], f32[5], f32[5], f32[5] graph cond(%i: i32[], %a: f32[5], %b: f32[5], %c: f32[5]) {
    %n = constant i32[] 5
    %p = compare(%i, %n) {comparison_direction = "NE"} : i1[]
    return %p
  } graph body(%i: i32[], %a: f32[5], %b: f32[5], %c: f32[5]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    return %j, %b, %a, %a
  }
  return %w#1, %w#2, %w#3
})"};
}

// Each carry's new value is made from both old ones, one of them back to front.
FamilyCase crossed_carries() {
  return {"crossed", R"(
graph main(%x: f32[700], %y: f32[700]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %y) : i32[], f32[700], f32[700] graph cond(%i: i32[], %a: f32[700], %b: f32[700]) {
    %n = constant i32[] 3
    %p = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %p
  } graph body(%i: i32[], %a: f32[700], %b: f32[700]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %r = reverse(%b) {dimensions = [0]} : f32[700]
    %s = add(%a, %r) : f32[700]
    %t = subtract(%b, %a) : f32[700]
    return %j, %s, %t
  }
  return %w#1, %w#2
})"};
}

// Fibonacci: one carry's new value is the other's old one.
FamilyCase shifted_carries() {
  return {"shifted", R"(
graph main(%x: i32[3], %y: i32[3]) {
  %zero = constant i32[] 10
  %w:3 = while(%zero, %x, %y) : i32[], i32[3], i32[3] graph cond(%i: i32[], %a: i32[3], %b: i32[3]) {
    %n = constant i32[] 0
    %p = compare(%i, %n) {comparison_direction = "GT"} : i1[]
    return %p
  } graph body(%i: i32[], %a: i32[3], %b: i32[3]) {
    %two = constant i32[] 2
    %j = subtract(%i, %two) : i32[]
    %s = add(%a, %b) : i32[3]
    return %j, %b, %s
  }
  return %w, %w#1, %w#2
})"};
}

// As often as the argument says, none where it is not positive.
FamilyCase loop_to_argument() {
  return {"to_argument", R"(
graph main(%n: i32[], %x: i32[4]) {
  %w:2 = while(%n, %x) : i32[], i32[4] graph cond(%i: i32[], %a: i32[4]) {
    %zero = constant i32[] 0
    %p = compare(%i, %zero) {comparison_direction = "GT"} : i1[]
    return %p
  } graph body(%i: i32[], %a: i32[4]) {
    %one = constant i32[] 1
    %j = subtract(%i, %one) : i32[]
    %t = add(%a, %a) : i32[4]
    %u = reverse(%t) {dimensions = [0]} : i32[4]
    return %j, %u
  }
  return %w#1, %w
})"};
}

FamilyCase never_runs() {
  return {"never_runs", R"(
graph main(%x: i32[4]) {
  %start = constant i32[] 3
  %w:2 = while(%start, %x) : i32[], i32[4] graph cond(%i: i32[], %a: i32[4]) {
    %limit = constant i32[] 3
    %p = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %p
  } graph body(%i: i32[], %a: i32[4]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %t = multiply(%a, %a) : i32[4]
    return %j, %t
  }
  return %w#1, %w
})"};
}

// The predicate is itself carried, with narrow, wide, boolean and empty values.
FamilyCase many_types() {
  return {"many_types", R"(
graph main(%p: i1[], %q: i1[3], %b: i8[3], %e: f32[0,2], %n: i32[]) {
  %w:5 = while(%p, %q, %b, %e, %n) : i1[], i1[3], i8[3], f32[0,2], i32[] graph cond(%p: i1[], %q: i1[3], %b: i8[3], %e: f32[0,2], %n: i32[]) {
    return %p
  } graph body(%p: i1[], %q: i1[3], %b: i8[3], %e: f32[0,2], %n: i32[]) {
    %one = constant i32[] 1
    %m = subtract(%n, %one) : i32[]
    %go = compare(%m, %one) {comparison_direction = "GT"} : i1[]
    %r = not(%q) : i1[3]
    %c = add(%b, %b) : i8[3]
    %f = add(%e, %e) : f32[0,2]
    return %go, %r, %c, %f, %m
  }
  return %w, %w#1, %w#2, %w#3, %w#4
})"};
}

// Rows of a matrix are written one by one; the state is handed on.
FamilyCase scan() {
  return {"scan", R"(
graph main(%x: f32[6,4], %h: f32[4]) {
  %zero = constant i32[] 0
  %zerof = constant f32[] 0.0
  %ys = broadcast_in_dim(%zerof) {broadcast_dimensions = []} : f32[6,4]
  %w:4 = while(%zero, %h, %ys, %x) : i32[], f32[4], f32[6,4], f32[6,4] graph cond(%i: i32[], %h: f32[4], %ys: f32[6,4], %x: f32[6,4]) {
    %n = constant i32[] 6
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %h: f32[4], %ys: f32[6,4], %x: f32[6,4]) {
    %zero = constant i32[] 0
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %row = dynamic_slice(%x, %i, %zero) {slice_sizes = [1, 4]} : f32[1,4]
    %r = reshape(%row) : f32[4]
    %s = add(%h, %r) : f32[4]
    %back = reshape(%s) : f32[1,4]
    %next = dynamic_update_slice(%ys, %back, %i, %zero) : f32[6,4]
    return %j, %s, %next, %x
  }
  return %w#1, %w#2
})"};
}

// The row that is written depends on rows of the same matrix.
FamilyCase scan_reads_what_it_writes() {
  return {"scan_reads_itself", R"(
graph main(%x: i32[6,3]) {
  %one = constant i32[] 1
  %w:2 = while(%one, %x) : i32[], i32[6,3] graph cond(%i: i32[], %ys: i32[6,3]) {
    %n = constant i32[] 6
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %ys: i32[6,3]) {
    %zero = constant i32[] 0
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %k = subtract(%i, %one) : i32[]
    %row = dynamic_slice(%ys, %k, %zero) {slice_sizes = [1, 3]} : i32[1,3]
    %old = dynamic_slice(%ys, %i, %one) {slice_sizes = [1, 3]} : i32[1,3]
    %s = add(%row, %old) : i32[1,3]
    %next = dynamic_update_slice(%ys, %s, %i, %zero) : i32[6,3]
    return %j, %next
  }
  return %w#1
})"};
}

// Both the old and the new matrix are wanted.
FamilyCase update_of_what_lives_on() {
  return {"update_of_what_lives_on", R"(
graph main(%x: i32[5], %u: i32[2], %i: i32[]) {
  %w:3 = while(%i, %x, %x) : i32[], i32[5], i32[5] graph cond(%i: i32[], %a: i32[5], %b: i32[5]) {
    %n = constant i32[] 4
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: i32[5], %b: i32[5]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %d = slice(%b) {start_indices = [0], limit_indices = [2], strides = [1]} : i32[2]
    %next = dynamic_update_slice(%a, %d, %i) : i32[5]
    %t = add(%a, %next) : i32[5]
    return %j, %next, %t
  }
  return %w#1, %w#2
})"};
}

FamilyCase nested() {
  return {"nested", R"(
graph main(%n: i32[], %x: i32[3]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %n) : i32[], i32[3], i32[] graph cond(%i: i32[], %a: i32[3], %n: i32[]) {
    %limit = constant i32[] 4
    %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: i32[3], %n: i32[]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %v:3 = while(%i, %a, %n) : i32[], i32[3], i32[] graph cond(%k: i32[], %a: i32[3], %n: i32[]) {
      %c = compare(%k, %n) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%k: i32[], %a: i32[3], %n: i32[]) {
      %one = constant i32[] 1
      %l = add(%k, %one) : i32[]
      %kk = broadcast_in_dim(%k) {broadcast_dimensions = []} : i32[3]
      %b = add(%a, %kk) : i32[3]
      return %l, %b, %n
    }
    %r = reverse(%v#1) {dimensions = [0]} : i32[3]
    %s = add(%r, %a) : i32[3]
    return %j, %s, %n
  }
  return %w#1, %w
})"};
}

FamilyCase nested_counted() {
  return {"nested_counted", R"(
graph main(%x: f32[3,3], %y: f32[3,3]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %y) : i32[], f32[3,3], f32[3,3] graph cond(%i: i32[], %a: f32[3,3], %y: f32[3,3]) {
    %limit = constant i32[] 3
    %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[3,3], %y: f32[3,3]) {
    %zero = constant i32[] 0
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %v:2 = while(%zero, %a) : i32[], f32[3,3] graph cond(%k: i32[], %a: f32[3,3]) {
      %limit = constant i32[] 2
      %c = compare(%k, %limit) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%k: i32[], %a: f32[3,3]) {
      %one = constant i32[] 1
      %l = add(%k, %one) : i32[]
      %t = transpose(%a) {permutation = [1, 0]} : f32[3,3]
      %n = negate(%t) : f32[3,3]
      return %l, %n
    }
    %s = add(%v#1, %y) : f32[3,3]
    return %j, %s, %y
  }
  return %w#1
})"};
}

FamilyCase branches() {
  return {"branches", R"(
graph main(%i: i32[], %p: i1[], %x: i32[4], %y: i32[4]) {
  %c:2 = case(%i, %x, %y) : i32[4], i32[4] graph first(%a: i32[4], %b: i32[4]) {
    %s = add(%a, %b) : i32[4]
    return %s, %a
  } graph second(%a: i32[4], %b: i32[4]) {
    return %b, %b
  } graph third(%a: i32[4], %b: i32[4]) {
    %k = constant i32[4] {1, 2, 3, 4}
    %m = multiply(%a, %k) : i32[4]
    return %k, %m
  }
  %f = if(%p, %c, %c#1) : i32[4] graph yes(%a: i32[4], %b: i32[4]) {
    %r = reverse(%a) {dimensions = [0]} : i32[4]
    return %r
  } graph no(%a: i32[4], %b: i32[4]) {
    %s = subtract(%a, %b) : i32[4]
    return %s
  }
  return %f, %c#1, %c
})"};
}

FamilyCase case_in_while() {
  return {"case_in_while", R"(
graph main(%x: i32[4], %n: i32[]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %n) : i32[], i32[4], i32[] graph cond(%i: i32[], %a: i32[4], %n: i32[]) {
    %limit = constant i32[] 5
    %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: i32[4], %n: i32[]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %index = remainder(%i, %n) : i32[]
    %c = case(%index, %a, %j) : i32[4] graph keep(%a: i32[4], %j: i32[]) {
      return %a
    } graph twice(%a: i32[4], %j: i32[]) {
      %t = add(%a, %a) : i32[4]
      return %t
    } graph turn(%a: i32[4], %j: i32[]) {
      %r = reverse(%a) {dimensions = [0]} : i32[4]
      %b = broadcast_in_dim(%j) {broadcast_dimensions = []} : i32[4]
      %s = add(%r, %b) : i32[4]
      return %s
    }
    return %j, %c, %n
  }
  return %w#1
})"};
}

FamilyCase while_in_case() {
  return {"while_in_case", R"(
graph main(%p: i1[], %x: f32[4], %n: i32[]) {
  %f:2 = if(%p, %x, %n) : f32[4], i32[] graph loop(%x: f32[4], %n: i32[]) {
    %w:2 = while(%n, %x) : i32[], f32[4] graph cond(%i: i32[], %a: f32[4]) {
      %limit = constant i32[] 6
      %c = compare(%i, %limit) {comparison_direction = "LE"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[4]) {
      %two = constant i32[] 2
      %j = add(%i, %two) : i32[]
      %b = add(%a, %a) : f32[4]
      return %j, %b
    }
    return %w#1, %w
  } graph direct(%x: f32[4], %n: i32[]) {
    return %x, %n
  }
  return %f, %f#1
})"};
}

// Scalars only: one kernel runs the loop, whether it counts or not.
FamilyCase scalar_loop() {
  return {"scalar_loop", R"(
graph main(%n: i32[], %x: f32[], %p: i1[]) {
  %w:4 = while(%n, %x, %p, %x) : i32[], f32[], i1[], f32[] graph cond(%i: i32[], %a: f32[], %p: i1[], %b: f32[]) {
    %limit = constant i32[] 1000
    %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[], %p: i1[], %b: f32[]) {
    %seven = constant i32[] 7
    %j = add(%i, %seven) : i32[]
    %half = constant f32[] 0.5
    %h = multiply(%a, %half) : f32[]
    %s = add(%h, %b) : f32[]
    %q = not(%p) : i1[]
    %t = select(%q, %s, %a) : f32[]
    return %j, %b, %q, %t
  }
  return %w, %w#1, %w#2, %w#3
})"};
}

FamilyCase nested_scalar_loop() {
  return {"nested_scalar_loop", R"(
graph main(%n: i32[], %x: i32[]) {
  %zero = constant i32[] 0
  %w:3 = while(%zero, %x, %n) : i32[], i32[], i32[] graph cond(%i: i32[], %a: i32[], %n: i32[]) {
    %limit = constant i32[] 9
    %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: i32[], %n: i32[]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %v:3 = while(%n, %a, %i) : i32[], i32[], i32[] graph cond(%k: i32[], %a: i32[], %i: i32[]) {
      %c = compare(%k, %i) {comparison_direction = "LE"} : i1[]
      return %c
    } graph body(%k: i32[], %a: i32[], %i: i32[]) {
      %one = constant i32[] 1
      %l = add(%k, %one) : i32[]
      %three = constant i32[] 3
      %m = multiply(%a, %three) : i32[]
      %b = add(%m, %k) : i32[]
      return %l, %b, %i
    }
    return %j, %v#1, %n
  }
  return %w#1, %w
})"};
}

// A matrix product and a sum in the body, with weights from outside.
FamilyCase recurrent() {
  return {"recurrent", R"(
graph main(%h: f32[2,3], %u: f32[3,3], %x: f32[4,2,3]) {
  %zero = constant i32[] 0
  %w:4 = while(%zero, %h, %u, %x) : i32[], f32[2,3], f32[3,3], f32[4,2,3] graph cond(%i: i32[], %h: f32[2,3], %u: f32[3,3], %x: f32[4,2,3]) {
    %n = constant i32[] 4
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %h: f32[2,3], %u: f32[3,3], %x: f32[4,2,3]) {
    %zero = constant i32[] 0
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %d = dot_general(%h, %u) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[2,3]
    %s = dynamic_slice(%x, %i, %zero, %zero) {slice_sizes = [1, 2, 3]} : f32[1,2,3]
    %r = reshape(%s) : f32[2,3]
    %a = add(%d, %r) : f32[2,3]
    %sign = sign(%a) : f32[2,3]
    return %j, %sign, %u, %x
  }
  return %w#1
})"};
}

}  // namespace

std::vector<FamilyCase> control_cases() {
  return {counted_loop(),
          swapped_carries(),
          shifted_carries(),
          crossed_carries(),
          loop_to_argument(),
          never_runs(),
          many_types(),
          scan(),
          scan_reads_what_it_writes(),
          update_of_what_lives_on(),
          nested(),
          nested_counted(),
          branches(),
          case_in_while(),
          while_in_case(),
          recurrent(),
          scalar_loop(),
          nested_scalar_loop()};
}

}  // namespace tuff::test
