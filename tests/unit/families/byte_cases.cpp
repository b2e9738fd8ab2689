// Sums of products of bytes: every combination of types and zero points, sizes that fill no block,
// windows, and what follows.
#include <fmt/format.h>

#include "tests/unit/families/cases.h"

namespace tuff::test {

namespace {

// %name = (convert(%from) - zero) of i32.
std::string centred(const std::string& name, const std::string& from, const std::string& shape,
                    const std::string& zero, const std::string& dims = "") {
  return fmt::format(
      "  %{0}i = convert(%{3}) : i32[{1}]\n"
      "  %{0}z = broadcast_in_dim(%{2}) {{broadcast_dimensions = [{4}]}} : i32[{1}]\n"
      "  %{0} = subtract(%{0}i, %{0}z) : i32[{1}]\n",
      name, shape, zero, from, dims);
}

const char* const kZeros =
    "  %three = constant i32[] 3\n  %scalar = convert(%p) : i32[]\n  %column = convert(%q) : "
    "i32[N]\n";

// A [m, k] less one zero point, B [k, n] less one or one for each column; then a scale, a bias, a
// bound and the way back to bytes.
std::string product(const std::string& a, const std::string& b, int64_t m, int64_t n, int64_t k,
                    const std::string& za, const std::string& zb, bool quantised) {
  std::string zeros = kZeros;
  zeros.replace(zeros.find("[N]"), 3, fmt::format("[{}]", n));
  std::string text = fmt::format(
      "graph main(%a: {0}[{2},{4}], %b: {1}[{4},{3}], %p: {0}[], %q: {1}[{3}], %s: f32[{3}]) {{\n",
      a, b, m, n, k);
  text += zeros + centred("x", "a", fmt::format("{},{}", m, k), za) +
          centred("w", "b", fmt::format("{},{}", k, n), zb, zb == "column" ? "1" : "");
  text += fmt::format(
      "  %c = dot_general(%x, %w) {{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = "
      "[0]}} : i32[{0},{1}]\n",
      m, n);
  if (!quantised) return text + "  return %c\n}\n";
  return text + fmt::format(
                    "  %f = convert(%c) : f32[{0},{1}]\n"
                    "  %t = broadcast_in_dim(%s) {{broadcast_dimensions = [1]}} : f32[{0},{1}]\n"
                    "  %g = multiply(%f, %t) : f32[{0},{1}]\n"
                    "  %zero = constant f32[{0},{1}] 0\n  %most = constant f32[{0},{1}] 255\n"
                    "  %h = maximum(%g, %zero) : f32[{0},{1}]\n"
                    "  %i = minimum(%h, %most) : f32[{0},{1}]\n"
                    "  %r = convert(%i) : ui8[{0},{1}]\n  return %r\n}}\n",
                    m, n);
}

struct Conv {
  int64_t height, width, in, out, window;
  std::string padding, stride, dilation;
  std::string result;
};

// Channels last; weights as ONNX has them.
std::string convolution(const Conv& c, const std::string& after) {
  std::string x = fmt::format("2,{},{},{}", c.height, c.width, c.in);
  std::string w = fmt::format("{},{},{},{}", c.out, c.in, c.window, c.window);
  return fmt::format("graph main(%a: ui8[{}], %b: i8[{}], %p: ui8[], %r: f32[2,{},{}]) {{\n", x, w,
                     c.result, c.out) +
         "  %scalar = convert(%p) : i32[]\n" + centred("x", "a", x, "scalar") +
         fmt::format("  %w = convert(%b) : i32[{}]\n", w) +
         fmt::format(
             "  %c = convolution(%x, %w) {{input_batch_dimension = 0, input_feature_dimension = 3, "
             "input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 1, "
             "kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], "
             "output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions "
             "= "
             "[1, 2], padding = [{0}], window_strides = [{1}], rhs_dilation = [{2}]}} : "
             "i32[2,{3},{4}]\n",
             c.padding, c.stride, c.dilation, c.result, c.out) +
         after + "}\n";
}

std::string residual(const Conv& c) {
  return fmt::format(
      "  %f = convert(%c) : f32[2,{0},{1}]\n  %g = add(%f, %r) : f32[2,{0},{1}]\n"
      "  %h = transpose(%g) {{permutation = [0, 3, 1, 2]}} : f32[2,{1},{2}]\n  return %h\n",
      c.result, c.out, c.result);
}

// Batches of u8 by u8, the right side by rows: what attention is made of.
std::string batches(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
             "graph main(%a: ui8[2,{0},3,{2}], %b: ui8[2,{1},3,{2}], %p: ui8[]) {{\n"
             "  %scalar = convert(%p) : i32[]\n",
             m, n, k) +
         centred("x", "a", fmt::format("2,{},3,{}", m, k), "scalar") +
         centred("w", "b", fmt::format("2,{},3,{}", n, k), "scalar") +
         fmt::format(
             "  %c = dot_general(%x, %w) {{lhs_batching_dimensions = [0, 2], "
             "rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], "
             "rhs_contracting_dimensions = [3]}} : i32[2,3,{0},{1}]\n"
             "  %f = convert(%c) : f32[2,3,{0},{1}]\n  return %f\n}}\n",
             m, n);
}

}  // namespace

std::vector<FamilyCase> byte_cases() {
  std::vector<FamilyCase> cases;
  int count = 0;
  for (const char* a : {"i8", "ui8"})
    for (const char* b : {"i8", "ui8"})
      for (const char* za : {"three", "scalar"})
        for (const char* zb : {"three", "scalar", "column"})
          cases.push_back(
              {fmt::format("bytes_{}_by_{}_less_{}_and_{}", a, b, za, zb),
               product(a, b, 17 + count, 33 - count % 3, 61 + count, za,
                       std::string(zb) == "scalar" && std::string(a) != b ? "three" : zb,
                       count++ % 2 == 0)});
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                         {1, 130, 64},
                         {16, 32, 128},
                         {15, 5, 256},
                         {130, 67, 192},
                         {49, 300, 130},
                         {200, 3, 64},
                         {64, 600, 64}})
    cases.push_back({fmt::format("bytes_{}x{}x{}", m, n, k),
                     product("ui8", "i8", m, n, k, "scalar", "column", m % 2 == 0)});
  const Conv convs[] = {{9, 7, 3, 5, 3, "1, 1, 1, 1", "1, 1", "1, 1", "9,7"},
                        {9, 8, 64, 33, 1, "0, 0, 0, 0", "1, 1", "1, 1", "9,8"},
                        {9, 8, 64, 20, 1, "0, 0, 0, 0", "2, 2", "1, 1", "5,4"},
                        {11, 13, 7, 40, 3, "2, 1, 0, 3", "2, 3", "1, 1", "6,5"},
                        {12, 10, 5, 6, 3, "2, 2, 3, 3", "1, 1", "2, 3", "12,10"},
                        {3, 2, 6, 4, 3, "4, 4, 4, 4", "1, 1", "1, 1", "9,8"}};
  for (size_t i = 0; i < std::size(convs); ++i) {
    cases.push_back(
        {fmt::format("bytes_in_windows_{}", i), convolution(convs[i], "  return %c\n")});
    Conv c = convs[i];
    cases.push_back(
        {fmt::format("bytes_in_windows_with_residual_{}", i), convolution(c, residual(c))});
  }
  for (auto [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{7, 9, 64}, {33, 40, 16}, {5, 130, 70}})
    cases.push_back({fmt::format("bytes_in_batches_{}x{}x{}", m, n, k), batches(m, n, k)});
  return cases;
}

}  // namespace tuff::test
