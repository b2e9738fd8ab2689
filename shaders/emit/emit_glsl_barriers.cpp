#include "shaders/emit/emit_glsl_barriers.h"

#include <algorithm>
#include <iterator>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

// A place that lanes can pass values through: shared arrays, buffers that are
// both read and written, and the scratch of reduce_lanes.
struct Passage {
  enum class Kind : uint8_t { kArray, kBuffer, kScratch };
  Kind kind;
  uint32_t id;
  auto operator<=>(const Passage&) const = default;
};

struct Accesses {
  std::set<Passage> reads, writes;

  void add(const Accesses& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
  bool operator==(const Accesses&) const = default;
};

class Planner {
 public:
  Planner(const Kernel& kernel, const Shuffles& shuffles) : kernel_(kernel), shuffles_(shuffles) {}

  BarrierPlan plan() {
    // A single lane never waits; it sees its own writes in order.
    if (kernel_.lanes > 1) block(kernel_.body);
    return std::move(plan_);
  }

 private:
  void block(const Block& body) {
    for (const Stmt& stmt : body) {
      switch (stmt.kind) {
        case Stmt::Kind::kSerial:
        case Stmt::Kind::kUnroll: repeated(stmt); break;
        case Stmt::Kind::kIf: optional(stmt); break;
        case Stmt::Kind::kBarrier: wait(true); break;
        case Stmt::Kind::kBreakUnless: left_.add(pending_); break;
        default: segment(stmt);
      }
    }
  }

  // Runs the body until what is pending at its head no longer grows. Barriers
  // once placed stay, so this ends.
  void repeated(const Stmt& loop) {
    Accesses before = pending_, head, left_outside = std::move(left_);
    left_ = {};
    do {
      head = pending_;
      block(loop.body);
      pending_.add(before);  // the loop may run zero times
      pending_.add(head);
    } while (!(pending_ == head));
    // What is pending after the loop: the last iteration's, or what was before.
    block(loop.body);
    pending_.add(before);
    pending_.add(left_);
    left_ = std::move(left_outside);
  }

  void optional(const Stmt& stmt) {
    Accesses before = pending_;
    block(stmt.body);
    pending_.add(before);
  }

  // A statement that runs whole between two barriers.
  void segment(const Stmt& stmt) {
    Accesses now = accesses(stmt);
    std::set<Passage> after_write = common(pending_.writes, now.reads);
    after_write.merge(common(pending_.writes, now.writes));
    bool through_buffer = false;
    for (const Passage& place : after_write) {
      if (place.kind != Passage::Kind::kBuffer) continue;
      through_buffer = true;
      plan_.buffers.insert(place.id);
    }
    if (!after_write.empty() || !common(pending_.reads, now.writes).empty())
      plan_.before[&stmt] |= through_buffer;
    if (auto placed = plan_.before.find(&stmt); placed != plan_.before.end()) wait(placed->second);
    if (stmt.kind == Stmt::Kind::kReduceLanes && !shuffles_.reduces.contains(&stmt)) {
      // It waits inside, after its writes; only its last read is left.
      wait(false);
      now.writes.clear();
    }
    pending_.add(now);
  }

  // A barrier orders everything, but makes only shared memory visible unless
  // buffers are named.
  void wait(bool with_buffers) {
    pending_.reads.clear();
    std::erase_if(pending_.writes, [&](const Passage& place) {
      return with_buffers || place.kind != Passage::Kind::kBuffer;
    });
  }

  Accesses accesses(const Stmt& stmt) const {
    Accesses all;
    add_access(stmt, all);
    for_each_stmt(stmt.body, [&](const Stmt& inner) { add_access(inner, all); });
    return all;
  }

  void add_access(const Stmt& stmt, Accesses& all) const {
    switch (stmt.kind) {
      case Stmt::Kind::kRead:
      case Stmt::Kind::kWrite: {
        if (kernel_.arrays[stmt.target].scope != Scope::kShared) return;
        if (shuffles_.arrays.contains(stmt.target)) return;
        auto& set = stmt.kind == Stmt::Kind::kRead ? all.reads : all.writes;
        set.insert({Passage::Kind::kArray, stmt.target});
        return;
      }
      case Stmt::Kind::kLoad:
      case Stmt::Kind::kStore: {
        if (kernel_.buffers[stmt.target].access != Access::kReadWrite) return;
        auto& set = stmt.kind == Stmt::Kind::kLoad ? all.reads : all.writes;
        set.insert({Passage::Kind::kBuffer, stmt.target});
        return;
      }
      case Stmt::Kind::kReduceLanes:
        if (shuffles_.reduces.contains(&stmt)) return;
        all.reads.insert({Passage::Kind::kScratch, 0});
        all.writes.insert({Passage::Kind::kScratch, 0});
        return;
      case Stmt::Kind::kMatrixMultiply:
        for (uint32_t id : stmt.arrays) all.reads.insert({Passage::Kind::kArray, id});
        return;
      case Stmt::Kind::kMatrixStore:
        for (uint32_t id : stmt.arrays) all.writes.insert({Passage::Kind::kArray, id});
        return;
      default: return;
    }
  }

  static std::set<Passage> common(const std::set<Passage>& a, const std::set<Passage>& b) {
    std::set<Passage> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
  }

  const Kernel& kernel_;
  const Shuffles& shuffles_;
  Accesses pending_;  // since the last barrier
  Accesses left_;     // where the innermost loop is left early
  BarrierPlan plan_;
};

}  // namespace

BarrierPlan plan_barriers(const Kernel& kernel, const Shuffles& shuffles) {
  return Planner(kernel, shuffles).plan();
}

}  // namespace tuff
