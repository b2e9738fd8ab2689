// Work on numbered items in child processes, so that an item that crashes or
// hangs costs that item and no other.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ir/support/result.h"

namespace tuff::conformance {

struct WorkerPoolOptions {
  int64_t jobs = 1;
  std::chrono::milliseconds timeout{60000};  // of one item; the first of a process gets twice that
};

// How an item ended: with an answer, or without.
struct WorkerAnswer {
  enum class End { kAnswer, kCrash, kTimeout };
  End end = End::kAnswer;
  std::string text;  // the answer, or what happened
};

// Calls `work` for 0 <= item < count in child processes, and `done` here for each
// item, in order. `work` runs in a process that was forked from this one before it
// had threads; it may keep state (an open device) from item to item. An error of `check`, which
// is asked several times a second and may be empty, ends everything.
Status run_in_workers(int64_t count, const WorkerPoolOptions& options,
                      const std::function<std::string(int64_t)>& work,
                      const std::function<void(int64_t, const WorkerAnswer&)>& done,
                      const std::function<Status()>& check);

}  // namespace tuff::conformance
