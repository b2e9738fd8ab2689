// What graphs were made into, by structure: equal graphs are equal work, wherever in
// the model's source they came from.
#pragma once

#include <atomic>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backend/compile.h"
#include "backend/device.h"
#include "backend/host_callbacks.h"

namespace tuff::pjrt {

// A program for devices of one kind.
struct Compiled {
  std::shared_ptr<const Graph> graph;
  uint64_t hash = 0;  // of the graph
  std::shared_ptr<const Program> program;
  CompileReport report;
  std::vector<HostCallbackShare> callbacks;  // what it calls back
  // Whether a run is over sooner than another thread would have begun it: by what its steps cost;
  // or where that is too much, or not known, by how long the last one took.
  enum class Brevity : uint8_t { kNever, kAsMeasured, kAlways };
  Brevity brevity = Brevity::kNever;
  mutable std::atomic<float> last_run_ms = std::numeric_limits<float>::infinity();
  mutable std::atomic<bool> was_wanted = false;  // its caller waited for that one at once
};

// A program on one device, which it keeps alive.
struct Loaded {
  std::shared_ptr<Device> device;  // before `loaded`: destroyed after it
  std::shared_ptr<const Compiled> compiled;
  std::unique_ptr<LoadedProgram> loaded;
};

// About what a program holds in memory that goes with it; `held_bytes(loaded)` counts what it was
// loaded from as well.
int64_t held_bytes(const Compiled& compiled);
int64_t held_bytes(const Loaded& loaded);

// Keeps the values used last: at most kMaxEntries that hold at most kMaxBytes together. Functions
// that a program drops leave no more than that behind.
// Thread-safe.
template <typename T>
class GraphCache {
 public:
  static constexpr size_t kMaxEntries = 1024;
  static constexpr int64_t kMaxBytes = int64_t{128} << 20;
  using Ptr = std::shared_ptr<const T>;

  Ptr find(const Graph& graph, uint64_t hash) {
    std::lock_guard lock(mutex_);
    auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!(*compiled(*it->second->value).graph == graph)) continue;
      entries_.splice(entries_.begin(), entries_, it->second);
      return it->second->value;
    }
    return nullptr;
  }

  void insert(Ptr value) {
    Entries dropped;  // destroyed after the lock
    std::lock_guard lock(mutex_);
    uint64_t hash = compiled(*value).hash;
    int64_t bytes = held_bytes(*value);
    entries_.push_front({std::move(value), bytes});
    by_hash_.emplace(hash, entries_.begin());
    bytes_ += bytes;
    while (entries_.size() > kMaxEntries || bytes_ > kMaxBytes) drop_last(dropped);
  }

 private:
  struct Entry {
    Ptr value;
    int64_t bytes = 0;
  };
  using Entries = std::list<Entry>;  // used last first

  static const Compiled& compiled(const Compiled& value) { return value; }
  static const Compiled& compiled(const Loaded& value) { return *value.compiled; }

  void drop_last(Entries& dropped) {
    auto last = std::prev(entries_.end());
    auto [begin, end] = by_hash_.equal_range(compiled(*last->value).hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        by_hash_.erase(it);
        break;
      }
    bytes_ -= last->bytes;
    dropped.splice(dropped.begin(), entries_, last);
  }

  std::mutex mutex_;
  Entries entries_;
  int64_t bytes_ = 0;  // of all entries
  std::unordered_multimap<uint64_t, typename Entries::iterator> by_hash_;
};

}  // namespace tuff::pjrt
