// Kernels as native code give the bits that the interpreter gives, with AVX2 and with AVX-512, for
// sizes around those of vectors and blocks; maps of the common types have native code.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "backend/compile.h"
#include "backend/cpu/device.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/native/kernel_function.h"
#include "backend/cpu/native/lanes_inside.h"
#include "backend/cpu/native/loop_code.h"
#include "backend/executable.h"
#include "ir/text/parse.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {
namespace {

struct Map {
  const char* name;
  const char* text;  // N and M stand for sizes
};
void PrintTo(const Map& map, std::ostream* out) { *out << map.name; }

Graph graph_of(const Map& map, int64_t n) {
  std::string text;
  for (const char* c = map.text; *c != 0; ++c) {
    bool size = (*c == 'N' || *c == 'M') && std::isalpha(c[1]) == 0 && std::isalpha(c[-1]) == 0;
    text += size ? std::to_string(*c == 'N' ? n : n + 3) : std::string(1, *c);
  }
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << text;
  return std::move(*graph);
}

// Ordinary numbers, with all kinds of others strewn in.
Literal sample(const TensorType& type) {
  constexpr double kOdd[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN,  1e-40,
                             3e38, 1e-38, -2.5,     0.5,       1e10, -200.0};
  Literal values(type);
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    if (!is_float(type.dtype))
      values.set_int(i, (i * 7919 + 13) * (i % 3 == 0 ? 48611 : i % 3 == 1 ? -3 : 1));
    else
      values.set_double(i, i % 5 == 3 ? kOdd[static_cast<size_t>(i / 5) % std::size(kOdd)]
                                      : 4 * std::sin(0.7 * static_cast<double>(i) + 0.3));
  }
  return values;
}

using Outputs = std::vector<std::vector<std::byte>>;

Result<Outputs> run(const Graph& graph, int64_t interpreted_rounds) {
  TUFF_ASSIGN(auto device, create_cpu_device({.interpreted_rounds = interpreted_rounds}));
  CompileOptions options;
  options.verify = true;
  TUFF_ASSIGN(auto program, compile(graph, device->caps(), options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(*device, program, {}));
  uint32_t next = 0;
  for (const Node& node : graph.nodes())
    if (node.op == Op::kParameter)
      TUFF_RETURN_IF_ERROR(executable.set_argument(next++, sample(node.types[0])));
  TUFF_RETURN_IF_ERROR(executable.run(nullptr));
  Outputs outputs;
  for (uint32_t i = 0; i < program->outputs.size(); ++i) {
    TUFF_ASSIGN(Literal output, executable.output(i));
    outputs.emplace_back(output.bytes(), output.bytes() + output.size_bytes());
  }
  return outputs;
}

class NativeMap : public testing::TestWithParam<std::tuple<Map, const char*>> {
 protected:
  void SetUp() override { setenv("TUFF_CPU_ISA", std::get<1>(GetParam()), 1); }
  void TearDown() override { unsetenv("TUFF_CPU_ISA"); }
};

TEST_P(NativeMap, GivesTheInterpretersBits) {
  for (int64_t n : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 61, 512, 521, 1027}) {
    Graph graph = graph_of(std::get<0>(GetParam()), n);
    auto expected = run(graph, CpuDeviceOptions::kInterpreted);
    ASSERT_TRUE(expected.ok()) << expected.error().to_string();
    auto actual = run(graph, 0);
    ASSERT_TRUE(actual.ok()) << actual.error().to_string();
    EXPECT_EQ(*actual, *expected) << n;
  }
}

TEST_P(NativeMap, IsNative) {
  Result<cpu::IsaLevel> level = cpu::chosen_isa_level();
  if (!cpu::native::has_native_code() || !level.ok() || *level < cpu::IsaLevel::kAvx2)
    GTEST_SKIP() << "no native code here";
  auto device = create_cpu_device();
  Graph graph = graph_of(std::get<0>(GetParam()), 521);
  auto program = compile(graph, (*device)->caps(), {}, nullptr);
  ASSERT_TRUE(program.ok());
  int lanes = *level == cpu::IsaLevel::kAvx2 ? 8 : 16;
  for (const Step& step : (*program)->steps) {
    if (step.kind != Step::Kind::kDispatch) continue;
    const Kernel& kernel = (*program)->kernels[step.kernel];
    auto code = cpu::native::KernelFunction::compile(kernel, step.params, lanes);
    EXPECT_TRUE(code.has_value()) << print_kernel(kernel);
  }
}

// Rows that are long enough for lanes to share them, arrays and reductions of lanes included.
TEST(NativeRows, AreNative) {
  Result<cpu::IsaLevel> level = cpu::chosen_isa_level();
  if (!cpu::native::has_native_code() || !level.ok() || *level < cpu::IsaLevel::kAvx512)
    GTEST_SKIP() << "no native code of narrow types here";
  auto device = create_cpu_device();
  Result<Graph> graph = parse_graph(R"(graph main(%x: f32[64,200]) {
  %zero = constant f32[] -inf
  %m = reduce(%x, %zero) {dimensions = [1]} : f32[64] graph body(%a: f32[], %b: f32[]) {
    %c = maximum(%a, %b) : f32[]
    return %c
  }
  %w = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : f32[64,200]
  %d = subtract(%x, %w) : f32[64,200]
  %q = convert(%d) : i8[64,200]
  return %q
})");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto program = compile(*graph, (*device)->caps(), {}, nullptr);
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  ASSERT_EQ((*program)->kernels.size(), 1u);
  const Step& step = (*program)->steps[0];
  const Kernel& kernel = (*program)->kernels[step.kernel];
  EXPECT_TRUE(cpu::native::KernelFunction::compile(kernel, step.params, 16).has_value())
      << print_kernel(kernel);
}

// Lanes that each sum p0 elements, 64 apart, with a factor of their own.
constexpr const char* kWalk = R"(kernel rows lanes 64 params 1 {
  buffer b0: f32 write
  buffer b1: f32 read
  register r0: f32[1]
  grid %0 < 1 {
    lane %1 < 64 {
      write r0[0] = 0.0
      %2 = i32 multiply %1, 2
      %3 = f32 FACTOR
      serial %4 < p0 {
        %5 = i32 multiply %4, 64
        %6 = i32 add %5, %1
        %7 = f32 load b1[%6]
        %8 = f32 read r0[0]
        %9 = f32 multiply %3, %7
        %10 = f32 add %8, %9
        write r0[0] = %10
      }
      %11 = f32 read r0[0]
      store b0[%2] = %11
    }
  }
}
)";

Result<Kernel> walk_with(std::string factor) {
  std::string text = kWalk;
  text.replace(text.find("FACTOR"), 6, factor);
  return parse_kernel(text, "walk");
}

// What becomes of it: what is declared and done for the factor before the steps, and in each.
void expect_turned(const std::string& factor, const std::string& declared,
                   const std::string& before, const std::string& inside) {
  Result<Kernel> kernel = walk_with(factor);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  std::optional<Kernel> turned = cpu::native::with_lanes_inside(*kernel);
  ASSERT_TRUE(turned.has_value());
  EXPECT_EQ(print_kernel(*turned), R"(kernel rows lanes 64 params 1 {
  buffer b0: f32 write
  buffer b1: f32 read
  register r0: f32[1]
)" + declared + R"(  grid %0 < 1 {
    lane %1 < 64 {
      write r0[0] = 0.0
      %2 = i32 multiply %1, 2
)" + before + R"(    }
    serial %4 < p0 {
      lane %1 < 64 {
)" + inside + R"(        %5 = i32 multiply %4, 64
        %6 = i32 add %5, %1
        %7 = f32 load b1[%6]
        %8 = f32 read r0[0]
        %9 = f32 multiply %3, %7
        %10 = f32 add %8, %9
        write r0[0] = %10
      }
    }
    lane %1 < 64 {
      %2 = i32 multiply %1, 2
      %11 = f32 read r0[0]
      store b0[%2] = %11
    }
  }
}
)");
}

TEST(NativeRows, LongWalksAreStepsOfAllLanes) {
  expect_turned("convert %1", "", "      %3 = f32 convert %1\n", "        %3 = f32 convert %1\n");
}

// What is loaded before the steps is not loaded again.
TEST(NativeRows, WhatStepsNeedIsKept) {
  expect_turned("load b1[%1]", "  register r1: f32[1]\n",
                "      %3 = f32 load b1[%1]\n      write r1[0] = %3\n",
                "        %3 = f32 read r1[0]\n");
}

// Where lanes walk each as far as they want, a step is not one of all lanes.
TEST(NativeRows, LongWalksThatCannotBeTurnedStayInterpreted) {
  Result<cpu::IsaLevel> level = cpu::chosen_isa_level();
  if (!cpu::native::has_native_code() || !level.ok() || *level < cpu::IsaLevel::kAvx2)
    GTEST_SKIP() << "no native code here";
  auto is_native = [&](const Kernel& kernel, int32_t steps) {
    return cpu::native::KernelFunction::compile(kernel, std::vector<int32_t>{steps}, 8).has_value();
  };
  std::string own_steps = kWalk;
  own_steps.replace(own_steps.find("FACTOR"), 6, "convert %1");
  own_steps.replace(own_steps.find("serial %4 < p0"), 14, "serial %4 < %2");
  Result<Kernel> turns = walk_with("load b1[%1]"), stays = parse_kernel(own_steps, "walk");
  ASSERT_TRUE(turns.ok() && stays.ok());
  EXPECT_FALSE(cpu::native::with_lanes_inside(*stays).has_value());
  EXPECT_FALSE(is_native(*stays, 1));
  for (int32_t steps : {0, 1, 8, 128, 129, 100000, INT32_MAX})
    EXPECT_TRUE(is_native(*turns, steps)) << steps;
}

// Of numbers: which of two that are none a sum keeps is up to the order of an instruction's
// operands.
TEST(NativeRows, ColumnsGiveTheInterpretersBits) {
  for (int64_t n : {1, 15, 37, 600}) {
    std::string text = R"(graph main(%x: f32[700,N], %y: f32[N]) {
  %zero = constant f32[] 0
  %s0 = is_finite(%x) : i1[700,N]
  %z0 = broadcast_in_dim(%zero) {broadcast_dimensions = []} : f32[700,N]
  %v = select(%s0, %x, %z0) : f32[700,N]
  %s1 = is_finite(%y) : i1[N]
  %z1 = broadcast_in_dim(%zero) {broadcast_dimensions = []} : f32[N]
  %u = select(%s1, %y, %z1) : f32[N]
  %w = broadcast_in_dim(%u) {broadcast_dimensions = [1]} : f32[700,N]
  %p = multiply(%v, %w) : f32[700,N]
  %s = reduce(%p, %zero) {dimensions = [0]} : f32[N] graph body(%a: f32[], %b: f32[]) {
    %c = add(%a, %b) : f32[]
    return %c
  }
  %t = abs(%s) : f32[N]
  return %t
})";
    for (size_t at; (at = text.find('N')) != std::string::npos;)
      text.replace(at, 1, std::to_string(n));
    Result<Graph> graph = parse_graph(text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    auto expected = run(*graph, CpuDeviceOptions::kInterpreted), actual = run(*graph, 0);
    ASSERT_TRUE(expected.ok() && actual.ok());
    EXPECT_EQ(*actual, *expected) << n;
  }
}

constexpr Map kMaps[] = {{"Floats", R"(graph main(%x: f32[N], %y: f32[N]) {
  %a = add(%x, %y) : f32[N]
  %b = multiply(%a, %x) : f32[N]
  %c = divide(%b, %y) : f32[N]
  %d = subtract(%c, %x) : f32[N]
  %e = maximum(%d, %y) : f32[N]
  %f = abs(%e) : f32[N]
  %g = sqrt(%f) : f32[N]
  %h = floor(%d) : f32[N]
  return %g, %h
})"},
                         {"Functions", R"(graph main(%x: f32[N]) {
  %a = exponential(%x) : f32[N]
  %b = tanh(%x) : f32[N]
  %c = logistic(%x) : f32[N]
  %d = sine(%x) : f32[N]
  %e = abs(%x) : f32[N]
  %f = log(%e) : f32[N]
  %g = power(%e, %b) : f32[N]
  return %a, %b, %c, %d, %f, %g
})"},
                         {"Select", R"(graph main(%x: f32[N], %y: f32[N]) {
  %c = compare(%x, %y) {comparison_direction = "LT"} : i1[N]
  %d = compare(%x, %y) {comparison_direction = "NE"} : i1[N]
  %e = and(%c, %d) : i1[N]
  %f = select(%e, %x, %y) : f32[N]
  %g = not(%c) : i1[N]
  return %f, %g
})"},
                         {"Integers", R"(graph main(%x: i32[N], %y: ui32[N], %p: i1[N]) {
  %a = multiply(%x, %x) : i32[N]
  %b = convert(%y) : i32[N]
  %c = subtract(%a, %b) : i32[N]
  %d = xor(%c, %x) : i32[N]
  %e = minimum(%d, %b) : i32[N]
  %f = convert(%e) : f32[N]
  %g = select(%p, %e, %x) : i32[N]
  %h = shift_right_logical(%y, %y) : ui32[N]
  %i = convert(%h) : f32[N]
  return %f, %g, %i
})"},
                         {"Broadcasts", R"(graph main(%x: f32[M,N], %y: f32[N], %z: f32[M]) {
  %a = broadcast_in_dim(%y) {broadcast_dimensions = [1]} : f32[M,N]
  %b = broadcast_in_dim(%z) {broadcast_dimensions = [0]} : f32[M,N]
  %c = multiply(%x, %a) : f32[M,N]
  %d = add(%c, %b) : f32[M,N]
  %e = tanh(%d) : f32[M,N]
  return %e
})"},
                         {"Views", R"(graph main(%x: f32[M,N]) {
  %b = reverse(%x) {dimensions = [0, 1]} : f32[M,N]
  %i = iota() {iota_dimension = 1} : i32[M,N]
  %f = convert(%i) : f32[M,N]
  %c = add(%b, %f) : f32[M,N]
  return %c
})"},
                         {"Division", R"(graph main(%x: i32[N], %y: ui32[N]) {
  %a = constant i32[] 7
  %b = broadcast_in_dim(%a) {broadcast_dimensions = []} : i32[N]
  %c = constant i32[] -13
  %d = broadcast_in_dim(%c) {broadcast_dimensions = []} : i32[N]
  %e = constant ui32[] 2147483651
  %f = broadcast_in_dim(%e) {broadcast_dimensions = []} : ui32[N]
  %g = constant ui32[] 16
  %h = broadcast_in_dim(%g) {broadcast_dimensions = []} : ui32[N]
  %i = divide(%x, %b) : i32[N]
  %j = remainder(%x, %d) : i32[N]
  %k = divide(%y, %f) : ui32[N]
  %l = remainder(%y, %h) : ui32[N]
  %two = constant i32[] 2
  %m = broadcast_in_dim(%two) {broadcast_dimensions = []} : i32[N]
  %most = constant i32[] 2147483647
  %n = broadcast_in_dim(%most) {broadcast_dimensions = []} : i32[N]
  %large = constant i32[] 1000003
  %o = broadcast_in_dim(%large) {broadcast_dimensions = []} : i32[N]
  %p = remainder(%x, %m) : i32[N]
  %q = divide(%x, %n) : i32[N]
  %r = remainder(%x, %o) : i32[N]
  return %i, %j, %k, %l, %p, %q, %r
})"},
                         {"EverySecondAndThird", R"(graph main(%x: f32[3,N], %y: i32[N,3]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[N,3]
  %r = reverse(%y) {dimensions = [1]} : i32[N,3]
  %f = convert(%r) : f32[N,3]
  %a = multiply(%t, %f) : f32[N,3]
  return %a
})"},
                         {"Pieces", R"(graph main(%x: f32[N,3], %y: f32[N,3]) {
  %a = slice(%x) {start_indices = [0, 0], limit_indices = [N, 1], strides = [1, 1]} : f32[N,1]
  %b = slice(%y) {start_indices = [0, 1], limit_indices = [N, 3], strides = [1, 2]} : f32[N,1]
  %c = slice(%x) {start_indices = [0, 0], limit_indices = [N, 3], strides = [1, 2]} : f32[N,2]
  %d = multiply(%a, %b) : f32[N,1]
  %e = tanh(%c) : f32[N,2]
  %f = subtract(%b, %a) : f32[N,1]
  %g = concatenate(%d, %e, %f) {dimension = 1} : f32[N,4]
  %h = concatenate(%d, %e, %f, %e, %d) {dimension = 1} : f32[N,7]
  %i = reverse(%h) {dimensions = [0]} : f32[N,7]
  return %g, %i
})"},
                         {"Repeated", R"(graph main(%x: f32[N], %y: f32[N,5]) {
  %a = broadcast_in_dim(%x) {broadcast_dimensions = [0]} : f32[N,6]
  %b = reshape(%a) : f32[N,2,3]
  %c = broadcast_in_dim(%y) {broadcast_dimensions = [0, 2]} : f32[N,2,5]
  %d = exponential(%c) : f32[N,2,5]
  %e = negate(%b) : f32[N,2,3]
  return %d, %e
})"},
                         {"Rolled", R"(graph main(%x: f32[M,M]) {
  %z = constant f32[] 0.5
  %p = pad(%x, %z) {edge_padding_low = [3, 0], edge_padding_high = [-3, 0], interior_padding = [0, 0]} : f32[M,M]
  %q = pad(%x, %z) {edge_padding_low = [0, -3], edge_padding_high = [0, 3], interior_padding = [0, 0]} : f32[M,M]
  %a = add(%p, %q) : f32[M,M]
  %b = multiply(%a, %x) : f32[M,M]
  return %b
})"}};

// AVX2 has no stores of these.
constexpr Map kNarrowMaps[] = {
    {"Bytes", R"(graph main(%x: i8[N], %y: ui8[N], %s: i8[]) {
  %a = multiply(%x, %x) : i8[N]
  %b = convert(%y) : i32[N]
  %c = multiply(%b, %b) : i32[N]
  %d = convert(%c) : ui8[N]
  %e = add(%d, %y) : ui8[N]
  %f = shift_right_logical(%x, %a) : i8[N]
  %g = broadcast_in_dim(%s) {broadcast_dimensions = []} : i8[N]
  %h = subtract(%a, %g) : i8[N]
  %i = convert(%h) : f32[N]
  return %h, %e, %f, %i
})"},
    {"Pixels", R"(graph main(%x: ui8[3,64], %y: f16[6,N]) {
  %t = transpose(%x) {permutation = [1, 0]} : ui8[64,3]
  %a = convert(%t) : f32[64,3]
  %b = add(%t, %t) : ui8[64,3]
  %c = reverse(%y) {dimensions = [1]} : f16[6,N]
  %d = add(%c, %y) : f16[6,N]
  return %a, %b, %d
})"},
    {"Shorts", R"(graph main(%x: i16[N], %y: ui16[N], %z: f32[N]) {
  %a = multiply(%x, %x) : i16[N]
  %b = negate(%a) : i16[N]
  %c = add(%y, %y) : ui16[N]
  %d = convert(%z) : i16[N]
  %e = maximum(%b, %d) : i16[N]
  %f = convert(%c) : i8[N]
  %g = not(%y) : ui16[N]
  return %e, %f, %g
})"},
    {"Halves", R"(graph main(%x: f16[N], %y: bf16[N], %z: f32[N], %s: f16[], %t: bf16[]) {
  %a = tanh(%x) : f16[N]
  %b = multiply(%a, %x) : f16[N]
  %k = broadcast_in_dim(%s) {broadcast_dimensions = []} : f16[N]
  %c = add(%b, %k) : f16[N]
  %d = multiply(%y, %y) : bf16[N]
  %l = broadcast_in_dim(%t) {broadcast_dimensions = []} : bf16[N]
  %e = divide(%d, %l) : bf16[N]
  %f = convert(%z) : f16[N]
  %g = maximum(%f, %c) : f16[N]
  %h = convert(%z) : bf16[N]
  %i = subtract(%h, %e) : bf16[N]
  %j = convert(%x) : i8[N]
  return %g, %i, %j
})"}};

INSTANTIATE_TEST_SUITE_P(Narrow, NativeMap,
                         testing::Combine(testing::ValuesIn(kNarrowMaps),
                                          testing::Values("avx512")),
                         [](const auto& info) { return std::get<0>(info.param).name; });

INSTANTIATE_TEST_SUITE_P(
    Maps, NativeMap, testing::Combine(testing::ValuesIn(kMaps), testing::Values("avx2", "avx512")),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
    });

}  // namespace
}  // namespace tuff
