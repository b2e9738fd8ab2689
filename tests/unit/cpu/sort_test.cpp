// Sorts by keys give the evaluator's order, for rows around the sizes where the ways change, along
// any dimension, of all types; comparators of other forms are sorted as before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/executable.h"
#include "ir/evaluate/evaluate.h"
#include "ir/ops/sort_keys.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

// Few different values, so that many are equal; among floats NaNs and zeros of both signs.
Literal sample(const TensorType& type, int64_t seed) {
  constexpr double kOdd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1e-40, -3e38};
  Literal values(type);
  uint64_t state = static_cast<uint64_t>(seed) * 7919 + 1;
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto random = static_cast<int64_t>(state >> 40);
    if (!is_float(type.dtype))
      values.set_int(i, random % 3 == 0 ? random % 5 : random * 0x10001);
    else if (random % 7 == 0)
      values.set_double(i, kOdd[static_cast<size_t>(random / 7) % std::size(kOdd)]);
    else
      values.set_double(i, static_cast<double>(random % 301) / 7 - 20);
  }
  return values;
}

void expect_evaluators(const std::string& text) {
  Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << text;
  std::vector<Literal> arguments;
  for (uint32_t i = 0; i < graph->num_parameters(); ++i)
    arguments.push_back(sample(graph->node(i).types[0], i));
  auto expected = evaluate(*graph, arguments);
  ASSERT_TRUE(expected.ok()) << expected.error().to_string();
  auto device = create_cpu_device();
  ASSERT_TRUE(device.ok());
  CompileOptions options;
  options.verify = true;
  auto program = compile(*graph, (*device)->caps(), options, nullptr);
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  auto executable = Executable::create(**device, *program, {});
  ASSERT_TRUE(executable.ok());
  for (uint32_t i = 0; i < graph->num_parameters(); ++i)
    ASSERT_TRUE(executable->set_argument(i, arguments[i]).ok());
  ASSERT_TRUE(executable->run(nullptr).ok());
  for (uint32_t i = 0; i < graph->outputs().size(); ++i) {
    auto output = executable->output(i);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(output->bytes()), output->size_bytes()),
              std::string(reinterpret_cast<const char*>((*expected)[i].bytes()),
                          (*expected)[i].size_bytes()))
        << text;
  }
}

// The elements and where they came from.
std::string sort_of(const std::string& dtype, const std::string& shape, int dimension,
                    const std::string& direction) {
  const std::string d = std::to_string(dimension), type = dtype + "[" + shape + "]",
                    places = "i32[" + shape + "]";
  return "graph main(%x: " + type + ") {\n%i = iota() {iota_dimension = " + d + "} : " + places +
         "\n%r:2 = sort(%x, %i) {dimension = " + d + ", is_stable = 1} : " + type + ", " + places +
         " graph less(%a: " + dtype + "[], %b: " + dtype + "[], %c: i32[], %d: i32[]) {\n" +
         "%e = compare(%a, %b) {comparison_direction = \"" + direction +
         "\", compare_type = \"TOTALORDER\"} : i1[]\nreturn %e\n}\nreturn %r, %r#1\n}";
}

TEST(CpuSort, LengthsOfRows) {
  for (const char* shape : {"0", "1", "2", "3,0", "7,1", "5,2", "3,15", "2,16", "4,17", "3,33",
                            "2,255", "3,256", "2,257", "1000", "30011", "2,40000", "2,3,301"})
    for (const char* dtype : {"f32", "i32"}) {
      const auto rank = static_cast<int>(std::count(shape, shape + strlen(shape), ','));
      expect_evaluators(sort_of(dtype, shape, rank, "LT"));
    }
}

TEST(CpuSort, TypesAndDirections) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i1", "i8", "ui8", "i16", "ui16", "i32",
                            "ui32", "i64", "ui64"})
    for (const char* direction : {"LT", "GT"})
      for (const char* shape : {"3,61", "777"})
        expect_evaluators(sort_of(dtype, shape, shape[1] == ',' ? 1 : 0, direction));
}

TEST(CpuSort, AnyDimension) {
  for (int dimension : {0, 1, 2}) expect_evaluators(sort_of("f32", "40,7,29", dimension, "LT"));
  expect_evaluators(sort_of("i16", "30011,2", 0, "GT"));
}

// By the third key where the first two are alike; each is made of elements.
TEST(CpuSort, KeysOneAfterAnother) {
  for (const char* n : {"50", "3001", "40000"}) {
    std::string text = R"(graph main(%x: i8[N], %y: f32[N], %z: ui16[N]) {
  %r:3 = sort(%x, %y, %z) {dimension = 0, is_stable = 1} : i8[N], f32[N], ui16[N] graph less(%a: i8[], %b: i8[], %c: f32[], %d: f32[], %e: ui16[], %f: ui16[]) {
    %zero = constant f32[] 0
    %cz = compare(%c, %zero) {comparison_direction = "EQ", compare_type = "FLOAT"} : i1[]
    %c1 = select(%cz, %zero, %c) : f32[]
    %dz = compare(%d, %zero) {comparison_direction = "EQ", compare_type = "FLOAT"} : i1[]
    %d1 = select(%dz, %zero, %d) : f32[]
    %three = compare(%e, %f) {comparison_direction = "LT"} : i1[]
    %two = compare(%c1, %d1) {comparison_direction = "GT", compare_type = "TOTALORDER"} : i1[]
    %same2 = compare(%c1, %d1) {comparison_direction = "EQ", compare_type = "TOTALORDER"} : i1[]
    %one = compare(%b, %a) {comparison_direction = "GT"} : i1[]
    %same1 = compare(%a, %b) {comparison_direction = "EQ"} : i1[]
    %and2 = and(%same2, %three) : i1[]
    %or2 = or(%and2, %two) : i1[]
    %less = select(%same1, %or2, %one) : i1[]
    return %less
  }
  return %r, %r#1, %r#2
})";
    for (size_t at = 0; (at = text.find("[N]", at)) != std::string::npos;)
      text.replace(at, 3, "[" + std::string(n) + "]");
    expect_evaluators(text);
  }
}

// Not an order of keys: by sums of both operands.
TEST(CpuSort, OtherComparators) {
  const std::string text = R"(graph main(%x: i32[300], %y: i32[300]) {
  %r:2 = sort(%x, %y) {dimension = 0, is_stable = 1} : i32[300], i32[300] graph less(%a: i32[], %b: i32[], %c: i32[], %d: i32[]) {
    %two = constant i32[] 2
    %zero = constant i32[] 0
    %e = shift_right_arithmetic(%a, %two) : i32[]
    %f = shift_right_arithmetic(%b, %two) : i32[]
    %g = subtract(%e, %f) : i32[]
    %less = compare(%g, %zero) {comparison_direction = "LT"} : i1[]
    return %less
  }
  return %r, %r#1
})";
  Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (const Node& node : graph->nodes())
    EXPECT_FALSE(node.op == Op::kSort && sort_keys(*node.regions[0]).has_value());
  expect_evaluators(text);
}

}  // namespace
}  // namespace tuff
