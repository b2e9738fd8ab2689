// Which steps share a command buffer, and who decides what runs next.
#include "backend/vulkan/submit_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tuff {
namespace {

Step dispatch() { return {}; }

// A dispatch of a card that is estimated at so many milliseconds, and little more.
Step long_dispatch(int64_t ms) {
  Step step;
  step.cost.read_bytes = ms * 50'000'000;
  return step;
}

Caps caps_of(DeviceClass device_class) {
  Caps caps;
  caps.device_class = device_class;
  return caps;
}

SubmitPlan plan_submits(const Steps& steps) {
  return tuff::plan_submits(steps, caps_of(DeviceClass::kSoftwareRasteriser), {});
}

SubmitPlan plan_for_a_card(const Steps& steps) {
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  return tuff::plan_submits(steps, caps, submit_limits(caps));
}

// Estimated milliseconds of the longest submission.
double longest_ms(const SubmitPlan& plan) {
  double longest = 0;
  for (const Segment& segment : plan.segments) {
    double ms = 0;
    for (const Step* step : segment) ms += estimated_ms(*step, caps_of(DeviceClass::kDiscreteGpu));
    longest = std::max(longest, ms);
  }
  return longest;
}

Step counted(int64_t times, Steps body) {
  Step step;
  step.kind = Step::Kind::kWhile;
  step.trip_count = times;
  step.blocks = {{}, std::move(body)};
  return step;
}

Step unknown(Steps condition, Steps body) {
  Step step;
  step.kind = Step::Kind::kWhile;
  step.bindings.resize(1);
  step.blocks = {std::move(condition), std::move(body)};
  return step;
}

// Dispatches that running the tasks submits, whiles taken `rounds` times.
int64_t run(const SubmitPlan& plan, const std::vector<Task>& tasks, int64_t rounds) {
  int64_t steps = 0;
  for (const Task& task : tasks) {
    if (task.kind == Task::Kind::kSubmit)
      steps += task.times * static_cast<int64_t>(plan.segments[task.segment].size());
    else if (task.kind == Task::Kind::kRepeat)
      steps += task.times * run(plan, task.blocks[0], rounds);
    else if (task.kind == Task::Kind::kWhile)
      steps += rounds * run(plan, task.blocks[0], rounds);
  }
  return steps;
}

TEST(SubmitPlan, StepsWithoutControlAreOneSubmission) {
  Steps steps = {dispatch(), dispatch()};
  SubmitPlan plan = plan_submits(steps);
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.segments[0].size(), 2u);
}

TEST(SubmitPlan, AShortCountedLoopIsUnrolled) {
  Steps steps = {dispatch(), counted(3, {dispatch(), counted(2, {dispatch()})}), dispatch()};
  SubmitPlan plan = plan_submits(steps);
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.segments[0].size(), 11u);
}

TEST(SubmitPlan, ALongCountedLoopIsSubmittedInChunks) {
  for (int64_t times : {int64_t{1}, kMaxUnrolledSteps, kMaxUnrolledSteps + 1, int64_t{100000}}) {
    Steps steps = {dispatch(), counted(times, {dispatch(), dispatch(), dispatch()})};
    SubmitPlan plan = plan_submits(steps);
    EXPECT_EQ(run(plan, plan.tasks, 0), 1 + 3 * times);
    for (const Segment& segment : plan.segments)
      EXPECT_LE(static_cast<int64_t>(segment.size()), kMaxUnrolledSteps + 1);
  }
}

TEST(SubmitPlan, ALoopThatNeverRunsIsNothing) {
  Steps steps = {counted(0, {dispatch()}), counted(5, {})};
  EXPECT_TRUE(plan_submits(steps).tasks.empty());
}

// The condition runs once before, then at the end of each round.
TEST(SubmitPlan, AWhileIsOneSubmissionARound) {
  Steps steps = {dispatch(), unknown({dispatch()}, {dispatch(), dispatch()}), dispatch()};
  SubmitPlan plan = plan_submits(steps);
  ASSERT_EQ(plan.tasks.size(), 3u);
  EXPECT_EQ(plan.segments[plan.tasks[0].segment].size(), 2u);
  ASSERT_EQ(plan.tasks[1].kind, Task::Kind::kWhile);
  ASSERT_EQ(plan.tasks[1].blocks[0].size(), 1u);
  EXPECT_EQ(plan.segments[plan.tasks[1].blocks[0][0].segment].size(), 3u);
  EXPECT_EQ(run(plan, plan.tasks, 4), 2 + 4 * 3 + 1);
}

TEST(SubmitPlan, ACountedLoopAroundAWhileIsRepeatedByTheHost) {
  Steps steps = {counted(5, {dispatch(), unknown({dispatch()}, {dispatch()})})};
  SubmitPlan plan = plan_submits(steps);
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.tasks[0].kind, Task::Kind::kRepeat);
  EXPECT_EQ(run(plan, plan.tasks, 3), 5 * (2 + 3 * 2));
}

// A card that is busy for long is taken for hung. A software device may be.
TEST(SubmitPlan, ACardGetsSubmissionsThatEndSoon) {
  Steps steps;
  for (int i = 0; i < 20; ++i) steps.push_back(long_dispatch(60));
  EXPECT_EQ(plan_submits(steps).tasks.size(), 1u);
  SubmitPlan plan = plan_for_a_card(steps);
  EXPECT_EQ(plan.tasks.size(), 5u);
  EXPECT_EQ(run(plan, plan.tasks, 0), 20);
  EXPECT_LT(longest_ms(plan), 251);
}

TEST(SubmitPlan, ALongStepStandsAlone) {
  SubmitPlan plan = plan_for_a_card({dispatch(), long_dispatch(900), dispatch()});
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_EQ(plan.segments[1].size(), 1u);
}

TEST(SubmitPlan, LoopsOfACardEndSoon) {
  for (int64_t ms : {1, 7, 100, 300})
    for (int64_t times : {1, 3, 100, 1000}) {
      Steps steps = {dispatch(), counted(times, {long_dispatch(ms), dispatch()}), dispatch()};
      SubmitPlan plan = plan_for_a_card(steps);
      EXPECT_EQ(run(plan, plan.tasks, 0), 2 + 2 * times) << ms << " " << times;
      EXPECT_LT(longest_ms(plan), std::max<double>(251, static_cast<double>(ms) + 1));
    }
}

TEST(SubmitPlan, OneStepASubmissionWhereThatIsAskedFor) {
  Steps steps = {dispatch(), counted(3, {dispatch(), dispatch()}), counted(2, {dispatch()})};
  SubmitLimits limits;
  limits.most_steps = 1;
  Caps caps = caps_of(DeviceClass::kDiscreteGpu);
  SubmitPlan plan = tuff::plan_submits(steps, caps, limits);
  for (const Segment& segment : plan.segments) EXPECT_EQ(segment.size(), 1u);
  EXPECT_EQ(run(plan, plan.tasks, 0), 1 + 3 * 2 + 2);
}

}  // namespace
}  // namespace tuff
