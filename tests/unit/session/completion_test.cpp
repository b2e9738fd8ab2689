#include "frontend/session/completion.h"

#include <gtest/gtest.h>

namespace tuff {
namespace {

TEST(Completion, CallsBackOnceWhenItIsWanted) {
  Completion completion;
  int times = 0;
  completion.want();  // nobody has asked yet
  completion.on_wanted([&] { ++times; });
  EXPECT_EQ(times, 0);
  completion.want();
  completion.want();
  EXPECT_EQ(times, 1);
}

TEST(Completion, IsWantedAfterItsEndToo) {
  Completion completion;
  completion.complete({});
  int times = 0;
  completion.on_wanted([&] { ++times; });
  completion.want();
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace tuff
