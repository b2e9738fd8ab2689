#include "backend/vulkan/submit_plan.h"

#include <algorithm>
#include <optional>

namespace tuff {

namespace {

// What a slow device of its kind does with kernels that do not suit it.
struct Rates {
  double gflops, gbps, us_per_step;
};

Rates rates_of(DeviceClass device_class) {
  if (device_class == DeviceClass::kIntegratedGpu) return {100, 10, 20};
  return {1000, 50, 10};
}

// Of a block's steps in one command buffer, loops unrolled.
struct Unrolled {
  int64_t steps = 0;
  double ms = 0;
};

// Writes the tasks of one block.
class BlockPlanner {
 public:
  BlockPlanner(std::vector<Segment>& segments, const Caps& caps, const SubmitLimits& limits)
      : segments_(segments), caps_(caps), limits_(limits) {}

  void add(const Steps& steps) {
    for (const Step& step : steps) switch (step.kind) {
        case Step::Kind::kWhile: step.trip_count ? add_counted(step) : add_while(step); break;
        case Step::Kind::kCase: add_case(step); break;
        case Step::Kind::kHost: add_host(step); break;
        default: add_plain(step);
      }
  }

  std::vector<Task> finish() {
    submit();
    return std::move(tasks_);
  }

 private:
  // Nothing where the host must decide, or where it is more than one command buffer takes.
  std::optional<Unrolled> unrolled(const Steps& steps) const {
    Unrolled all;
    for (const Step& step : steps) {
      if (step.kind == Step::Kind::kHost) return std::nullopt;
      if (!is_control(step.kind)) {
        ++all.steps;
        all.ms += estimated_ms(step, caps_);
        continue;
      }
      if (!step.trip_count) return std::nullopt;
      std::optional<Unrolled> body = unrolled(step.blocks[1]);
      if (!body || *step.trip_count > most_rounds(*body)) return std::nullopt;
      all.steps += body->steps * *step.trip_count;
      all.ms += body->ms * static_cast<double>(*step.trip_count);
    }
    return most_rounds(all) > 0 ? std::optional(all) : std::nullopt;
  }

  // How often a body fits into one command buffer.
  int64_t most_rounds(const Unrolled& body) const {
    if (body.steps == 0) return INT64_MAX;
    int64_t most = std::min(kMaxUnrolledSteps, limits_.most_steps) / body.steps;
    return static_cast<int64_t>(
        std::min(static_cast<double>(most), body.ms > 0 ? limits_.most_ms / body.ms : most));
  }

  void add_plain(const Step& step) {
    double ms = estimated_ms(step, caps_);
    bool full =
        open_ms_ + ms > limits_.most_ms || static_cast<int64_t>(open_.size()) >= limits_.most_steps;
    if (full && !repeated_) submit();
    open_.push_back(&step);
    open_ms_ += ms;
  }

  // Ends the segment that is being filled.
  void submit(int64_t times = 1) {
    if (open_.empty()) return;
    Task task;
    task.segment = static_cast<uint32_t>(segments_.size());
    task.times = times;
    segments_.push_back(std::move(open_));
    open_.clear();
    open_ms_ = 0;
    tasks_.push_back(std::move(task));
  }

  std::vector<Task> plan_block(const Steps& first, const Steps& then = {}) {
    BlockPlanner block(segments_, caps_, limits_);
    block.add(first);
    block.add(then);
    return block.finish();
  }

  void add_counted(const Step& loop) {
    const Steps& body = loop.blocks[1];
    int64_t times = *loop.trip_count;
    std::optional<Unrolled> size = unrolled(body);
    if (!size) {
      submit();
      tasks_.push_back({Task::Kind::kRepeat, 0, times, &loop, {plan_block(body)}});
      return;
    }
    if (size->steps == 0) return;
    int64_t chunk = most_rounds(*size);
    if (times <= chunk) return unroll(body, times);
    submit();  // so that the chunk, which is submitted several times, begins its segment
    repeated_ = true;
    unroll(body, chunk);
    repeated_ = false;
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
  const Caps& caps_;
  const SubmitLimits& limits_;
  Segment open_;
  double open_ms_ = 0;
  bool repeated_ = false;  // what is added now is one segment, whatever rounding says
  std::vector<Task> tasks_;
};

}  // namespace

SubmitLimits submit_limits(const Caps& caps) {
  SubmitLimits limits;
  if (is_gpu(caps)) limits.most_ms = 250;
  return limits;
}

double estimated_ms(const Step& step, const Caps& caps) {
  Rates rates = rates_of(caps.device_class);
  auto bytes = static_cast<double>(step.cost.read_bytes + step.cost.written_bytes);
  double ms = 1e-6 * std::max(step.cost.flops / rates.gflops, bytes / rates.gbps);
  return std::max(ms, step.estimated_ms) + 1e-3 * rates.us_per_step;
}

SubmitPlan plan_submits(const Steps& steps, const Caps& caps, const SubmitLimits& limits) {
  SubmitPlan plan;
  BlockPlanner block(plan.segments, caps, limits);
  block.add(steps);
  plan.tasks = block.finish();
  return plan;
}

}  // namespace tuff
