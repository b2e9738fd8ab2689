#include "backend/cpu/thread_pool.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

extern "C" {
void GOMP_parallel(void (*part)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
}

namespace tuff::cpu::test {
namespace {

TEST(ThreadPool, EveryPartRunsOnce) {
  for (int parts : {0, 1, 2, 3, 7, 16})
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> calls(16);
      in_parallel(parts, [&](int part) { ++calls[static_cast<size_t>(part)]; });
      for (int part = 0; part < 16; ++part)
        EXPECT_EQ(calls[static_cast<size_t>(part)], part < parts ? 1 : 0) << parts << " parts";
    }
  EXPECT_EQ(current_part(), 0);
}

TEST(ThreadPool, RangesAreTakenOnce) {
  for (int64_t count : {0, 1, 5, 1000})
    for (int64_t chunk : {1, 3, 2000}) {
      std::vector<std::atomic<int>> taken(static_cast<size_t>(count));
      SharedRange range(count, chunk);
      in_parallel(3, [&](int) {
        for (int64_t i, last; range.take(i, last);)
          for (; i < last; ++i) ++taken[static_cast<size_t>(i)];
      });
      for (auto& times : taken) EXPECT_EQ(times, 1);
    }
}

TEST(ThreadPool, PartsInPartsAreOneCall) {
  std::atomic<int> calls = 0;
  in_parallel(3, [&](int part) {
    in_parallel(4, [&](int inner) {
      EXPECT_EQ(inner, 0);
      ++calls;
    });
    EXPECT_EQ(current_part(), part);
  });
  EXPECT_EQ(calls, 3);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total = 0;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) in_parallel(3, [&](int part) { total += part; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 200 * 3);
}

TEST(ThreadPool, LimitIsTheThreadsOwn) {
  int before = set_thread_limit(1);
  EXPECT_EQ(max_threads(), 1);
  int elsewhere = 0;
  std::thread([&] { elsewhere = max_threads(); }).join();
  EXPECT_EQ(set_thread_limit(before), 1);
  EXPECT_EQ(elsewhere, max_threads());
}

// As oneDNN calls OpenMP, with barriers that all parts must reach.
struct Sums {
  std::vector<int> numbers = std::vector<int>(5), totals = std::vector<int>(5);
};
void number_then_sum(void* data) {
  auto& sums = *static_cast<Sums*>(data);
  auto part = static_cast<size_t>(omp_get_thread_num());
  EXPECT_EQ(omp_get_num_threads(), 5);
  EXPECT_TRUE(omp_in_parallel());
  for (int round = 1; round <= 20; ++round) {
    sums.numbers[part] = round;
    GOMP_barrier();
    sums.totals[part] += std::accumulate(sums.numbers.begin(), sums.numbers.end(), 0);
    GOMP_barrier();
  }
}

TEST(ThreadPool, AnswersOpenMp) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "GOMP_parallel"), reinterpret_cast<void*>(&GOMP_parallel));
  EXPECT_EQ(omp_get_max_threads(), max_threads());
  EXPECT_FALSE(omp_in_parallel());
  Sums sums;
  GOMP_parallel(number_then_sum, &sums, 5, 0);
  EXPECT_EQ(sums.totals, std::vector<int>(5, 5 * 210));
}

}  // namespace
}  // namespace tuff::cpu::test
