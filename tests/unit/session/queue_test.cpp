// A queue's tasks are done before the process ends, whoever destroys the queue.
#include "frontend/session/queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tuff {
namespace {

// What a library is to a task: taken down at the end of the process. Registered first, called last.
bool is_taken_down = false;
void take_down_last() {
  std::atexit([] { is_taken_down = true; });
}

void use_library_for_a_while() {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::fputs(is_taken_down ? "used when it was gone\n" : "used in time\n", stderr);
}

TEST(QueueDeathTest, TheEndOfTheProcessWaitsForTasks) {
  EXPECT_EXIT(
      {
        take_down_last();
        auto* queue = new Queue;  // left to the end of the process
        for (int i = 0; i < 3; ++i) queue->submit(use_library_for_a_while);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^used in time\nused in time\nused in time\n$");
}

TEST(QueueDeathTest, AndForATaskThatTookTheLastHoldOfItsQueue) {
  EXPECT_EXIT(
      {
        take_down_last();
        auto queue = std::make_shared<Queue>();
        Queue& submitted = *queue;
        submitted.submit([queue = std::move(queue)]() mutable {
          queue.reset();
          use_library_for_a_while();
        });
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^used in time\n$");
}

TEST(QueueDeathTest, ATaskMayEndTheProcess) {
  EXPECT_EXIT(
      {
        Queue queue;
        queue.submit([] { std::exit(3); });
        pause();
      },
      testing::ExitedWithCode(3), "");
}

TEST(QueueDeathTest, AForkedChildWaitsForNobody) {
  EXPECT_EXIT(
      {
        auto* queue = new Queue;
        queue->submit([] { pause(); });
        if (fork() == 0) std::exit(0);
        _exit(wait(nullptr) > 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tuff
