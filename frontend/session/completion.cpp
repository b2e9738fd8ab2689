#include "frontend/session/completion.h"

namespace tuff {

void Completion::complete(Status status) {
  std::vector<Callback> callbacks;
  {
    std::lock_guard lock(mutex_);
    TUFF_CHECK(!ready_, "a completion ends twice");
    status_ = status;
    ready_ = true;
    callbacks.swap(callbacks_);
    changed_.notify_all();
  }
  // From here on `this` may be gone: a waiter may have dropped it.
  for (Callback& callback : callbacks) callback(status);
}

bool Completion::ready() const {
  std::lock_guard lock(mutex_);
  return ready_;
}

Status Completion::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_; });
  return status_;
}

std::optional<Status> Completion::wait_for(std::chrono::nanoseconds time) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, time, [this] { return ready_; })) return std::nullopt;
  return status_;
}

void Completion::on_ready(Callback callback) {
  {
    std::lock_guard lock(mutex_);
    if (!ready_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

void Completion::want() {
  std::function<void()> callback;
  {
    std::lock_guard lock(mutex_);
    callback.swap(wanted_);
  }
  if (callback) callback();
}

void Completion::on_wanted(std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  wanted_ = std::move(callback);
}

CompletionPtr completed() {
  static const CompletionPtr done = [] {
    auto completion = std::make_shared<Completion>();
    completion->complete({});
    return completion;
  }();
  return done;
}

}  // namespace tuff
