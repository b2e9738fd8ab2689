// Which loops become kernels, and what is left of them.
#include "backend/plan/join_loops.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "ir/text/parse.h"
#include "shaders/kernel/kernel_text.h"
#include "tests/kernels/caps_profile.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Caps profile(const std::string& name) {
  Result<Caps> caps = test::read_caps_profile(name);
  EXPECT_TRUE(caps.ok()) << (caps.ok() ? "" : caps.error().to_string());
  return caps.ok() ? *caps : Caps();
}

Program compiled(const std::string& text, const Caps& caps) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string());
  CompileOptions options;
  options.verify = true;
  options.disabled = {"unroll"};
  auto program = compile(*graph, caps, options, nullptr);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().to_string());
  return program.ok() ? **program : Program();
}

// A scan: a state of 64 floats goes through a reduction, a row of the results is kept each round.
std::string scan(const std::string& rounds) {
  return R"(graph main(%s: f32[64]) {
  %zero = constant i32[] 0
  %nothing = constant f32[] 0.0
  %ys = broadcast_in_dim(%nothing) {broadcast_dimensions = []} : f32[)" +
         rounds + R"(, 64]
  %w:3 = while(%zero, %s, %ys) : i32[], f32[64], f32[)" +
         rounds + R"(, 64] graph cond(%i: i32[], %a: f32[64], %y: f32[)" + rounds + R"(, 64]) {
    %n = constant i32[] )" +
         rounds + R"(
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[64], %y: f32[)" +
         rounds + R"(, 64]) {
    %one = constant i32[] 1
    %first = constant i32[] 0
    %none = constant f32[] 0.0
    %j = add(%i, %one) : i32[]
    %sum = reduce(%a, %none) {dimensions = [0]} : f32[] graph (%p: f32[], %q: f32[]) {
      %r = add(%p, %q) : f32[]
      return %r
    }
    %all = broadcast_in_dim(%sum) {broadcast_dimensions = []} : f32[64]
    %t = tanh(%all) : f32[64]
    %b = subtract(%a, %t) : f32[64]
    %row = reshape(%b) : f32[1, 64]
    %z = dynamic_update_slice(%y, %row, %i, %first) : f32[)" +
         rounds + R"(, 64]
    return %j, %b, %z
  }
  return %w#1, %w#2
})";
}

// Newton's method until a value is small enough; the rounds are not known.
const char* const kUntil = R"(graph main(%x: f32[64]) {
  %w = while(%x) : f32[64] graph cond(%a: f32[64]) {
    %none = constant f32[] 0.0
    %sum = reduce(%a, %none) {dimensions = [0]} : f32[] graph (%p: f32[], %q: f32[]) {
      %r = add(%p, %q) : f32[]
      return %r
    }
    %least = constant f32[] 1.0
    %c = compare(%sum, %least) {comparison_direction = "GT"} : i1[]
    return %c
  } graph body(%a: f32[64]) {
    %r = reverse(%a) {dimensions = [0]} : f32[64]
    %s = add(%a, %r) : f32[64]
    %t = tanh(%s) : f32[64]
    return %t
  }
  return %w
})";

int64_t loops_of(const Program& program) {
  int64_t loops = 0;
  for_each_step(program.steps,
                [&](const Step& step, int) { loops += step.kind == Step::Kind::kWhile; });
  return loops;
}

std::string joined_text(const Program& program) {
  std::string text;
  for (const Kernel& kernel : program.kernels)
    if (kernel.family == "steps") text += print_kernel(kernel);
  return text;
}

TEST(JoinLoops, AScanIsOneDispatch) {
  for (const char* name : {"software", "discrete32", "discrete64", "phone"}) {
    SCOPED_TRACE(name);
    Caps caps = profile(name);
    caps.max_loop_iterations = Caps().max_loop_iterations;
    Program program = compiled(scan("10000"), caps);
    EXPECT_EQ(loops_of(program), 0);
    EXPECT_THAT(joined_text(program), HasSubstr("serial %0 < p0 {"));
  }
}

TEST(JoinLoops, AnUnknownEndIsAskedForSeldom) {
  Program program = compiled(kUntil, profile("discrete32"));
  ASSERT_EQ(loops_of(program), 1);
  for (const Step& step : program.steps) {
    if (step.kind != Step::Kind::kWhile) continue;
    ASSERT_EQ(step.blocks[0].size(), 1u);
    EXPECT_EQ(step.blocks[0][0].workgroups, 1);
    EXPECT_GE(step.blocks[0][0].params[0], 100);
    EXPECT_TRUE(step.blocks[1].empty());
  }
  EXPECT_THAT(joined_text(program), HasSubstr("break_unless"));
}

TEST(JoinLoops, TheCpuRunsStepsByThemselves) {
  EXPECT_EQ(loops_of(compiled(scan("10000"), Caps())), 1);
}

// A device that ends loops silently runs as many rounds as it may at a time.
TEST(JoinLoops, RoundsStayBelowTheDevicesMost) {
  Caps caps = profile("software");
  caps.max_loop_iterations = 65535;
  Program program = compiled(scan("100000"), caps);
  int64_t rounds = 0;
  for (const Step& step : program.steps) {
    if (step.kind == Step::Kind::kWhile) rounds += *step.trip_count * step.blocks[1][0].params[0];
    bool joined =
        step.kind == Step::Kind::kDispatch && program.kernels[step.kernel].family == "steps";
    if (joined) rounds += step.params[0];
  }
  EXPECT_EQ(rounds, 100000);
  for_each_step(program.steps, [&](const Step& step, int) {
    if (step.kind == Step::Kind::kDispatch && program.kernels[step.kernel].family == "steps") {
      EXPECT_LT(step.params[0], 65535);
    }
  });
}

TEST(JoinLoops, MuchWorkStaysApart) {
  Program program = compiled(R"(graph main(%x: f32[512, 512]) {
  %zero = constant i32[] 0
  %w:2 = while(%zero, %x) : i32[], f32[512, 512] graph cond(%i: i32[], %a: f32[512, 512]) {
    %n = constant i32[] 100
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[512, 512]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %b = dot_general(%a, %a) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[512, 512]
    return %j, %b
  }
  return %w#1
})",
                             profile("discrete32"));
  EXPECT_EQ(loops_of(program), 1);
  EXPECT_EQ(joined_text(program), "");
}

// Cholesky's kernel is wider than a subgroup of a software device, whose driver would take long.
TEST(JoinLoops, WideKernelsStayApartOnSoftwareDevices) {
  const std::string text = R"(graph main(%x: f32[4, 4]) {
  %zero = constant i32[] 0
  %w:2 = while(%zero, %x) : i32[], f32[4, 4] graph cond(%i: i32[], %a: f32[4, 4]) {
    %n = constant i32[] 100
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %a: f32[4, 4]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
    %b = cholesky(%a) {lower = 1} : f32[4, 4]
    return %j, %b
  }
  return %w#1
})";
  EXPECT_EQ(loops_of(compiled(text, profile("software"))), 1);
  EXPECT_EQ(loops_of(compiled(text, profile("discrete32"))), 0);
}

// A software driver takes long for a kernel that reaches for memory in many places.
TEST(JoinLoops, ManyAccessesStayApartOnSoftwareDevices) {
  auto products = [](int count) {
    std::string text = R"(graph main(%x: f32[8, 8]) {
  %zero = constant i32[] 0
  %w:2 = while(%zero, %x) : i32[], f32[8, 8] graph cond(%i: i32[], %a: f32[8, 8]) {
    %n = constant i32[] 100
    %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
    return %c
  } graph body(%i: i32[], %p0: f32[8, 8]) {
    %one = constant i32[] 1
    %j = add(%i, %one) : i32[]
)";
    for (int i = 0; i < count; ++i)
      text += fmt::format(
          "    %p{0} = dot_general(%p{1}, %p{1}) {{lhs_contracting_dimensions = [1], "
          "rhs_contracting_dimensions = [0]}} : f32[8, 8]\n",
          i + 1, i);
    return text + fmt::format("    return %j, %p{}\n  }}\n  return %w#1\n}}", count);
  };
  EXPECT_EQ(loops_of(compiled(products(3), profile("software"))), 0);
  EXPECT_EQ(loops_of(compiled(products(24), profile("software"))), 1);
}

TEST(JoinLoops, TooFewBuffers) {
  Caps caps = profile("discrete32");
  caps.max_storage_buffers = 5;  // what its steps take
  EXPECT_EQ(joined_text(compiled(scan("10000"), caps)), "");
}

}  // namespace
}  // namespace tuff
