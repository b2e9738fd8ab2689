// What graphs were made into, by structure: equal graphs are equal work, wherever in
// the model's source they came from.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backend/compile.h"
#include "backend/device.h"

namespace tuff::pjrt {

// A program for devices of one kind.
struct Compiled {
  std::shared_ptr<const Graph> graph;
  uint64_t hash = 0;  // of the graph
  std::shared_ptr<const Program> program;
  CompileReport report;
  // A run is over sooner than another thread would have begun it.
  bool is_brief = false;
};

// A program on one device, which it keeps alive.
struct Loaded {
  std::shared_ptr<Device> device;  // before `loaded`: destroyed after it
  std::shared_ptr<const Compiled> compiled;
  std::unique_ptr<LoadedProgram> loaded;
};

// Keeps the kLimit values used last.
// Thread-safe.
template <typename T>
class GraphCache {
 public:
  static constexpr size_t kLimit = 1024;
  using Ptr = std::shared_ptr<const T>;

  Ptr find(const Graph& graph, uint64_t hash) {
    std::lock_guard lock(mutex_);
    auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!(*compiled(**it->second).graph == graph)) continue;
      entries_.splice(entries_.begin(), entries_, it->second);
      return *it->second;
    }
    return nullptr;
  }

  void insert(Ptr value) {
    Ptr dropped;  // destroyed after the lock
    std::lock_guard lock(mutex_);
    uint64_t hash = compiled(*value).hash;
    entries_.push_front(std::move(value));
    by_hash_.emplace(hash, entries_.begin());
    if (entries_.size() <= kLimit) return;
    auto last = std::prev(entries_.end());
    auto [begin, end] = by_hash_.equal_range(compiled(**last).hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        by_hash_.erase(it);
        break;
      }
    dropped = std::move(*last);
    entries_.erase(last);
  }

 private:
  static const Compiled& compiled(const Compiled& value) { return value; }
  static const Compiled& compiled(const Loaded& value) { return *value.compiled; }

  using Entries = std::list<Ptr>;  // used last first
  std::mutex mutex_;
  Entries entries_;
  std::unordered_multimap<uint64_t, typename Entries::iterator> by_hash_;
};

}  // namespace tuff::pjrt
