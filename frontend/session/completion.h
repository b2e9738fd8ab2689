// Completion: something that ends once, well or with an error, and who waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

// Thread-safe.
class Completion {
 public:
  using Callback = std::function<void(const Status&)>;

  // Ends it; called once. Callbacks run on the calling thread.
  void complete(Status status);
  bool ready() const;
  Status wait() const;
  // Its status, if it ends within the time.
  std::optional<Status> wait_for(std::chrono::nanoseconds time) const;
  // Calls back when it ends, or now if it has. A callback may destroy its last owner.
  void on_ready(Callback callback);

  // Somebody is about to wait for it.
  void want();
  // Calls back when that happens for the first time, on the thread that wants it.
  void on_wanted(std::function<void()> callback);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool ready_ = false;
  Status status_;
  std::vector<Callback> callbacks_;
  std::function<void()> wanted_;
};
using CompletionPtr = std::shared_ptr<Completion>;

// One that has ended well.
CompletionPtr completed();

}  // namespace tuff
