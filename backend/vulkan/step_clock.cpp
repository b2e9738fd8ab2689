#include "backend/vulkan/step_clock.h"

#include <algorithm>

#include "backend/program.h"
#include "backend/vulkan/error.h"

namespace tuff {

Result<std::unique_ptr<StepClock>> StepClock::create(Context& context, size_t max_steps) {
  TUFF_CHECK(context.plan().timestamps, "a queue without timestamps");
  std::unique_ptr<StepClock> clock(new StepClock(context, std::max<size_t>(max_steps, 1)));
  VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                             .queryType = VK_QUERY_TYPE_TIMESTAMP,
                             .queryCount = static_cast<uint32_t>(clock->max_steps_ + 1)};
  TUFF_VK_RETURN_IF_ERROR(
      context.vk().CreateQueryPool(context.device(), &info, nullptr, &clock->pool_),
      "create a query pool");
  return clock;
}

StepClock::~StepClock() {
  if (pool_ != VK_NULL_HANDLE) context_.vk().DestroyQueryPool(context_.device(), pool_, nullptr);
}

void StepClock::reset(VkCommandBuffer commands) {
  steps_.clear();
  context_.vk().CmdResetQueryPool(commands, pool_, 0, static_cast<uint32_t>(max_steps_ + 1));
}

void StepClock::start(VkCommandBuffer commands, const Step& step) {
  TUFF_CHECK(steps_.size() < max_steps_, "a recording has more steps than its clock");
  if (steps_.empty()) write(commands, step);
  steps_.push_back(&step);
}

void StepClock::stop(VkCommandBuffer commands) { write(commands, *steps_.back()); }

// At the end of the step's stage: when all such work before it is done.
void StepClock::write(VkCommandBuffer commands, const Step& after) {
  bool copy = after.kind == Step::Kind::kCopy;
  context_.vk().CmdWriteTimestamp(
      commands, copy ? VK_PIPELINE_STAGE_TRANSFER_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, pool_,
      static_cast<uint32_t>(steps_.size()));
}

Result<double> StepClock::read(double end_us, std::vector<StepTime>& times) const {
  if (steps_.empty()) return 0.0;
  std::vector<uint64_t> ticks(steps_.size() + 1);
  TUFF_VK_RETURN_IF_ERROR(
      context_.vk().GetQueryPoolResults(
          context_.device(), pool_, 0, static_cast<uint32_t>(ticks.size()), ticks.size() * 8,
          ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
      "read timestamps");
  const DeviceSnapshot& snapshot = context_.snapshot();
  uint32_t bits = snapshot.queue_families[context_.plan().queue_family].timestampValidBits;
  uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  double us_per_tick = 1e-3 * snapshot.properties.limits.timestampPeriod;
  // From the recording's first timestamp: a counter of few bits may wrap on the way.
  auto us = [&](uint64_t tick) {
    return us_per_tick * static_cast<double>((tick - ticks[0]) & mask);
  };
  double all_us = us(ticks.back()), start_us = end_us - all_us;
  for (size_t i = 0; i < steps_.size(); ++i)
    times.push_back({steps_[i], start_us + us(ticks[i]), start_us + us(ticks[i + 1])});
  return all_us;
}

}  // namespace tuff
