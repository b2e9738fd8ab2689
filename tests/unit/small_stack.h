// Threads with as little stack as programs have that use many of them.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

namespace tuff::test {

// Calls work on a thread with 1 MiB of stack.
inline void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 20), 0);
  auto start = [](void* data) -> void* {
    (*static_cast<const std::function<void()>*>(data))();
    return nullptr;
  };
  pthread_t thread;
  auto* data = const_cast<std::function<void()>*>(&work);
  ASSERT_EQ(pthread_create(&thread, &attributes, start, data), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace tuff::test
