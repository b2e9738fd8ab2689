// Memory of exchanges is used again, and given back.
#include "frontend/pjrt/host_memory.h"

#include <gtest/gtest.h>

namespace tuff::pjrt {
namespace {

const TensorType kLarge{DType::kF32, {1 << 16}};

TEST(HostMemory, IsUsedAgain) {
  auto memory = HostMemory::create();
  const std::byte* block = memory->make(kLarge).bytes();
  Literal again = memory->make({DType::kI32, {256, 256}});
  EXPECT_EQ(again.bytes(), block);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  again.set_int((1 << 16) - 1, 7);
  EXPECT_EQ(again.get_int((1 << 16) - 1), 7);
}

TEST(HostMemory, IsNotShared) {
  auto memory = HostMemory::create();
  Literal one = memory->make(kLarge), other = memory->make(kLarge);
  EXPECT_NE(one.bytes(), other.bytes());
  Literal view = one;  // a share of it
  one = Literal();
  EXPECT_NE(memory->make(kLarge).bytes(), view.bytes());
}

TEST(HostMemory, MayBeOutlived) {
  auto memory = HostMemory::create();
  Literal literal = memory->make(kLarge);
  memory.reset();
  literal.set_double(5, 1.5);
  EXPECT_EQ(literal.get_double(5), 1.5);
}

TEST(HostMemory, SmallLiteralsAreZero) {
  EXPECT_EQ(HostMemory::create()->make({DType::kF32, {3}}).get_double(2), 0);
  EXPECT_EQ(HostMemory::create()->make({DType::kF32, {0}}).size_bytes(), 0);
}

}  // namespace
}  // namespace tuff::pjrt
