#include "frontend/session/queue.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

namespace tuff {

namespace {

// Tasks of all queues, pending or under way. They call libraries, a driver's say, that the end of
// the process takes down, so that waits for them: not for ever, as drivers may hang.
std::atomic<int> unfinished{0};
constexpr std::chrono::seconds kLongestExit{10};
thread_local bool is_queue = false;
std::atomic<pid_t> process{0};  // a child that was forked has none of the threads

void wait_for_tasks() {
  if (is_queue || process != getpid()) return;  // is_queue: it is a task that ends the process
  auto end = std::chrono::steady_clock::now() + kLongestExit;
  while (unfinished > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void finish(Queue::Task task) {
  task();
  task = nullptr;  // what it holds goes, too
  --unfinished;
}

}  // namespace

Queue::Queue() : state_(std::make_shared<State>()), thread_([state = state_] { work(state); }) {
  process = getpid();
  // Once more for each: what is loaded by now is taken down after this has waited.
  std::atexit(wait_for_tasks);
}

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
  while (!state_->tasks.empty()) {
    Task task = std::move(state_->tasks.front());
    state_->tasks.pop_front();
    finish(std::move(task));
  }
}

void Queue::submit(Task task) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return inside() || state_->tasks.size() < kMaxPending; });
  state_->tasks.push_back(std::move(task));
  ++unfinished;
  state_->changed.notify_all();
}

bool Queue::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->tasks.empty() && !state_->busy;
}

void Queue::work(const std::shared_ptr<State>& state) {
  is_queue = true;
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->closed || !state->tasks.empty(); });
    if (state->tasks.empty()) return;
    Task task = std::move(state->tasks.front());
    state->tasks.pop_front();
    state->busy = true;
    state->changed.notify_all();
    lock.unlock();
    finish(std::move(task));
    lock.lock();
    state->busy = false;
  }
}

}  // namespace tuff
