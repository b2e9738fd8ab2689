#include "frontend/session/queue.h"

namespace tuff {

Queue::Queue() : state_(std::make_shared<State>()), thread_([state = state_] { work(state); }) {}

Queue::~Queue() {
  {
    std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_all();
  }
  if (!inside()) {
    thread_.join();
    return;
  }
  // The thread cannot wait for itself: the rest is done here, before what tasks use goes.
  thread_.detach();
  for (Task task; !state_->tasks.empty(); task()) {
    task = std::move(state_->tasks.front());
    state_->tasks.pop_front();
  }
}

void Queue::submit(Task task) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return inside() || state_->tasks.size() < kMaxPending; });
  state_->tasks.push_back(std::move(task));
  state_->changed.notify_all();
}

bool Queue::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->tasks.empty() && !state_->busy;
}

void Queue::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->closed || !state->tasks.empty(); });
    if (state->tasks.empty()) return;
    Task task = std::move(state->tasks.front());
    state->tasks.pop_front();
    state->busy = true;
    state->changed.notify_all();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the next one runs
    lock.lock();
    state->busy = false;
  }
}

}  // namespace tuff
