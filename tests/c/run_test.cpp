// Runs: in place, behind each other, from many threads.
#include <atomic>
#include <thread>

#include "c_api.h"

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CApi, ObjectsMayGoInAnyOrder) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer *x = buffer({1, 2}, {2}), *result = nullptr;
  tuff_buffer* arguments[] = {x, x};
  tuff_device_destroy(device_), device_ = nullptr;
  tuff_context_destroy(context_), context_ = nullptr;
  ASSERT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_OK);
  tuff_program_destroy(program), tuff_buffer_destroy(x);
  EXPECT_THAT(values(result), ElementsAre(2, 4));
  tuff_buffer_destroy(result);
}

TEST_F(CApi, WrongCallsLeaveResultsAlone) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer *x = buffer({1, 2}, {2}), *wide = buffer({1, 2, 3}, {3});
  auto* untouched = reinterpret_cast<tuff_buffer*>(16);
  tuff_buffer *result = untouched, *arguments[] = {x, wide};
  EXPECT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("argument 1 (y) has type (2xf32)"));
  EXPECT_EQ(tuff_program_run(program, nullptr, arguments, 1, &result, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 2), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(result, untouched);
  tuff_buffer_destroy(x), tuff_buffer_destroy(wide), tuff_program_destroy(program);
}

TEST_F(CApi, DonatedArgumentsAreUsedUp) {
  tuff_program* program = compile(step_text(4));
  tuff_buffer *x = buffer({1, 2, 3, 4}, {4}), *y = buffer({2, 2, 2, 2}, {4}), *result = nullptr;
  const void *before = nullptr, *after = nullptr;
  ASSERT_EQ(tuff_buffer_host_data(x, &before), TUFF_OK);
  size_t first = 0;
  tuff_run_options options = TUFF_INIT(tuff_run_options);
  options.donated = &first, options.num_donated = 1;
  tuff_buffer* arguments[] = {x, y};
  ASSERT_EQ(tuff_program_run(program, &options, arguments, 2, &result, 1), TUFF_OK)
      << tuff_last_error();
  EXPECT_THAT(values(result), ElementsAre(0, 1, 2, 3));
  ASSERT_EQ(tuff_buffer_host_data(result, &after), TUFF_OK);
  EXPECT_EQ(before, after) << "the result is in the argument's memory";
  float data[4];
  EXPECT_EQ(tuff_buffer_read(x, data, sizeof data), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("donated"));
  tuff_buffer *again[] = {y, y}, *none = nullptr;
  EXPECT_EQ(tuff_program_run(program, &options, again, 2, &none, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(values(y), ElementsAre(2, 2, 2, 2)) << "a refused donation keeps the buffer";
  for (tuff_buffer* made : {x, y, result}) tuff_buffer_destroy(made);
  tuff_program_destroy(program);
}

TEST_F(CApi, QueuedRunsFollowOnEachOther) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer *sum = buffer({0, 0}, {2}), *one = buffer({1, 1}, {2});
  tuff_event* event = nullptr;
  for (int i = 0; i < 100; ++i) {
    tuff_buffer *arguments[] = {sum, one}, *next = nullptr;
    tuff_event_destroy(event);
    ASSERT_EQ(tuff_program_run_async(program, nullptr, arguments, 2, &next, 1, &event), TUFF_OK);
    tuff_buffer_destroy(sum);
    sum = next;
  }
  std::atomic<tuff_status> told{-1};
  ASSERT_EQ(tuff_event_on_done(
                event,
                [](void* user, tuff_status status) {
                  *static_cast<std::atomic<tuff_status>*>(user) = status;
                },
                &told),
            TUFF_OK);
  EXPECT_EQ(tuff_event_wait(event, UINT64_MAX), TUFF_OK);
  EXPECT_EQ(tuff_event_wait(event, 0), TUFF_OK);
  EXPECT_THAT(values(sum), ElementsAre(100, 100));
  while (told == -1) std::this_thread::yield();
  EXPECT_EQ(told, TUFF_OK);
  tuff_event_destroy(event), tuff_buffer_destroy(sum), tuff_buffer_destroy(one);
  tuff_program_destroy(program);
}

TEST_F(CApi, OneProgramFromManyThreads) {
  constexpr int kThreads = 8, kRuns = 1000;
  tuff_program* program = compile(add_text(64));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> mine(64, static_cast<float>(t));
      tuff_buffer* x = buffer(mine, {64});
      for (int i = 0; i < kRuns; ++i) {
        tuff_buffer *arguments[] = {x, x}, *result = nullptr;
        if (tuff_program_run(program, nullptr, arguments, 2, &result, 1) != TUFF_OK) {
          ++wrong;
          continue;
        }
        if (values(result) != std::vector<float>(64, static_cast<float>(2 * t))) ++wrong;
        tuff_buffer_destroy(result);
      }
      tuff_buffer_destroy(x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  tuff_program_destroy(program);
}

TEST_F(CApi, RunsOnVulkanToo) {
  tuff_device* vulkan = nullptr;
  if (tuff_device_open(context_, "vulkan", &vulkan) != TUFF_OK)
    GTEST_SKIP() << "no Vulkan device: " << tuff_last_error();
  std::swap(device_, vulkan);
  tuff_program* program = compile(step_text(5));
  tuff_buffer *x = buffer({1, 2, 3, 4, 5}, {5}), *y = buffer({2, 2, 2, 2, 2}, {5});
  tuff_buffer *arguments[] = {x, y}, *result = nullptr;
  ASSERT_EQ(tuff_program_run(program, nullptr, arguments, 2, &result, 1), TUFF_OK)
      << tuff_last_error();
  EXPECT_THAT(values(result), ElementsAre(0, 1, 2, 3, 4));
  const void* data = &result;
  EXPECT_EQ(tuff_buffer_host_data(result, &data), TUFF_OK);
  EXPECT_EQ(data, nullptr) << "its memory is the driver's";
  tuff_buffer* foreign = nullptr;
  std::swap(device_, vulkan);
  foreign = buffer({1, 2, 3, 4, 5}, {5});
  arguments[0] = foreign;
  tuff_buffer* none = nullptr;
  EXPECT_EQ(tuff_program_run(program, nullptr, arguments, 2, &none, 1), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("not on the program's device"));
  for (tuff_buffer* made : {x, y, result, foreign}) tuff_buffer_destroy(made);
  tuff_program_destroy(program);
  tuff_device_destroy(vulkan);
}

}  // namespace
}  // namespace tuff_test
