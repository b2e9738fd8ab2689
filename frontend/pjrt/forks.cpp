// Forked processes are known by a flag that the fork itself sets.
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string>

#include "frontend/pjrt/abi/table.h"

namespace tuff::pjrt {

namespace {
std::atomic<bool> forked{false};
}  // namespace

bool in_fork() { return forked.load(std::memory_order_relaxed); }

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
}

Error forked_error() {
  return {
      ErrorCode::kUsage,
      "This process was forked from one that had begun to use tuff, and has none of the threads "
      "that its devices need; fork before the first use of JAX, or start processes by "
      "multiprocessing's (spawn) or (forkserver).",
      ""};
}

}  // namespace tuff::pjrt

// For what would hang in the caller already; null where nothing is wrong.
extern "C" __attribute__((visibility("default"))) const char* tuff_pjrt_fork_error() {
  static const std::string message = tuff::pjrt::forked_error().message;
  return tuff::pjrt::in_fork() ? message.c_str() : nullptr;
}
