// Queue: a device's stream of work, one thread that does tasks in the order given. A process that
// ends waits for the tasks of its queues, ten seconds at most.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tuff {

class Queue {
 public:
  using Task = std::function<void()>;
  // Callers that are further ahead wait: what pending tasks hold on to stays bounded.
  static constexpr size_t kMaxPending = 64;

  Queue();
  // Does what is pending first. May be called by a task of the queue.
  ~Queue();

  // Tasks throw nothing. Thread-safe; a task may submit another.
  void submit(Task task);
  // True iff nothing is pending or under way, at the moment of asking.
  bool idle() const;
  // True iff the caller is a task of the queue, which therefore cannot wait for another one.
  bool inside() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Task> tasks;
    bool busy = false;  // a task is under way
    bool closed = false;
  };
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // the thread's share outlives a queue its task destroys
  std::thread thread_;
};

}  // namespace tuff
