// Where the temporaries of a program lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/plan/plan.h"
#include "backend/plan/ranges.h"

namespace tuff {
namespace {

// Like a training step's: what a layer of the forward pass leaves is read by the backward
// pass in reverse order, and both have temporaries that live shortly.
std::vector<Lifetime> forward_and_backward(uint32_t seed) {
  std::mt19937 random(seed);
  auto size = [&] { return static_cast<int64_t>(1 + random() % 999) * 64; };
  constexpr int64_t kLayers = 100;
  std::vector<Lifetime> lifetimes;
  for (int64_t i = 0; i < kLayers; ++i) {
    lifetimes.push_back({size(), i, 2 * kLayers - i});
    lifetimes.push_back({size(), i, i + 1 + static_cast<int64_t>(random() % 3)});
    lifetimes.push_back({size(), 2 * kLayers - i - 2, 2 * kLayers - i});
  }
  return lifetimes;
}

void expect_apart(const std::vector<Lifetime>& lifetimes, const ArenaPlan& plan) {
  for (size_t a = 0; a < lifetimes.size(); ++a) {
    const Lifetime& x = lifetimes[a];
    EXPECT_EQ(plan.offsets[a] % 64, 0);
    EXPECT_LE(plan.offsets[a] + x.size_bytes, plan.arena_bytes);
    for (size_t b = 0; b < a; ++b) {
      const Lifetime& y = lifetimes[b];
      if (x.first > y.last || y.first > x.last) continue;
      EXPECT_TRUE(plan.offsets[a] + x.size_bytes <= plan.offsets[b] ||
                  plan.offsets[b] + y.size_bytes <= plan.offsets[a])
          << a << " and " << b;
    }
  }
}

TEST(Arena, WhatIsAliveTogetherIsApart) {
  std::vector<Lifetime> lifetimes = forward_and_backward(1);
  expect_apart(lifetimes, plan_arena(lifetimes, 256));
}

// An arena larger than one allocation of the device.
TEST(Arena, NothingLiesInTwoSegments) {
  constexpr int64_t kSegment = 1000 * 64;  // the largest temporaries are 999 * 64
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    std::vector<Lifetime> lifetimes = forward_and_backward(seed);
    lifetimes.push_back({kSegment, 50, 60});
    ArenaPlan plan = plan_arena(lifetimes, 64, kSegment);
    expect_apart(lifetimes, plan);
    EXPECT_GT(plan.arena_bytes, 10 * kSegment);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.3 * static_cast<double>(plan.liveness_bytes))
        << "seed " << seed;
    for (size_t i = 0; i < lifetimes.size(); ++i)
      EXPECT_EQ(plan.offsets[i] / kSegment,
                (plan.offsets[i] + lifetimes[i].size_bytes - 1) / kSegment)
          << "seed " << seed << ", " << i;
  }
}

// So many are alive together that they are placed in the order in which they begin.
TEST(Arena, ThousandsThatAreAliveTogetherAreApart) {
  constexpr int64_t kSegment = 1000 * 64, kTemporaries = 4000;
  std::mt19937 random(3);
  std::vector<Lifetime> lifetimes;
  for (int64_t i = 0; i < kTemporaries; ++i) {
    auto lives = static_cast<int64_t>(random() % (2 * kTemporaries));
    lifetimes.push_back({static_cast<int64_t>(random() % 999) * 64, i, i + lives});
  }
  expect_apart(lifetimes, plan_arena(lifetimes, 64));
  ArenaPlan plan = plan_arena(lifetimes, 64, kSegment);
  expect_apart(lifetimes, plan);
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    int64_t last = plan.offsets[i] + std::max<int64_t>(lifetimes[i].size_bytes, 1) - 1;
    EXPECT_EQ(plan.offsets[i] / kSegment, last / kSegment) << i;
  }
}

// Like an unrolled network's: each step's result lives to the end.
TEST(Arena, AlikeTemporariesTakeTheLowerBound) {
  std::vector<Lifetime> lifetimes;
  for (int64_t i = 0; i < 6000; ++i) {
    lifetimes.push_back({256, 2 * i, 2 * i + 1});
    lifetimes.push_back({256, 2 * i + 1, 12000});
  }
  ArenaPlan plan = plan_arena(lifetimes, 64);
  EXPECT_EQ(plan.arena_bytes, plan.liveness_bytes);
}

// Who loads the program refuses it, and names the limit.
TEST(Arena, WhatNoSegmentHoldsBeginsOne) {
  std::vector<Lifetime> lifetimes = {{64, 0, 2}, {5000, 0, 2}, {900, 0, 2}};
  ArenaPlan plan = plan_arena(lifetimes, 64, 1024);
  EXPECT_EQ(plan.offsets[1] % 1024, 0);
  for (size_t a : {0, 1, 2})
    for (size_t b = 0; b < a; ++b)
      EXPECT_TRUE(plan.offsets[a] + lifetimes[a].size_bytes <= plan.offsets[b] ||
                  plan.offsets[b] + lifetimes[b].size_bytes <= plan.offsets[a]);
}

TEST(Arena, SegmentsAreAsLargeAsAllocations) {
  Caps caps;
  caps.min_storage_offset_alignment = 256;
  caps.max_allocation_bytes = (int64_t{4} << 30) - 1;
  EXPECT_EQ(arena_segment_bytes(caps), (int64_t{4} << 30) - 65536);
}

TEST(Arena, NearlyTheLowerBoundIsEnough) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    ArenaPlan plan = plan_arena(forward_and_backward(seed), 64);
    EXPECT_GE(plan.arena_bytes, plan.liveness_bytes);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.1 * static_cast<double>(plan.liveness_bytes))
        << "seed " << seed;
  }
}

TEST(Arena, NothingTakesNoMemory) { EXPECT_EQ(plan_arena({}, 64).arena_bytes, 0); }

}  // namespace
}  // namespace tuff
