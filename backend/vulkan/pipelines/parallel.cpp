#include "backend/vulkan/pipelines/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "ir/support/guarded.h"

namespace tuff {

namespace {

// Work that several threads share.
class SharedWork {
 public:
  SharedWork(size_t count, const std::function<Status(size_t)>& work)
      : count_(count), work_(work) {}

  // Takes pieces until none is left. Throws nothing: this is the edge of a thread.
  void take_pieces() noexcept {
    for (size_t i; !failed_ && (i = next_++) < count_;) {
      try {
        if (Status status = work_(i); !status) note(i, status.take_error());
      } catch (...) {
        // Its error is made by the caller: here there may be no memory for its text.
        note(i, std::current_exception());
      }
    }
  }

  // Once all threads have ended.
  Status take_status() {
    if (auto* error = std::get_if<Error>(&first_)) return std::move(*error);
    if (auto* thrown = std::get_if<std::exception_ptr>(&first_)) return error_of(*thrown);
    return {};
  }

 private:
  template <typename Failure>
  void note(size_t i, Failure failure) noexcept {
    failed_ = true;
    std::lock_guard lock(mutex_);
    if (first_.index() != 0 && i > first_index_) return;
    first_index_ = i;
    first_ = std::move(failure);
  }

  const size_t count_;
  const std::function<Status(size_t)>& work_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  size_t first_index_ = 0;
  std::variant<std::monostate, Error, std::exception_ptr> first_;
};

}  // namespace

Status parallel_for(size_t count, const std::function<Status(size_t)>& work) {
  SharedWork shared(count, work);
  size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  {
    std::vector<std::jthread> workers;
    try {
      for (size_t i = 1; i < threads; ++i)
        workers.emplace_back([&shared] { shared.take_pieces(); });
    } catch (const std::exception&) {
      // A thread, or memory for it, is refused: those that there are do all.
    }
    shared.take_pieces();
  }
  return shared.take_status();
}

}  // namespace tuff
