#include "ir/support/deep_stack.h"

#include <pthread.h>

#include <exception>
#include <utility>

namespace tuff {

namespace {

// Any thread's stack has room for the first, with all that stands on a level of nesting. The
// system gives memory to what is used of the second only.
constexpr int kShallow = 200, kDeep = 4000;
constexpr size_t kDeepStackBytes = size_t{256} << 20;

thread_local bool is_deep = false;

struct Call {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* call_on_thread(void* data) {
  auto& call = *static_cast<Call*>(data);
  is_deep = true;
  try {
    call.work();
  } catch (...) {
    call.thrown = std::current_exception();
  }
  return nullptr;
}

bool start_thread(pthread_t& thread, Call& call) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  bool started = pthread_attr_setstacksize(&attributes, kDeepStackBytes) == 0 &&
                 pthread_create(&thread, &attributes, call_on_thread, &call) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

int nesting_limit() { return is_deep ? kDeep : kShallow; }

void run_on_deep_stack(const std::function<void()>& work) {
  Call call{work, nullptr};
  pthread_t thread;
  if (is_deep || !start_thread(thread, call)) return work();
  pthread_join(thread, nullptr);
  if (call.thrown) std::rethrow_exception(call.thrown);
}

}  // namespace tuff
