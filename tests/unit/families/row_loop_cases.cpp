// Loops over rows: states of every length and number, products before and after each other, gates,
// stacks in either direction, types.
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// A type [rows, more].
std::string tensor(const char* dtype, const std::string& rows, int64_t length) {
  return fmt::format("{}[{}{}]", dtype, rows.empty() ? "" : rows + ",", length);
}

// `values` carried beside a count from 0 to `rounds`; `body` computes them anew.
std::string loop(int rounds, const std::string& arguments, const std::string& before,
                 const std::string& types, const std::string& start, const std::string& carried,
                 const std::string& body, const std::string& results, const std::string& returns) {
  return fmt::format(R"(
graph main({}) {{
  %zero = constant i32[] 0
{}
  %w:{} = while(%zero, {}) : i32[], {} graph cond(%i: i32[], {}) {{
    %n = constant i32[] {}
    %goes_on = compare(%i, %n) {{comparison_direction = "LT"}} : i1[]
    return %goes_on
  }} graph body(%i: i32[], {}) {{
    %o = constant i32[] 0
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
{}
    return %j, {}
  }}
  return {}
}})",
                     arguments, before, 1 + std::count(carried.begin(), carried.end(), ':'), start,
                     types, carried, rounds, carried, body, results, returns);
}

// %to = the value within [-3, 3].
std::string clamped(const std::string& to, const std::string& value, const std::string& type,
                    const char* dtype) {
  return fmt::format(
      "    %{0}_low = constant {1}[] -3\n    %{0}_high = constant {1}[] 3\n"
      "    %{0} = clamp(%{0}_low, %{2}, %{0}_high) : {3}\n",
      to, dtype, value, type);
}

std::string product(const std::string& to, const std::string& a, const std::string& b,
                    size_t row_dims, const std::string& type) {
  return fmt::format(
      "    %{} = dot_general(%{}, %{}) {{lhs_contracting_dimensions = [{}], "
      "rhs_contracting_dimensions = [0]}} : {}\n",
      to, a, b, row_dims, type);
}

size_t dims_of(const std::string& rows) {
  return rows.empty() ? 0 : 1 + static_cast<size_t>(std::count(rows.begin(), rows.end(), ','));
}

// A slice [1, rows, length] of a stack at %at.
std::string slice_of(const std::string& to, const std::string& stack, const std::string& at,
                     const std::string& rows, int64_t length, const char* dtype) {
  std::string zeros;
  for (size_t d = 0; d <= dims_of(rows); ++d) zeros += ", %o";
  std::string sizes = fmt::format("1, {}{}", rows.empty() ? "" : rows + ", ", length);
  return fmt::format(
      "    %{0}_1 = dynamic_slice(%{1}, %{2}{3}) {{slice_sizes = [{4}]}} : {5}\n"
      "    %{0} = reshape(%{0}_1) : {6}\n",
      to, stack, at, zeros, sizes, tensor(dtype, rows.empty() ? "1" : "1," + rows, length),
      tensor(dtype, rows, length));
}

std::string store_in(const std::string& to, const std::string& stack, const std::string& value,
                     const std::string& at, int rounds, const std::string& rows, int64_t length,
                     const char* dtype) {
  std::string zeros, more = rows.empty() ? "" : "," + rows;
  for (size_t d = 0; d <= dims_of(rows); ++d) zeros += ", %o";
  return fmt::format(
      "    %{0}_1 = reshape(%{1}) : {2}\n"
      "    %{0} = dynamic_update_slice(%{3}, %{0}_1, %{4}{5}) : {6}\n",
      to, value, tensor(dtype, "1" + more, length), stack, at, zeros,
      tensor(dtype, fmt::format("{}{}", rounds, more), length));
}

// h = clamp(h w + x[i]), and all h before or after, in order or back to front.
FamilyCase network(const std::string& name, const std::string& rows, int64_t length, int rounds,
                   const char* dtype, bool after, bool backwards) {
  std::string h = tensor(dtype, rows, length), more = rows.empty() ? "" : "," + rows;
  std::string stack = tensor(dtype, fmt::format("{}{}", rounds, more), length);
  std::string weights = tensor(dtype, fmt::format("{}", length), length);
  std::string body;
  std::string at = "i";
  if (backwards) {
    body += fmt::format("    %last = constant i32[] {}\n    %at = subtract(%last, %i) : i32[]\n",
                        rounds - 1);
    at = "at";
  }
  body += slice_of("s", "x", at, rows, length, dtype);
  body += product("d", "h", "u", dims_of(rows), h);
  body += fmt::format("    %a = add(%d, %s) : {}\n", h);
  body += clamped("next", "a", h, dtype);
  body += store_in("all", "ys", after ? "next" : "h", at, rounds, rows, length, dtype);
  return {name, loop(rounds, fmt::format("%h0: {}, %u: {}, %x: {}", h, weights, stack),
                     fmt::format("  %z = constant {}[] 0\n  %ys = broadcast_in_dim(%z) : {}", dtype,
                                 stack),
                     fmt::format("{}, {}, {}, {}", h, weights, stack, stack), "%h0, %u, %x, %ys",
                     fmt::format("%h: {}, %u: {}, %x: {}, %ys: {}", h, weights, stack, stack), body,
                     "%next, %u, %x, %all", "%w#1, %w#4")};
}

// Two layers of different lengths; the second reads the first one's new state.
FamilyCase layers(int64_t first, int64_t second) {
  std::string a = tensor("f32", "3", first), b = tensor("f32", "3", second);
  std::string u = tensor("f32", std::to_string(first), first),
              v = tensor("f32", std::to_string(first), second),
              t = tensor("f32", std::to_string(second), second);
  std::string body = product("p", "a", "u", 1, a) + clamped("q", "p", a, "f32") +
                     product("r", "q", "v", 1, b) + product("s", "b", "t", 1, b) +
                     fmt::format("    %sum = subtract(%r, %s) : {}\n", b) +
                     clamped("next", "sum", b, "f32");
  return {fmt::format("layers_{}_{}", first, second),
          loop(4, fmt::format("%a0: {}, %b0: {}, %u: {}, %v: {}, %t: {}", a, b, u, v, t), "",
               fmt::format("{}, {}, {}, {}, {}", a, b, u, v, t), "%a0, %b0, %u, %v, %t",
               fmt::format("%a: {}, %b: {}, %u: {}, %v: {}, %t: {}", a, b, u, v, t), body,
               "%q, %next, %u, %v, %t", "%w#1, %w#2")};
}

// The product's columns are gates, of which each column of the state needs three.
FamilyCase gates(int64_t length) {
  std::string h = tensor("f32", "2", length), g = tensor("f32", "2", 3 * length),
              u = tensor("f32", std::to_string(length), 3 * length);
  std::string body = product("g", "h", "u", 1, g);
  for (int64_t i = 0; i < 3; ++i)
    body += fmt::format(
        "    %g{0} = slice(%g) {{start_indices = [0, {1}], limit_indices = [2, {2}], "
        "strides = [1, 1]}} : {3}\n",
        i, i * length, (i + 1) * length, h);
  body += fmt::format("    %m = maximum(%g0, %g1) : {0}\n    %a = subtract(%m, %g2) : {0}\n", h) +
          clamped("next", "a", h, "f32") + fmt::format("    %c2 = add(%c, %next) : {}\n", h);
  return {fmt::format("gates_{}", length),
          loop(5, fmt::format("%h0: {0}, %c0: {0}, %u: {1}", h, u), "",
               fmt::format("{0}, {0}, {1}", h, u), "%h0, %c0, %u",
               fmt::format("%h: {0}, %c: {0}, %u: {1}", h, u), body, "%next, %c2, %u",
               "%w, %w#1, %w#2")};
}

// The weights are the left operand and lie the other way round: u h for a column h.
FamilyCase weights_first() {
  std::string body =
      "    %d = dot_general(%u, %h) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions "
      "= "
      "[1]} : f32[9,4]\n"
      "    %t = transpose(%d) {permutation = [1, 0]} : f32[4,9]\n" +
      clamped("next", "t", "f32[4,9]", "f32");
  return {"weights_first",
          loop(3, "%h0: f32[4,9], %u: f32[9,9]", "", "f32[4,9], f32[9,9]", "%h0, %u",
               "%h: f32[4,9], %u: f32[9,9]", body, "%next, %u", "%w#1, %w#2")};
}

// A product says where a table is read.
FamilyCase read_by_product() {
  std::string body =
      product("d", "h", "u", 1, "i32[2,9]") +
      "    %at = reshape(%d) : i32[2,9,1]\n"
      "    %e = gather(%table, %at) {collapsed_slice_dims = [0], index_vector_dim = 2, "
      "slice_sizes = [1], start_index_map = [0]} : i32[2,9]\n"
      "    %next = subtract(%e, %h) : i32[2,9]\n";
  return {"read_by_product",
          loop(4, "%h0: i32[2,9], %u: i32[9,9], %table: i32[30]", "", "i32[2,9], i32[9,9], i32[30]",
               "%h0, %u, %table", "%h: i32[2,9], %u: i32[9,9], %table: i32[30]", body,
               "%next, %u, %table", "%w#1")};
}

// No product, and the zero that the count starts as is a result, too: the count as a number, a
// table that is read by it, and a stack of no row's state.
FamilyCase counted(const std::string& rows, int64_t length) {
  std::string h = tensor("i32", rows, length);
  std::string body = fmt::format(
      "    %b = broadcast_in_dim(%i) : {0}\n    %p = multiply(%h, %b) : {0}\n"
      "    %k = constant i32[] 2\n    %neg = compare(%i, %o) {{comparison_direction = \"LT\"}} : "
      "i1[]\n    %beyond = add(%i, %k) : i32[]\n    %at = select(%neg, %beyond, %i) : i32[]\n"
      "    %e1 = dynamic_slice(%table, %at) {{slice_sizes = [1]}} : i32[1]\n"
      "    %e = reshape(%e1) : i32[]\n    %f = broadcast_in_dim(%e) : {0}\n"
      "    %next = subtract(%f, %p) : {0}\n",
      h);
  return {fmt::format("counted_{}_{}", rows.empty() ? "0" : rows.substr(0, 1), length),
          loop(6, fmt::format("%h0: {}, %table: i32[6]", h), "", fmt::format("{}, i32[6]", h),
               "%h0, %table", fmt::format("%h: {}, %table: i32[6]", h), body, "%next, %table",
               "%w, %w#1, %w#2, %zero")};
}

}  // namespace

std::vector<FamilyCase> row_loop_cases() {
  std::vector<FamilyCase> cases{weights_first(), read_by_product(), layers(6, 5),
                                layers(8, 20),   layers(33, 8),     gates(5),
                                gates(7),        gates(16),         counted("", 5),
                                counted("2", 1), counted("3", 70),  counted("4,5", 33)};
  for (int64_t length : {5, 7, 8, 9, 31, 33})
    cases.push_back(network(fmt::format("network_{}", length), "3", length, 4, "f32",
                            length % 2 == 0, length % 3 != 0));
  cases.push_back(network("one_row", "1", 12, 3, "f32", true, true));
  cases.push_back(network("no_row", "", 10, 5, "f32", false, true));
  cases.push_back(network("rows_of_rows", "2,3", 5, 3, "f32", true, false));
  cases.push_back(network("f16", "2", 9, 3, "f16", true, false));
  cases.push_back(network("bf16", "2", 8, 3, "bf16", false, false));
  cases.push_back(network("integers", "2", 9, 3, "i32", true, true));
  return cases;
}

std::vector<FamilyCase> near_row_loop_cases() {
  return {network("one_round", "2", 6, 1, "f32", true, false), layers(5, 2), gates(1),
          // More than a lane holds.
          network("long_row", "2", 300, 2, "f32", true, false)};
}

}  // namespace tuff::test
