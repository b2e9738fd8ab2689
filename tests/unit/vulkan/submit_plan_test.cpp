// Which steps share a command buffer, and who decides what runs next.
#include "backend/vulkan/submit_plan.h"

#include <gtest/gtest.h>

namespace tuff {
namespace {

Step dispatch() { return {}; }

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

}  // namespace
}  // namespace tuff
