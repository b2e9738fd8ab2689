#include "backend/cpu/openmp_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu::test {
namespace {

// openmp_user.cpp, linked with a name and options of its own.
class User {
 public:
  explicit User(const char* path) : library_(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    team_ = reinterpret_cast<int (*)(int)>(dlsym(library_, "team"));
    max_threads_ = static_cast<int (**)()>(dlsym(library_, "max_threads_pointer"));
  }
  ~User() { dlclose(library_); }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  bool answer() { return answer_openmp_calls(reinterpret_cast<const void*>(team_)); }
  int team() { return team_(5); }
  int max_threads() { return (*max_threads_)(); }

 private:
  void* library_;
  int (*team_)(int);
  int (**max_threads_)();
};

TEST(OpenMpCalls, OnlyTheLibraryNamedGetsOurThreads) {
  for (const char* path : {OPENMP_USER_BOUND_AT_LOAD, OPENMP_USER_BOUND_AT_CALL}) {
    SCOPED_TRACE(path);
    for (bool called_before : {true, false}) {
      User user(path), other(OPENMP_USER_OTHER);
      if (called_before) {
        EXPECT_EQ(user.team(), 1);
      }
      EXPECT_TRUE(user.answer());
      EXPECT_EQ(user.team(), 5);
      EXPECT_EQ(user.max_threads(), max_threads());
      EXPECT_EQ(other.team(), 1);
      EXPECT_EQ(other.max_threads(), 1);
    }
  }
}

TEST(OpenMpCalls, ALibraryThatAsksForMoreIsLeftAsItIs) {
  User user(OPENMP_USER_CALLS_MORE);
  EXPECT_FALSE(user.answer());
  EXPECT_EQ(user.team(), 1);
  EXPECT_EQ(user.max_threads(), 1);
}

}  // namespace
}  // namespace tuff::cpu::test
