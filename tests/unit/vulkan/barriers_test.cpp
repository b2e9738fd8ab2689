// What barriers wait for; no device needed.
#include "backend/vulkan/barriers.h"

#include <gtest/gtest.h>

namespace tuff {
namespace {

constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               kTransfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kShader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                        kCopies = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

// Buffers are numbers; each is 64 bytes.
TouchingCommand dispatch(bool barrier, std::vector<uint64_t> reads, std::vector<uint64_t> writes) {
  TouchingCommand command{.barrier = barrier};
  for (uint64_t buffer : reads) command.touches.push_back({buffer, 0, 64, false});
  for (uint64_t buffer : writes) command.touches.push_back({buffer, 0, 64, true});
  return command;
}

TouchingCommand copy(bool barrier, uint64_t from, uint64_t to) {
  TouchingCommand command = dispatch(barrier, {from}, {to});
  command.copy = true;
  return command;
}

TEST(PlanBarriers, WhatIsWrittenAndReadGoesThroughMemory) {
  auto masks = plan_barriers({dispatch(false, {1}, {2}), dispatch(true, {2}, {3})});
  EXPECT_EQ(masks[0], BarrierMasks{});
  EXPECT_EQ(masks[1], (BarrierMasks{kCompute, kCompute, VK_ACCESS_SHADER_WRITE_BIT, kShader}));
}

TEST(PlanBarriers, WhatIsReadAndWrittenOverWaitsOnly) {
  auto masks = plan_barriers({dispatch(false, {1}, {2}), dispatch(true, {3}, {1})});
  EXPECT_EQ(masks[1], (BarrierMasks{kCompute, kCompute, 0, 0}));
}

// The first barrier waits for a read alone, so the second has to see to what was written before.
TEST(PlanBarriers, AWriteStaysPendingBehindABarrierThatOnlyWaits) {
  auto masks = plan_barriers({dispatch(false, {1}, {2}), dispatch(true, {3}, {1}),
                              dispatch(true, {2}, {4}), dispatch(true, {1}, {5})});
  EXPECT_EQ(masks[1].written, 0u);
  EXPECT_EQ(masks[2], (BarrierMasks{kCompute, kCompute, VK_ACCESS_SHADER_WRITE_BIT, kShader}));
  EXPECT_EQ(masks[3], BarrierMasks{}) << "the barrier before was for all kernels and all writes";
}

// The plan counts on the barrier before the second command for the third, too.
TEST(PlanBarriers, ABarrierIsForAllUpToTheNext) {
  auto masks = plan_barriers(
      {dispatch(false, {1}, {2}), dispatch(true, {3}, {1}), dispatch(false, {2}, {4})});
  EXPECT_EQ(masks[1], (BarrierMasks{kCompute, kCompute, VK_ACCESS_SHADER_WRITE_BIT, kShader}));
}

TEST(PlanBarriers, CopiesAreWaitedForWhereTheyMatter) {
  auto masks = plan_barriers({dispatch(false, {1}, {2}), copy(true, 2, 3), dispatch(true, {4}, {2}),
                              dispatch(true, {3}, {5})});
  EXPECT_EQ(masks[1], (BarrierMasks{kCompute, kTransfer, VK_ACCESS_SHADER_WRITE_BIT, kCopies}));
  // It overwrites what the copy reads and what a kernel wrote, which the copy alone has waited for.
  EXPECT_EQ(masks[2],
            (BarrierMasks{kCompute | kTransfer, kCompute,
                          VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, kShader}));
  EXPECT_EQ(masks[3], BarrierMasks{}) << "the copy's write was part of that";
}

TEST(PlanBarriers, PartsOfABufferAreApart) {
  TouchingCommand first{.touches = {{1, 0, 64, true}}};
  TouchingCommand second{.touches = {{1, 64, 64, true}}, .barrier = true};
  EXPECT_EQ(plan_barriers({first, second})[1], BarrierMasks{});
  second.touches[0].offset_bytes = 63;
  EXPECT_EQ(plan_barriers({first, second})[1].written, VkAccessFlags{VK_ACCESS_SHADER_WRITE_BIT});
}

}  // namespace
}  // namespace tuff
