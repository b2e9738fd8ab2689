// How long devices that meet wait for the slowest.
#include "frontend/session/mesh_plan.h"

#include <gtest/gtest.h>

namespace tuff {
namespace {

TEST(SlowestDevice, OfOneTimeAllAreAlike) {
  EXPECT_DOUBLE_EQ(slowest_ms({3}, {.num_devices = 64}), 3);
  EXPECT_DOUBLE_EQ(slowest_ms({3}, {.num_devices = 8, .crowd = 4}), 12);
  EXPECT_DOUBLE_EQ(slowest_ms({}, {.num_devices = 8}), 0);
}

TEST(SlowestDevice, AloneTakesTheMean) {
  EXPECT_NEAR(slowest_ms({1, 3}, {.num_devices = 1}), 2, 0.3);
}

TEST(SlowestDevice, OfManyOneIsAlwaysSlow) {
  EXPECT_DOUBLE_EQ(slowest_ms({1, 1, 1, 3}, {.num_devices = 512}), 3);
}

// Half of 8 devices on each of two processors: the later one has two slow ones or more.
TEST(SlowestDevice, TimesOfACrowdAddUp) {
  double time = slowest_ms({1, 3}, {.num_devices = 8, .crowd = 4});
  EXPECT_GT(time, 8);
  EXPECT_LT(time, 12);
}

}  // namespace
}  // namespace tuff
