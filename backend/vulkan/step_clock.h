// StepClock: a timestamp between each two steps of one recording.
#pragma once

#include <memory>
#include <vector>

#include "backend/profile.h"
#include "backend/vulkan/context.h"

namespace tuff {

// Belongs to one command buffer at a time; not thread-safe. Its functions that take
// `commands` record into it.
class StepClock {
 public:
  // `max_steps`: of one recording. The device's queue has timestamps.
  static Result<std::unique_ptr<StepClock>> create(Context& context, size_t max_steps);
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  // Forgets what was recorded; goes before the first step.
  void reset(VkCommandBuffer commands);
  // Around a step's dispatch or copy. A step begins when all work before it is done: where
  // one ends the next begins. So steps that overlap on the device share its time instead of
  // counting it twice, and one timestamp serves both.
  void start(VkCommandBuffer commands, const Step& step);
  void stop(VkCommandBuffer commands);

  // After the commands have run: appends one entry per step, in order; the last ends at
  // `end_us`. Returns the microseconds from the first one's start to there.
  Result<double> read(double end_us, std::vector<StepTime>& times) const;

 private:
  StepClock(Context& context, size_t max_steps) : context_(context), max_steps_(max_steps) {}
  void write(VkCommandBuffer commands, const Step& after);

  Context& context_;
  size_t max_steps_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  std::vector<const Step*> steps_;  // steps_[i] ran from query i to query i + 1
};

}  // namespace tuff
