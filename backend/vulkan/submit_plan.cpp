#include "backend/vulkan/submit_plan.h"

#include <algorithm>
#include <optional>

namespace tuff {

namespace {

// Steps that running the block records, loops unrolled; nothing where the host must
// decide, or where they are more than one command buffer takes.
std::optional<int64_t> unrolled_size(const Steps& steps) {
  int64_t size = 0;
  for (const Step& step : steps) {
    int64_t one = 1;
    if (step.kind == Step::Kind::kHost) return std::nullopt;
    if (is_control(step.kind)) {
      if (!step.trip_count) return std::nullopt;
      std::optional<int64_t> body = unrolled_size(step.blocks[1]);
      if (!body) return std::nullopt;
      if (*body > 0 && *step.trip_count > kMaxUnrolledSteps / *body) return std::nullopt;
      one = *body * *step.trip_count;
    }
    size += one;
  }
  return size;
}

// Writes the tasks of one block.
class BlockPlanner {
 public:
  explicit BlockPlanner(std::vector<Segment>& segments) : segments_(segments) {}

  void add(const Steps& steps) {
    for (const Step& step : steps) switch (step.kind) {
        case Step::Kind::kWhile: step.trip_count ? add_counted(step) : add_while(step); break;
        case Step::Kind::kCase: add_case(step); break;
        case Step::Kind::kHost: add_host(step); break;
        default: open_.push_back(&step);
      }
  }

  std::vector<Task> finish() {
    submit();
    return std::move(tasks_);
  }

 private:
  // Ends the segment that is being filled.
  void submit(int64_t times = 1) {
    if (open_.empty()) return;
    Task task;
    task.segment = static_cast<uint32_t>(segments_.size());
    task.times = times;
    segments_.push_back(std::move(open_));
    open_.clear();
    tasks_.push_back(std::move(task));
  }

  std::vector<Task> plan_block(const Steps& first, const Steps& then = {}) {
    BlockPlanner block(segments_);
    block.add(first);
    block.add(then);
    return block.finish();
  }

  void add_counted(const Step& loop) {
    const Steps& body = loop.blocks[1];
    int64_t times = *loop.trip_count;
    std::optional<int64_t> size = unrolled_size(body);
    if (!size || *size > kMaxUnrolledSteps) {
      submit();
      tasks_.push_back({Task::Kind::kRepeat, 0, times, &loop, {plan_block(body)}});
      return;
    }
    if (*size == 0) return;
    int64_t chunk = kMaxUnrolledSteps / *size;
    if (times <= chunk) return unroll(body, times);
    submit();
    unroll(body, chunk);
    submit(times / chunk);
    unroll(body, times % chunk);
  }

  void unroll(const Steps& body, int64_t times) {
    for (int64_t i = 0; i < times; ++i) add(body);
  }

  // The condition stands at the end of what comes before and at the end of the body, so
  // that each round is one submission.
  void add_while(const Step& loop) {
    add(loop.blocks[0]);
    submit();
    tasks_.push_back(
        {Task::Kind::kWhile, 0, 1, &loop, {plan_block(loop.blocks[1], loop.blocks[0])}});
  }

  void add_host(const Step& step) {
    submit();
    tasks_.push_back({Task::Kind::kHost, 0, 1, &step, {}});
  }

  void add_case(const Step& step) {
    submit();
    Task task{Task::Kind::kCase, 0, 1, &step, {}};
    for (const Steps& branch : step.blocks) task.blocks.push_back(plan_block(branch));
    tasks_.push_back(std::move(task));
  }

  std::vector<Segment>& segments_;
  Segment open_;
  std::vector<Task> tasks_;
};

}  // namespace

SubmitPlan plan_submits(const Steps& steps) {
  SubmitPlan plan;
  BlockPlanner block(plan.segments);
  block.add(steps);
  plan.tasks = block.finish();
  return plan;
}

}  // namespace tuff
