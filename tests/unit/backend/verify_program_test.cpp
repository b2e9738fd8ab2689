// Seeded faults in programs: each is found.
#include "backend/verify/verify_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "backend/plan/assemble.h"
#include "ir/text/parse.h"

namespace tuff {
namespace {

using ::testing::HasSubstr;

Program compiled(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string());
  CompileOptions options;
  options.disabled = {"unroll"};
  options.verify = true;
  auto program = compile(*graph, Caps(), options, nullptr);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().to_string());
  return program.ok() ? **program : Program();
}

std::string fault(const Program& program) {
  Status status = verify_program(program, Caps());
  return status.ok() ? "" : status.error().to_string();
}

// Three steps, one after the other, over two temporaries.
Program chain() {
  return compiled(R"(graph main(%x: f32[64, 64], %y: f32[64, 64]) {
    %a = dot_general(%x, %y) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64, 64]
    %b = dot_general(%a, %x) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64, 64]
    %c = dot_general(%b, %a) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64, 64]
    return %c
  })");
}

Program loop() {
  return compiled(R"(graph main(%n: i32[], %x: f32[64]) {
    %w:2 = while(%n, %x) : i32[], f32[64] graph cond(%i: i32[], %a: f32[64]) {
      %zero = constant i32[] 0
      %c = compare(%i, %zero) {comparison_direction = "GT"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[64]) {
      %one = constant i32[] 1
      %j = subtract(%i, %one) : i32[]
      %r = reverse(%a) {dimensions = [0]} : f32[64]
      return %j, %r
    }
    return %w#1
  })");
}

size_t written_by(const Program& program, const Step& step) {
  const std::vector<BufferDecl>& buffers = program.kernels[step.kernel].buffers;
  for (size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].access != Access::kRead) return b;
  return 0;
}

// A binding of the last step that lies in the arena.
Range& temporary_of(Step& step) {
  for (Range& range : step.bindings)
    if (range.space == Range::Space::kArena) return range;
  return step.bindings[0];
}

TEST(VerifyProgram, FindsNoFaultInCompiledOnes) {
  ASSERT_EQ(chain().steps.size(), 3u);
  EXPECT_EQ(fault(chain()), "");
  EXPECT_EQ(fault(loop()), "");
}

TEST(VerifyProgram, FindsAShiftedOffset) {
  Program program = chain();
  temporary_of(program.steps.back()).offset_bytes += 64;
  program.arena_bytes += 64;
  EXPECT_THAT(fault(program), HasSubstr("was not written as a whole"));
}

TEST(VerifyProgram, FindsARangeThatLeavesTheArena) {
  Program program = chain();
  program.arena_bytes -= 64;
  EXPECT_THAT(fault(program), HasSubstr("leaves its"));
}

TEST(VerifyProgram, FindsAnUnalignedRange) {
  Program program = chain();
  program.arena_bytes += 64;
  for (Step& step : program.steps)
    for (Range& range : step.bindings)
      if (range.space == Range::Space::kArena) range.offset_bytes += 4;
  EXPECT_THAT(fault(program), HasSubstr("is not aligned"));
}

TEST(VerifyProgram, FindsAMissingBarrier) {
  Program program = chain();
  program.steps[1].barrier = false;
  EXPECT_THAT(fault(program), HasSubstr("without a barrier between"));
}

TEST(VerifyProgram, FindsABlockWithoutABarrier) {
  Program program = loop();
  for_each_step(program.steps, [](Step& step, int) {
    for (Steps& block : step.blocks)
      if (!block.empty()) block[0].barrier = false;
  });
  EXPECT_THAT(fault(program), HasSubstr("no barrier stands where a block begins"));
}

// The second temporary takes the first one's place, half of it, before its last read.
TEST(VerifyProgram, FindsALifetimeThatEndsTooEarly) {
  Program program = chain();
  Range first = program.steps[0].bindings[written_by(program, program.steps[0])];
  Range& second = program.steps[1].bindings[written_by(program, program.steps[1])];
  Range moved = second;
  moved.offset_bytes = first.offset_bytes + first.size_bytes / 2;
  program.arena_bytes += first.size_bytes;
  for (Range& range : program.steps[2].bindings)
    if (range == second) range = moved;
  second = moved;
  EXPECT_THAT(fault(program), HasSubstr("lies"));  // step 1 reads what it then writes to
  program.steps[1].bindings = program.steps[0].bindings;
  program.steps[1].bindings[written_by(program, program.steps[1])] = moved;
  EXPECT_THAT(fault(program), HasSubstr("was not written as a whole or not since"));
}

TEST(VerifyProgram, FindsAResultInTheWayOfAnOperand) {
  Program program = chain();
  size_t written = written_by(program, program.steps[0]);
  program.steps[1].bindings[written] =
      program.steps[0].bindings[written_by(program, program.steps[0])];
  EXPECT_THAT(fault(program), HasSubstr("it writes binding"));
}

TEST(VerifyProgram, FindsAWrittenConstantOrArgument) {
  Program program = chain();
  program.steps[0].bindings[written_by(program, program.steps[0])] = {Range::Space::kArgument, 0, 0,
                                                                      64 * 64 * 4};
  EXPECT_THAT(fault(program), HasSubstr("it writes to argument 0"));
}

TEST(VerifyProgram, FindsAnOutputThatNobodyWrites) {
  Program program = chain();
  program.steps.pop_back();
  EXPECT_THAT(fault(program), HasSubstr("no step leaves a value there"));
}

TEST(VerifyProgram, FindsAGridThatIsNotTheKernels) {
  Program program = chain();
  program.steps[0].workgroups += 1;
  EXPECT_THAT(fault(program), HasSubstr("points, and"));
}

TEST(VerifyProgram, FindsAnInvalidKernel) {
  Program program = chain();
  program.kernels[0].lanes = 0;
  EXPECT_THAT(fault(program), HasSubstr("A kernel is not valid"));
}

TEST(VerifyProgram, FindsARoundThatMissesWhatTheOneBeforeOverwrote) {
  Program program = loop();
  for_each_step(program.steps, [&](Step& step, int) {
    if (step.kind != Step::Kind::kWhile) return;
    // A part of the carry, which the next round reads.
    Steps& body = step.blocks[1];
    for (const Step& copy : Steps(body)) {
      if (copy.kind != Step::Kind::kCopy) continue;
      Step stray = copy;
      stray.barrier = true;
      for (Range& range : stray.bindings) range.size_bytes /= 2;
      stray.bindings[0] = {Range::Space::kConstants, 0, 0, stray.bindings[1].size_bytes};
      body.push_back(stray);
      program.constants.push_back(Literal(TensorType{DType::kU8, {stray.bindings[1].size_bytes}}));
      stray.bindings[0].index = static_cast<uint32_t>(program.constants.size() - 1);
      body.back() = stray;
      return;
    }
  });
  EXPECT_THAT(fault(program), HasSubstr("was not written as a whole"));
}

}  // namespace
}  // namespace tuff
