// What memory and control flow become in a Program: where values live, which copies
// are left, what waits for what.
#include "backend/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/compile.h"
#include "backend/plan/assemble.h"
#include "backend/plan/ranges.h"
#include "ir/text/parse.h"
#include "ir/verify.h"

namespace tuff {
namespace {

std::shared_ptr<const Program> compiled(const std::string& text, const Caps& caps = {}) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string());
  if (!graph.ok()) return std::make_shared<Program>();
  Status valid = verify(*graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().to_string());
  CompileOptions options;
  options.disabled = {"unroll"};
  auto program = compile(*graph, caps, options, nullptr);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().to_string());
  return program.ok() ? *program : std::make_shared<Program>();
}

int count(const Steps& steps, Step::Kind kind) {
  int found = 0;
  for_each_step(steps, [&](const Step& step, int) { found += step.kind == kind; });
  return found;
}

const Step& only_loop(const Program& program) {
  const Step* loop = nullptr;
  for_each_step(program.steps, [&](const Step& step, int depth) {
    if (depth == 0 && step.kind == Step::Kind::kWhile) loop = &step;
  });
  EXPECT_NE(loop, nullptr) << print_plan(program);
  static const Step kNone;
  return loop ? *loop : kNone;
}

// A device where loops over rows are steps like others.
Caps caps_with_calls() {
  Caps caps;
  caps.library_calls = true;
  return caps;
}

// A loop of `rounds` rounds over i and the carries a, b of f32[64].
std::string loop(const std::string& body, const std::string& after = "%w#1, %w#2") {
  return R"(graph main(%x: f32[64], %y: f32[64]) {
    %zero = constant i32[] 0
    %w:3 = while(%zero, %x, %y) : i32[], f32[64], f32[64] graph cond(%i: i32[], %a: f32[64], %b: f32[64]) {
      %n = constant i32[] 7
      %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[64], %b: f32[64]) {
      %one = constant i32[] 1
      %j = add(%i, %one) : i32[]
      )" +
         body + R"(
    }
    return )" +
         after + R"(
  })";
}

TEST(Plan, ElementwiseCarriesAreUpdatedInPlace) {
  auto program = compiled(loop("%s = add(%a, %b) : f32[64]\n%t = negate(%b) : f32[64]\n"
                               "return %j, %s, %t"),
                          caps_with_calls());
  const Step& loop = only_loop(*program);
  EXPECT_EQ(loop.trip_count, 7);
  EXPECT_TRUE(loop.blocks[0].empty());
  EXPECT_EQ(count(loop.blocks[1], Step::Kind::kCopy), 0) << print_plan(*program);
}

TEST(Plan, ASwapTakesThreeCopies) {
  auto program = compiled(loop("return %j, %b, %a"), caps_with_calls());
  EXPECT_EQ(count(only_loop(*program).blocks[1], Step::Kind::kCopy), 3) << print_plan(*program);
}

// The reversed value reads elements that other lanes write.
TEST(Plan, NoUpdateInPlaceWhereLanesReadEachOther) {
  auto program =
      compiled(loop("%s = reverse(%a) {dimensions = [0]} : f32[64]\n"
                    "return %j, %s, %b"));
  EXPECT_EQ(count(only_loop(*program).blocks[1], Step::Kind::kCopy), 1) << print_plan(*program);
}

// A value from before the loop that every round reads keeps its memory throughout.
TEST(Plan, WhatTheBodyReadsLivesToTheLoopsEnd) {
  auto program = compiled(R"(graph main(%x: f32[64], %y: f32[64]) {
    %zero = constant i32[] 0
    %k = reverse(%y) {dimensions = [0]} : f32[64]
    %w:3 = while(%zero, %x, %k) : i32[], f32[64], f32[64] graph cond(%i: i32[], %a: f32[64], %k: f32[64]) {
      %n = constant i32[] 7
      %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[64], %k: f32[64]) {
      %one = constant i32[] 1
      %j = add(%i, %one) : i32[]
      %d = dot_general(%a, %k) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[]
      %b = broadcast_in_dim(%d) {broadcast_dimensions = []} : f32[64]
      %r = reverse(%a) {dimensions = [0]} : f32[64]
      %s = add(%r, %b) : f32[64]
      return %j, %s, %k
    }
    return %w#1
  })");
  const Step& loop = only_loop(*program);
  ASSERT_FALSE(program->steps.empty());
  Range kept = program->steps[0].bindings[0];  // the output stands first
  for_each_step(loop.blocks[1], [&](const Step& step, int) {
    if (step.kind != Step::Kind::kDispatch) return;
    size_t outputs = 0;
    for (const BufferDecl& buffer : program->kernels[step.kernel].buffers)
      outputs += buffer.access != Access::kRead;
    for (size_t i = 0; i < outputs; ++i) EXPECT_NE(step.bindings[i], kept) << print_plan(*program);
  });
}

// No round copies a carry, and none does more work than this.
void expect_written_in_place(const Program& program, int64_t most_workgroups) {
  const Step& loop = only_loop(program);
  EXPECT_EQ(count(loop.blocks[1], Step::Kind::kCopy), 0) << print_plan(program);
  for_each_step(loop.blocks[1], [&](const Step& step, int) {
    EXPECT_LE(step.workgroups, most_workgroups) << print_plan(program);
  });
}

std::string scan(const std::string& body) {
  return R"(graph main(%x: f32[100000,4], %h: f32[4]) {
    %zero = constant i32[] 0
    %zerof = constant f32[] 0.0
    %ys = broadcast_in_dim(%zerof) {broadcast_dimensions = []} : f32[100000,4]
    %w:4 = while(%zero, %h, %ys, %x) : i32[], f32[4], f32[100000,4], f32[100000,4] graph cond(%i: i32[], %h: f32[4], %ys: f32[100000,4], %x: f32[100000,4]) {
      %n = constant i32[] 100000
      %c = compare(%i, %n) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%i: i32[], %h: f32[4], %ys: f32[100000,4], %x: f32[100000,4]) {
      %zero = constant i32[] 0
      %one = constant i32[] 1
      %j = add(%i, %one) : i32[]
      %row = dynamic_slice(%x, %i, %zero) {slice_sizes = [1, 4]} : f32[1,4]
      %r = reshape(%row) : f32[4]
      )" +
         body + R"(
      return %j, %s, %next, %x
    }
    return %w#1, %w#2
  })";
}

// A round writes one row, and no round copies the matrix.
TEST(Plan, AScanWritesItsRowsInPlace) {
  expect_written_in_place(*compiled(scan(R"(%s = add(%h, %r) : f32[4]
      %back = reshape(%s) : f32[1,4]
      %next = dynamic_update_slice(%ys, %back, %i, %zero) : f32[100000,4])"),
                                    caps_with_calls()),
                          1);
}

// The row before is read from the matrix that is written.
TEST(Plan, AScanThatReadsItsOwnRowsWritesThemInPlace) {
  expect_written_in_place(*compiled(scan(R"(%k = subtract(%i, %one) : i32[]
      %old = dynamic_slice(%ys, %k, %zero) {slice_sizes = [1, 4]} : f32[1,4]
      %oldr = reshape(%old) : f32[4]
      %t = add(%oldr, %r) : f32[4]
      %s = add(%h, %t) : f32[4]
      %back = reshape(%t) : f32[1,4]
      %next = dynamic_update_slice(%ys, %back, %i, %zero) : f32[100000,4])")),
                          1);
}

// x.at[i].set(y), as JAX writes it.
TEST(Plan, AScatterOfOneRowWritesItInPlace) {
  expect_written_in_place(*compiled(scan(R"(%s = add(%h, %r) : f32[4]
      %at = broadcast_in_dim(%i) {broadcast_dimensions = []} : i32[1]
      %next = scatter(%ys, %at, %s) {index_vector_dim = 0, indices_are_sorted = 1, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], unique_indices = 1, update_window_dims = [0]} : f32[100000,4] graph update(%o: f32[], %u: f32[]) {
        return %u
      })")),
                          1);
}

// Outside of loops too: the argument stays, so the result begins as its copy.
TEST(Plan, AnUpdateOfAnArgumentCopiesItOnce) {
  auto program = compiled(R"(graph main(%x: f32[64,4], %u: f32[1,4], %i: i32[]) {
    %zero = constant i32[] 0
    %a = dynamic_update_slice(%x, %u, %i, %zero) : f32[64,4]
    %b = dynamic_update_slice(%a, %u, %zero, %zero) : f32[64,4]
    return %b
  })");
  EXPECT_EQ(count(program->steps, Step::Kind::kCopy), 1) << print_plan(*program);
  EXPECT_EQ(count(program->steps, Step::Kind::kDispatch), 2) << print_plan(*program);
}

std::string scalars(const std::string& next) {
  return R"(graph main(%n: i32[], %x: f32[]) {
    %w:2 = while(%n, %x) : i32[], f32[] graph cond(%i: i32[], %a: f32[]) {
      %limit = constant i32[] 100000
      %c = compare(%i, %limit) {comparison_direction = "LT"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[]) {
      %one = constant i32[] 1
      %j = add(%i, %one) : i32[]
      )" +
         next + R"(
      return %j, %s
    }
    return %w#1
  })";
}

TEST(Plan, ALoopOfScalarsIsOneKernel) {
  auto program = compiled(scalars("%s = add(%a, %a) : f32[]"));
  ASSERT_EQ(program->steps.size(), 1u) << print_plan(*program);
  EXPECT_EQ(program->kernels[0].family, "loop");
  EXPECT_EQ(program->steps[0].workgroups, 1);
}

// A device whose loops end early runs it round by round instead.
TEST(Plan, ALoopOfScalarsIsNoKernelWhereLoopsAreLimited) {
  auto graph = parse_graph(scalars("%s = add(%a, %a) : f32[]"));
  ASSERT_TRUE(graph.ok());
  Caps caps;
  caps.max_loop_iterations = 65535;
  auto program = compile(*graph, caps, {}, nullptr);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(count((*program)->steps, Step::Kind::kWhile), 1) << print_plan(**program);
}

TEST(Plan, BlocksBeginWithABarrier) {
  auto program = compiled(loop("%s = add(%a, %b) : f32[64]\nreturn %j, %s, %b"), caps_with_calls());
  for_each_step(program->steps, [&](const Step& step, int) {
    for (const Steps& block : step.blocks) EXPECT_TRUE(block.empty() || block[0].barrier);
  });
}

TEST(Plan, AnUnknownCountKeepsItsCondition) {
  auto program = compiled(R"(graph main(%n: i32[], %x: f32[4]) {
    %w:2 = while(%n, %x) : i32[], f32[4] graph cond(%i: i32[], %a: f32[4]) {
      %zero = constant i32[] 0
      %c = compare(%i, %zero) {comparison_direction = "GT"} : i1[]
      return %c
    } graph body(%i: i32[], %a: f32[4]) {
      %one = constant i32[] 1
      %j = subtract(%i, %one) : i32[]
      %s = add(%a, %a) : f32[4]
      return %j, %s
    }
    return %w#1
  })");
  const Step& loop = only_loop(*program);
  EXPECT_FALSE(loop.trip_count);
  EXPECT_EQ(loop.blocks[0].size(), 1u);
  EXPECT_EQ(loop.bindings.size(), 1u);
}

// ---- Barriers and memory.

// The second product of one chain and the first of the other run side by side on a GPU: what the
// one reads is not overwritten by the other.
TEST(PlanArena, MemoryIsNoReasonToWaitOnAGpu) {
  const char* text = R"(graph main(%x: f32[64,64], %w: f32[64,64], %v: f32[64,64]) {
    %a = dot_general(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    %b = dot_general(%a, %v) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    %c = dot_general(%x, %v) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    %d = dot_general(%c, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    return %b, %d
  })";
  auto barriers = [&](DeviceClass device_class) {
    Caps caps;
    caps.device_class = device_class;
    auto program = compiled(text, caps);
    EXPECT_EQ(count(program->steps, Step::Kind::kDispatch), 4) << print_plan(*program);
    int found = 0;
    for (const Step& step : program->steps) found += step.barrier;
    return found;
  };
  EXPECT_EQ(barriers(DeviceClass::kDiscreteGpu), 2);
  EXPECT_EQ(barriers(DeviceClass::kSoftwareRasteriser), 3);
}

// Products in parts, which a second kernel adds up: all products, then all sums.
TEST(PlanArena, StepsThatNeedNothingOfEachOtherStandTogetherOnAGpu) {
  Caps caps;
  caps.device_class = DeviceClass::kDiscreteGpu;
  auto program = compiled(R"(graph main(%x: f32[128,768], %q: f32[768,768], %k: f32[768,768]) {
    %a = dot_general(%x, %q) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[128,768]
    %b = dot_general(%x, %k) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[128,768]
    return %a, %b
  })",
                          caps);
  ASSERT_EQ(program->steps.size(), 4u) << print_plan(*program);
  std::vector<bool> barriers;
  for (const Step& step : program->steps) barriers.push_back(step.barrier);
  EXPECT_EQ(barriers, (std::vector<bool>{false, false, true, false})) << print_plan(*program);
  EXPECT_EQ(program->steps[0].kernel, program->steps[1].kernel);
}

TEST(PlanArena, AValueThatDiesIsUpdatedInPlace) {
  auto program = compiled(R"(graph main(%x: f32[64,64], %y: f32[64,64]) {
    %a = dot_general(%x, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %b = dot_general(%y, %y) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %s = add(%a, %b) : f32[64,64]
    %d = dot_general(%s, %s) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    return %d
  })");
  EXPECT_EQ(program->arena_bytes, 64 * 64 * 4) << print_plan(*program);
}

constexpr const char* kThreeProducts = R"(
    %a = dot_general(%x, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[128,128]
    %b = dot_general(%a, %a) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[128,128]
    %c = dot_general(%b, %b) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[128,128]
)";

// %a is gone when the output is written, %b is read as it is.
TEST(PlanArena, ATemporaryLiesInAnOutputThatIsWrittenLater) {
  auto program =
      compiled("graph main(%x: f32[128,128]) {" + std::string(kThreeProducts) + "return %c }");
  EXPECT_EQ(program->arena_bytes, 128 * 128 * 4) << print_plan(*program);
  Range a = program->steps.at(0).bindings.front(),
        first{Range::Space::kOutput, 0, 0, 128 * 128 * 4};
  EXPECT_EQ(a, first) << print_plan(*program);
  EXPECT_TRUE(program->steps.at(2).barrier) << "the output is written where %a was read";
}

// ---- Donations: graphs of %p, which is given up for output 0.

std::string donating(const std::string& body,
                     const std::string& parameters = "%p: f32[64,64], %x: f32[64,64]") {
  return "graph main(" + parameters + ") {\n" + body + "\n}";
}

bool in_place(const Program& program) {
  EXPECT_EQ(program.donations.size(), 1u);
  return !program.donations.empty() && program.donations[0].in_place;
}

TEST(PlanDonation, AnElementwiseUpdateIsInPlace) {
  auto program = compiled(donating(R"(%u = subtract(%p, %x) : f32[64,64]
    donate %p -> 0
    return %u)"));
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
}

// A weight's gradient and its update, as JAX writes them.
TEST(PlanDonation, TheStoreOfAProductUpdatesInPlace) {
  auto program = compiled(donating(
      R"(%g = dot_general(%x, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %rate = constant f32[] 0.01
    %rates = broadcast_in_dim(%rate) {broadcast_dimensions = []} : f32[64,64]
    %s = multiply(%g, %rates) : f32[64,64]
    %u = subtract(%p, %s) : f32[64,64]
    donate %p -> 0
    return %u)"));
  EXPECT_EQ(program->steps.size(), 1u) << print_plan(*program);
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
}

Caps library_caps() {
  Caps caps;
  caps.library_calls = true;
  return caps;
}

// %p updated by a product of `a` and %x.
std::string update(const std::string& op, const std::string& a) {
  return donating(
      "%g = dot_general(" + a +
      R"(, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %u = )" +
      op + R"((%p, %g) : f32[64,64]
    donate %p -> 0
    return %u)");
}

TEST(PlanDonation, ALibraryAddsToWhatItReplaces) {
  for (const char* op : {"add", "subtract"}) {
    auto program = compiled(update(op, "%x"), library_caps());
    EXPECT_EQ(program->steps.size(), 1u) << print_plan(*program);
    EXPECT_TRUE(in_place(*program)) << print_plan(*program);
    EXPECT_EQ(program->arena_bytes, 0) << print_plan(*program);
  }
}

// It can only add, and reads its own operands until the end.
TEST(PlanDonation, WhatALibraryCannotUpdateIsUpdatedByAKernel) {
  for (const std::string& text : {update("multiply", "%x"), update("add", "%p")}) {
    auto program = compiled(text, library_caps());
    EXPECT_EQ(program->steps.size(), 2u) << print_plan(*program);
    EXPECT_TRUE(in_place(*program)) << print_plan(*program);
    EXPECT_EQ(program->arena_bytes, 64 * 64 * 4) << print_plan(*program);
  }
}

// The product itself reads all of %p for each element.
TEST(PlanDonation, AProductWithTheArgumentIsNotInPlace) {
  auto program = compiled(donating(
      R"(%u = dot_general(%p, %x) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    donate %p -> 0
    return %u)"));
  EXPECT_FALSE(in_place(*program)) << print_plan(*program);
}

TEST(PlanDonation, LanesThatReadEachOtherAreNotInPlace) {
  auto program = compiled(donating(R"(%u = reverse(%p) {dimensions = [0]} : f32[64,64]
    donate %p -> 0
    return %u)"));
  EXPECT_FALSE(in_place(*program)) << print_plan(*program);
}

// The output's memory holds the argument until that is read last.
TEST(PlanDonation, NoTemporaryLiesInAnArgumentThatIsRead) {
  auto program =
      compiled("graph main(%x: f32[128,128], %p: f32[128,128]) {" + std::string(kThreeProducts) +
               "%u = add(%c, %p) : f32[128,128] donate %p -> 0 return %u }");
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
  EXPECT_EQ(program->arena_bytes, 2 * 128 * 128 * 4) << print_plan(*program);
}

TEST(PlanDonation, AnotherReaderGoesFirst) {
  auto program = compiled(donating(R"(%u = subtract(%p, %x) : f32[64,64]
    %r = reverse(%p) {dimensions = [0]} : f32[64,64]
    donate %p -> 0
    return %u, %r)"));
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
}

// %a becomes %s where it lies, but not where the argument lies that it is made of.
TEST(PlanDonation, AValueOnItsWayToTheOutputIsNotMadeOverTheArgument) {
  auto program = compiled(donating(
      R"(%a = dot_general(%p, %p) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %b = dot_general(%x, %x) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]} : f32[64,64]
    %s = add(%a, %b) : f32[64,64]
    donate %p -> 0
    return %s)"));
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
  for_each_step(program->steps, [&](const Step& step, int) {
    auto binds = [&](Range::Space space) {
      return std::any_of(step.bindings.begin(), step.bindings.end(), [&](const Range& range) {
        return range.space == space && range.index == 0;
      });
    };
    EXPECT_FALSE(binds(Range::Space::kArgument) && binds(Range::Space::kOutput))
        << print_plan(*program);
  });
}

// What is returned is read until the end.
TEST(PlanDonation, AnArgumentThatIsReturnedTooIsNotInPlace) {
  auto program = compiled(donating(R"(%u = subtract(%p, %x) : f32[64,64]
    donate %p -> 0
    return %u, %p)"));
  EXPECT_FALSE(in_place(*program)) << print_plan(*program);
}

// The reader needs the new value, and the old one.
TEST(PlanDonation, AReaderThatNeedsBothKeepsTheArgument) {
  auto program = compiled(donating(
      R"(%u = dot_general(%x, %x) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    %v = subtract(%p, %u) : f32[64,64]
    %w = dot_general(%p, %v) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    donate %p -> 0
    return %v, %w)"));
  EXPECT_FALSE(in_place(*program)) << print_plan(*program);
}

// The copy that is left is not made where the two are one buffer.
TEST(PlanDonation, ACacheIsWrittenWhereItLies) {
  auto program = compiled(donating(R"(%zero = constant i32[] 0
    %n = dynamic_update_slice(%p, %u, %i, %zero) : f32[64,4]
    donate %p -> 0
    return %n)",
                                   "%p: f32[64,4], %u: f32[1,4], %i: i32[]"));
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
  EXPECT_EQ(count(program->steps, Step::Kind::kCopy), 1) << print_plan(*program);
}

TEST(PlanDonation, AnArgumentHandedOnIsInPlace) {
  auto program = compiled(donating(R"(%y = negate(%p) : f32[64,64]
    donate %p -> 0
    return %p, %y)"));
  EXPECT_TRUE(in_place(*program)) << print_plan(*program);
}

// A step that reads the old value and one that writes the new are kept apart, though
// one names the argument and the other the output.
TEST(PlanDonation, BarriersCountBothAsOne) {
  auto program = compiled(donating(R"(%r = reverse(%p) {dimensions = [0]} : f32[64,64]
    %u = subtract(%x, %y) : f32[64,64]
    donate %p -> 0
    return %u, %r)",
                                   "%p: f32[64,64], %x: f32[64,64], %y: f32[64,64]"));
  ASSERT_EQ(program->steps.size(), 2u);
  EXPECT_EQ(in_place(*program), program->steps[1].barrier) << print_plan(*program);
}

}  // namespace
}  // namespace tuff
