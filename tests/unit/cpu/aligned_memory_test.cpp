// Memory blocks: every byte is there, and large ones serve again.
#include "backend/cpu/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace tuff::cpu {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(AlignedMemory, EveryByteOfABlockIsThere) {
  for (int64_t size : {int64_t{0}, int64_t{1}, int64_t{63}, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1,
                       9 * kMiB, 37 * kMiB + 5}) {
    AlignedBytes block = allocate_aligned(size);
    ASSERT_NE(block, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u) << size;
    std::memset(block.get(), 0x5a, static_cast<size_t>(size));
  }
}

TEST(AlignedMemory, MoreThanTheMachineHasIsRefused) {
  EXPECT_EQ(allocate_aligned(std::numeric_limits<int64_t>::max()), nullptr);
  EXPECT_EQ(allocate_aligned(int64_t{1} << 50), nullptr);
  EXPECT_EQ(allocate_aligned(-1), nullptr);
}

TEST(AlignedMemory, AFreedLargeBlockServesTheNextOfItsSize) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under a sanitizer every block is the heap's";
#endif
  AlignedBytes block = allocate_aligned(9 * kMiB);
  ASSERT_NE(block, nullptr);
  std::byte* first = block.get();
  block = nullptr;
  AlignedBytes much_smaller = allocate_aligned(5 * kMiB);
  EXPECT_NE(much_smaller.get(), first);
  AlignedBytes a_little_smaller = allocate_aligned(9 * kMiB - 1);
  EXPECT_EQ(a_little_smaller.get(), first);
  AlignedBytes beside = allocate_aligned(9 * kMiB);
  EXPECT_NE(beside.get(), first);
}

TEST(AlignedMemory, ThreadsShareWhatIsKept) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int64_t round = 0; round < 50; ++round) {
        auto size = static_cast<size_t>((4 + (round * 7 + t) % 5) * kMiB);
        AlignedBytes block = allocate_aligned(static_cast<int64_t>(size));
        ASSERT_NE(block, nullptr);
        block[0] = block[size - 1] = static_cast<std::byte>(t);
        std::this_thread::yield();
        EXPECT_EQ(block[0], static_cast<std::byte>(t));
        EXPECT_EQ(block[size - 1], static_cast<std::byte>(t));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tuff::cpu
