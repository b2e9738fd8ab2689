// FLOP and bytes of steps, counted by hand.
#include "backend/cost.h"

#include <gmock/gmock.h>

#include "backend/compile.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

std::shared_ptr<const Program> compiled(const std::string& text, bool library_calls = false) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  Caps caps;
  caps.library_calls = library_calls;
  auto program = compile(*graph, caps, {}, nullptr);
  EXPECT_TRUE(program.ok()) << program.error().to_string();
  return *program;
}

constexpr const char* kMatmulRelu = R"(graph main(%x: f32[3,5], %w: f32[5,7]) {
  %2 = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[3,7]
  %3 = tanh(%2) : f32[3,7]
  return %3
}
)";

TEST(Cost, PrecisionIsWhatMostMatmulsTake) {
  auto precision = [](const std::string& text) {
    auto graph = parse_graph(text);
    return graph.ok() ? matmul_precision(*graph) : graph.error().to_string();
  };
  EXPECT_EQ(precision(kMatmulRelu), "f32");
  EXPECT_EQ(precision("graph main(%x: bf16[3]) {\n  return %x\n}\n"), "f32");
  EXPECT_EQ(precision(R"(graph main(%x: bf16[3,5], %w: bf16[5,7], %y: f32[1,2], %z: f32[2,1]) {
  %4 = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[3,7]
  %5 = dot_general(%y, %z) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[1,1]
  return %4, %5
}
)"),
            "bf16");
}

TEST(Cost, MatmulWithItsStore) {
  auto program = compiled(kMatmulRelu);
  ASSERT_EQ(program->steps.size(), 1u);
  const StepCost& cost = program->steps[0].cost;
  EXPECT_EQ(cost.flops, 2 * 3 * 5 * 7 + 3 * 7);
  EXPECT_EQ(cost.read_bytes, 4 * (3 * 5 + 5 * 7));
  EXPECT_EQ(cost.written_bytes, 4 * 3 * 7);
  EXPECT_EQ(main_op(*program->steps[0].region, false), Op::kDotGeneral);
  // The dot's result would have been written once and read once.
  EXPECT_EQ(fused_bytes(*program->steps[0].region), 2 * 4 * 3 * 7);
}

TEST(Cost, LibraryCallAndTheMapAfterItShareTheWork) {
  auto program = compiled(kMatmulRelu, true);
  ASSERT_EQ(program->steps.size(), 2u);
  EXPECT_EQ(program->steps[0].cost.flops, 2 * 3 * 5 * 7);
  EXPECT_EQ(program->steps[1].cost.flops, 3 * 7);
  EXPECT_EQ(program->steps[1].cost.read_bytes, 4 * 3 * 7);
  EXPECT_EQ(main_op(*program->steps[1].region, true), Op::kTanh);
}

TEST(Cost, RowsCountTheReductionAndWhatIsAroundIt) {
  auto program = compiled(R"(graph main(%x: f32[4,9]) {
  %zero = constant f32[] 0
  %e = exponential(%x) : f32[4,9]
  %r = reduce(%e, %zero) {dimensions = [1]} : f32[4] applies add
  return %r
}
)");
  ASSERT_EQ(program->steps.size(), 1u);
  EXPECT_EQ(program->steps[0].cost.flops, 4 * 9 + 4 * 9);
  EXPECT_EQ(program->steps[0].cost.read_bytes, 4 * 4 * 9);
}

TEST(Cost, ALookIntoATableCountsWhatItTakes) {
  auto program = compiled(R"(graph main(%x: f32[1000,8], %i: i32[], %j: i32[]) {
  %3 = dynamic_slice(%x, %i, %j) {slice_sizes = [2, 4]} : f32[2,4]
  return %3
}
)");
  ASSERT_EQ(program->steps.size(), 1u);
  EXPECT_EQ(program->steps[0].cost.flops, 0);
  EXPECT_EQ(program->steps[0].cost.read_bytes, 4 * 2 * 4 + 4 + 4);
}

}  // namespace
}  // namespace tuff
