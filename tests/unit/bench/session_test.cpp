#include "frontend/bench/session.h"

#include <gtest/gtest.h>

namespace tuff::bench {
namespace {

std::string text_of(const std::vector<Sizes>& sweep) {
  std::string text;
  for (const Sizes& sizes : sweep) {
    text += sizes.batch ? "b" + std::to_string(*sizes.batch) : "";
    text += sizes.seq ? "s" + std::to_string(*sizes.seq) : "";
    text += " ";
  }
  return text;
}

TEST(Sweep, IsAProduct) {
  EXPECT_EQ(text_of(parse_sweep({}).value()), "");
  EXPECT_EQ(text_of(parse_sweep({"batch=1,8"}).value()), "b1 b8 ");
  EXPECT_EQ(text_of(parse_sweep({"batch=1,8", "seq=64,128"}).value()),
            "b1s64 b1s128 b8s64 b8s128 ");
}

TEST(Sweep, RefusesWhatIsNoSize) {
  for (const char* axis : {"", "batch", "batch=", "batch=0", "batch=-1", "batch=1,", "batch=1;2",
                           "batch=1x", "heads=2", "batch=99999999999999999999"}) {
    Result<std::vector<Sizes>> sweep = parse_sweep({axis});
    ASSERT_FALSE(sweep.ok()) << axis;
    EXPECT_EQ(sweep.error().code, ErrorCode::kUsage) << axis;
  }
}

}  // namespace
}  // namespace tuff::bench
