// What a process knows of the end of others.
#include "frontend/pjrt/ranks/process_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tuff::pjrt {
namespace {

bool is_readable(int file, int timeout_ms) {
  pollfd watched{file, POLLIN, 0};
  return poll(&watched, 1, timeout_ms) == 1;
}

// The name of another process that is numbered as this one.
std::string name_of(pid_t pid) {
  std::string own = own_process();
  return std::to_string(pid) + own.substr(own.find('/'));
}

TEST(ProcessWatch, AnEndIsSeen) {
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  bool ended = true;
  int watched = watch_process(name_of(child), &ended);
  if (watched < 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    GTEST_SKIP() << "this system has no file descriptors of processes";
  }
  EXPECT_FALSE(ended);
  EXPECT_FALSE(is_readable(watched, 0));
  kill(child, SIGKILL);
  EXPECT_TRUE(is_readable(watched, 10'000));
  waitpid(child, nullptr, 0);
  close(watched);
  EXPECT_EQ(watch_process(name_of(child), &ended), -1);
  EXPECT_TRUE(ended);
}

TEST(ProcessWatch, ProcessesElsewhereAreNotKnown) {
  for (const char* name : {"1/another-machine/4026531836", "", "1", "x/", "/"}) {
    bool ended = true;
    EXPECT_EQ(watch_process(name, &ended), -1) << name;
    EXPECT_FALSE(ended) << name;
  }
}

}  // namespace
}  // namespace tuff::pjrt
