#include "backend/cpu/thread_pool.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {
std::atomic<bool> threads_refused = false;
}  // namespace

// Threads of the process start here.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* data) {
  if (threads_refused) return EAGAIN;
  static auto* create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, data);
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

TEST(ThreadPool, SplitRangesAreTakenOnce) {
  for (int64_t count : {0, 1, 2, 5, 1000})
    for (int parts : {1, 2, 3, 100}) {
      std::vector<std::atomic<int>> taken(static_cast<size_t>(count));
      SplitRange range(count, parts);
      in_parallel(parts, [&](int part) {
        for (int64_t i, next; range.take(part, i, next);) {
          ++taken[static_cast<size_t>(i)];
          EXPECT_TRUE(next == -1 || next == i + 1 || next == i - 1);
        }
      });
      for (auto& times : taken) EXPECT_EQ(times, 1);
    }
}

TEST(ThreadPool, AShareOfASplitRangeIsInOrder) {
  SplitRange range(5, 2);
  std::vector<int64_t> items;
  for (int64_t i, next; range.take(1, i, next);) items.push_back(i);
  EXPECT_EQ(items, (std::vector<int64_t>{2, 3, 4, 1, 0}));  // then the other's, from its end
}

TEST(ThreadPool, RefusedThreadsAreDoneWithout) {
  threads_refused = true;
  std::atomic<int> calls = 0, parts = 0;
  std::vector<std::atomic<int>> taken(1000);
  SharedRange range(1000, 3);
  in_parallel(200, [&](int part) {  // more than any test before started
    ++calls;
    parts = current_parts();
    EXPECT_LT(part, current_parts());
    for (int64_t i, last; range.take(i, last);)
      for (; i < last; ++i) ++taken[static_cast<size_t>(i)];
  });
  threads_refused = false;
  EXPECT_LT(calls, 200);
  EXPECT_EQ(calls, parts);
  for (auto& times : taken) EXPECT_EQ(times, 1);
  calls = 0;
  in_parallel(20, [&](int) { ++calls; });
  EXPECT_EQ(calls, 20) << "later calls get their threads";
}

TEST(ThreadPool, ExceptionsReachTheCaller) {
  for (int thrower : {0, 1, 2}) {
    std::atomic<int> calls = 0;
    auto work = [&](int part) {
      ++calls;
      if (part == thrower) throw std::runtime_error("reason");
    };
    EXPECT_THROW(in_parallel(3, work), std::runtime_error);
    EXPECT_EQ(calls, 3);
  }
  EXPECT_NO_THROW(in_parallel(3, [](int) {}));
  EXPECT_EQ(current_parts(), 1);
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

cpu_set_t processors_of_this_thread() {
  cpu_set_t set;
  EXPECT_EQ(pthread_getaffinity_np(pthread_self(), sizeof set, &set), 0);
  return set;
}

// What the second of `parts` parts may run on, called from `processor`.
cpu_set_t processors_of_a_worker(int parts, int processor) {
  cpu_set_t own, all = processors_of_this_thread(), found;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof own, &own), 0);
  std::atomic<int> arrived = 0;
  in_parallel(parts, [&](int part) {
    for (++arrived; arrived < parts;) std::this_thread::yield();  // each on its own thread
    if (part == 1) found = processors_of_this_thread();
  });
  EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof all, &all), 0);
  return found;
}

TEST(ThreadPool, WorkersKeepOffTheCallersProcessor) {
  in_parallel(2, [](int) {});
  cpu_set_t all = processors_of_this_thread();
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one processor";
  for (int processor = 0, seen = 0; seen < 2; ++processor) {
    if (!CPU_ISSET(processor, &all)) continue;
    ++seen;
    cpu_set_t others = processors_of_a_worker(2, processor);
    EXPECT_FALSE(CPU_ISSET(processor, &others)) << processor;
    EXPECT_EQ(CPU_COUNT(&others), CPU_COUNT(&all) - 1);
    cpu_set_t any = processors_of_a_worker(CPU_COUNT(&all) + 1, processor);
    EXPECT_TRUE(CPU_EQUAL(&any, &all)) << "there are more parts than processors";
  }
}

TEST(ThreadPool, PartsWaitForEachOther) {
  std::vector<int> numbers(5), totals(5);
  in_parallel(5, [&](int number) {
    auto part = static_cast<size_t>(number);
    EXPECT_EQ(current_parts(), 5);
    for (int round = 1; round <= 20; ++round) {
      numbers[part] = round;
      barrier();
      totals[part] += std::accumulate(numbers.begin(), numbers.end(), 0);
      barrier();
    }
  });
  EXPECT_EQ(totals, std::vector<int>(5, 5 * 210));
  EXPECT_EQ(current_parts(), 1);
}

}  // namespace
}  // namespace tuff::cpu::test
