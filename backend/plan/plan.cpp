#include "backend/plan/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "backend/plan/ranges.h"

namespace tuff {

namespace {

int64_t align_up(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Returns how many pairs of temporaries are alive together.
size_t find_liveness(const std::vector<Lifetime>& lifetimes, int64_t alignment, ArenaPlan& plan) {
  struct Change {
    int64_t bytes = 0, begin = 0, end = 0;
  };
  int64_t steps = 0;
  for (const Lifetime& l : lifetimes) steps = std::max(steps, l.last + 1);
  std::vector<Change> changes(static_cast<size_t>(steps) + 1);
  for (const Lifetime& l : lifetimes) {
    Change& first = changes[static_cast<size_t>(l.first)];
    Change& after = changes[static_cast<size_t>(l.last) + 1];
    first.bytes += align_up(l.size_bytes, alignment), ++first.begin;
    after.bytes -= align_up(l.size_bytes, alignment), ++after.end;
  }
  int64_t bytes = 0, alive = 0, pairs = 0;
  for (int64_t s = 0; s < steps; ++s) {
    const Change& change = changes[static_cast<size_t>(s)];
    bytes += change.bytes;
    alive -= change.end;
    pairs += change.begin * alive + change.begin * (change.begin - 1) / 2;
    alive += change.begin;
    if (bytes <= plan.liveness_bytes) continue;
    plan.liveness_bytes = bytes;
    plan.peak_step = s;
  }
  return static_cast<size_t>(pairs);
}

// Segments of an arena, none of which a temporary may leave.
struct Segments {
  int64_t bytes;
  // The first offset from this one on where that many bytes cross into no other segment.
  int64_t fit(int64_t offset, int64_t size_bytes) const {
    int64_t left = bytes - offset % bytes;
    return left >= std::min(size_bytes, bytes) ? offset : offset + left;
  }
};

// Places temporaries in the order in which they begin, each into the smallest gap of what is
// free then. Takes no time for the pairs of those alive together.
class ArenaSweep {
 public:
  ArenaSweep(const std::vector<Lifetime>& lifetimes, int64_t alignment, Segments segments)
      : lifetimes_(lifetimes), alignment_(alignment), segments_(segments) {}

  void sweep(ArenaPlan& plan) {
    std::vector<size_t> by_first(lifetimes_.size()), by_last(lifetimes_.size());
    std::iota(by_first.begin(), by_first.end(), size_t{0});
    std::iota(by_last.begin(), by_last.end(), size_t{0});
    std::stable_sort(by_first.begin(), by_first.end(),
                     [&](size_t a, size_t b) { return lifetimes_[a].first < lifetimes_[b].first; });
    std::stable_sort(by_last.begin(), by_last.end(),
                     [&](size_t a, size_t b) { return lifetimes_[a].last < lifetimes_[b].last; });
    plan.offsets.assign(lifetimes_.size(), 0);
    plan.arena_bytes = 0;
    gaps_ = {{0, INT64_MAX}};
    size_t over = 0;
    for (size_t i : by_first) {
      for (; lifetimes_[by_last[over]].last < lifetimes_[i].first; ++over)
        give_back(plan.offsets[by_last[over]], taken_bytes(by_last[over]));
      plan.offsets[i] = take(taken_bytes(i));
      plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[i] + taken_bytes(i));
    }
  }

 private:
  int64_t taken_bytes(size_t i) const { return align_up(lifetimes_[i].size_bytes, alignment_); }

  int64_t take(int64_t bytes) {
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      auto [begin, end] = *gap;
      if (segments_.fit(begin, bytes) + bytes > end) continue;
      if (best == gaps_.end() || end - begin < best->second - best->first) best = gap;
      if (end - begin == bytes) break;
    }
    auto [begin, end] = *best;
    int64_t offset = segments_.fit(begin, bytes);
    gaps_.erase(best);
    if (offset > begin) gaps_.emplace(begin, offset);
    if (offset + bytes < end) gaps_.emplace(offset + bytes, end);
    return offset;
  }

  void give_back(int64_t begin, int64_t bytes) {
    if (bytes == 0) return;
    int64_t end = begin + bytes;
    auto after = gaps_.lower_bound(begin);
    if (after->first == end) {
      end = after->second;
      after = gaps_.erase(after);
    }
    if (after != gaps_.begin() && std::prev(after)->second == begin)
      std::prev(after)->second = end;
    else
      gaps_.emplace_hint(after, begin, end);
  }

  const std::vector<Lifetime>& lifetimes_;
  int64_t alignment_;
  Segments segments_;
  std::map<int64_t, int64_t> gaps_;  // ends by begins; none touches another; the last has no end
};

// Temporaries that are placed, found by time: a tree over all of them in the order in which they
// begin, each node with the end of the last one placed below it.
class PlacedByTime {
 public:
  explicit PlacedByTime(const std::vector<Lifetime>& lifetimes)
      : lifetimes_(lifetimes), by_first_(lifetimes.size()), rank_(lifetimes.size()) {
    std::iota(by_first_.begin(), by_first_.end(), size_t{0});
    std::sort(by_first_.begin(), by_first_.end(), [&](size_t a, size_t b) {
      return std::pair(lifetimes[a].first, a) < std::pair(lifetimes[b].first, b);
    });
    for (size_t r = 0; r < by_first_.size(); ++r) rank_[by_first_[r]] = r;
    while (leaves_ < lifetimes.size()) leaves_ *= 2;
  }

  void clear() { latest_.assign(2 * leaves_, kNever); }
  void add(size_t i) {
    size_t at = leaves_ + rank_[i];
    for (latest_[at] = lifetimes_[i].last; at > 1; at /= 2)
      latest_[at / 2] = std::max(latest_[at / 2], latest_[at]);
  }
  // Calls visit with those that are alive together with this one.
  template <typename Visit>
  void for_each_beside(size_t i, const Visit& visit) const {
    const Lifetime& own = lifetimes_[i];
    std::vector<size_t> pending{1};
    while (!pending.empty()) {
      size_t at = pending.back();
      pending.pop_back();
      if (latest_[at] < own.first || first_below(at) > own.last) continue;
      if (at >= leaves_)
        visit(by_first_[at - leaves_]);
      else
        pending.insert(pending.end(), {2 * at, 2 * at + 1});
    }
  }

 private:
  static constexpr int64_t kNever = -1;

  int64_t first_below(size_t at) const {
    while (at < leaves_) at *= 2;
    return at - leaves_ < by_first_.size() ? lifetimes_[by_first_[at - leaves_]].first : INT64_MAX;
  }

  const std::vector<Lifetime>& lifetimes_;
  std::vector<size_t> by_first_, rank_;
  size_t leaves_ = 1;
  std::vector<int64_t> latest_;
};

// Places temporaries one by one, each into the lowest gap between those placed before it
// that are alive together with it.
class ArenaPacker {
 public:
  ArenaPacker(const std::vector<Lifetime>& lifetimes, int64_t alignment, Segments segments)
      : lifetimes_(lifetimes), alignment_(alignment), segments_(segments), placed_(lifetimes) {}

  // Larger ones first, then again with the one that reached highest before all others, as
  // long as more than `enough` is taken and time allows. The plan may have offsets already, that
  // better ones replace.
  void pack(int64_t enough, ArenaPlan& plan) {
    constexpr size_t kMaxTries = 64, kMaxChecks = size_t{1} << 24;
    std::vector<size_t> order(lifetimes_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return lifetimes_[a].size_bytes > lifetimes_[b].size_bytes;
    });
    size_t tries = std::min(kMaxTries, kMaxChecks / (order.size() * order.size() + 1) + 1);
    for (size_t i = 0; i < tries; ++i) {
      place(order);
      if (plan.offsets.empty() || reached_ < plan.arena_bytes) {
        plan.arena_bytes = reached_;
        plan.offsets = offsets_;
      }
      if (plan.arena_bytes <= enough) return;
      auto highest = std::find(order.begin(), order.end(), highest_);
      std::rotate(order.begin(), highest, highest + 1);
    }
  }

 private:
  void place(const std::vector<size_t>& order) {
    offsets_.assign(lifetimes_.size(), 0);
    reached_ = 0;
    placed_.clear();
    for (size_t i : order) {
      taken_.clear();
      placed_.for_each_beside(i, [&](size_t other) {
        taken_.emplace_back(offsets_[other], offsets_[other] + lifetimes_[other].size_bytes);
      });
      offsets_[i] = lowest_gap(lifetimes_[i].size_bytes);
      int64_t end = align_up(offsets_[i] + lifetimes_[i].size_bytes, alignment_);
      if (end > reached_) reached_ = end, highest_ = i;
      placed_.add(i);
    }
  }

  int64_t lowest_gap(int64_t size_bytes) {
    std::sort(taken_.begin(), taken_.end());
    int64_t offset = 0;
    for (auto [begin, end] : taken_) {
      if (offset + size_bytes <= begin) break;
      offset = segments_.fit(std::max(offset, align_up(end, alignment_)), size_bytes);
    }
    return offset;
  }

  const std::vector<Lifetime>& lifetimes_;
  int64_t alignment_;
  Segments segments_;
  PlacedByTime placed_;
  std::vector<int64_t> offsets_;
  int64_t reached_ = 0;
  size_t highest_ = 0;                              // who ends at reached_
  std::vector<std::pair<int64_t, int64_t>> taken_;  // begin and end of ranges
};

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, int64_t alignment,
                     int64_t segment_bytes) {
  constexpr int64_t kWorthATry = 50;  // of the lower bound: 2 %
  // A packer takes a fraction of a second for the former, seconds for the latter: not for less than
  // an eighth of the memory.
  constexpr size_t kManyPairs = size_t{1} << 22, kTooManyPairs = size_t{1} << 25;
  constexpr int64_t kWorthSeconds = 8;
  ArenaPlan plan;
  size_t pairs = find_liveness(lifetimes, alignment, plan);
  int64_t least = plan.liveness_bytes;
  int64_t enough = least + least / (pairs > kTooManyPairs ? kWorthSeconds : kWorthATry);
  Segments segments{segment_bytes};
  if (pairs > kManyPairs) ArenaSweep(lifetimes, alignment, segments).sweep(plan);
  if (plan.offsets.empty() || plan.arena_bytes > enough)
    ArenaPacker(lifetimes, alignment, segments).pack(enough, plan);
  return plan;
}

namespace {

// Ranges of a program's memory.
class RangeSet {
 public:
  bool overlaps(const Range& range) const {
    auto buffer = buffers_.find({range.space, range.index});
    if (buffer == buffers_.end()) return false;
    auto after = buffer->second.lower_bound(range.offset_bytes + range.size_bytes);
    return after != buffer->second.begin() && std::prev(after)->second > range.offset_bytes;
  }
  void add(const Range& range) {
    Ends& ends = buffers_[{range.space, range.index}];
    int64_t begin = range.offset_bytes, end = begin + range.size_bytes;
    auto at = ends.upper_bound(begin);
    if (at != ends.begin() && std::prev(at)->second >= begin) begin = (--at)->first;
    for (; at != ends.end() && at->first <= end; at = ends.erase(at))
      end = std::max(end, at->second);
    ends.emplace(begin, end);
  }
  void clear() { buffers_.clear(); }

 private:
  using Ends = std::map<int64_t, int64_t>;  // by the begin; none touches another
  std::map<std::pair<Range::Space, uint32_t>, Ends> buffers_;
};

struct Touched {
  Range range;
  bool written;
};

class BarrierPlacer {
 public:
  BarrierPlacer(const std::vector<Kernel>& kernels, const std::vector<Donation>& donations)
      : kernels_(kernels) {
    for (const Donation& donation : donations)
      if (donation.in_place) outputs_.emplace(donation.argument, donation.output);
  }

  void place(Steps& steps, bool wait) {
    RangeSet read, written;  // since the last barrier
    for (Step& step : steps) {
      std::vector<Touched> now = touched_by(step);
      step.barrier = wait || is_control(step.kind) ||
                     std::any_of(now.begin(), now.end(), [&](const Touched& t) {
                       return written.overlaps(t.range) || (t.written && read.overlaps(t.range));
                     });
      wait = is_control(step.kind);
      for (Steps& block : step.blocks) place(block, true);
      if (step.barrier) read.clear(), written.clear();
      for (const Touched& t : now) (t.written ? written : read).add(t.range);
    }
  }

 private:
  std::vector<Touched> touched_by(const Step& step) const {
    std::vector<Touched> touched;
    for (size_t i = 0; i < step.bindings.size(); ++i) {
      bool written = step.kind == Step::Kind::kHost ? true  // the host waits anyway
                     : step.kind == Step::Kind::kDispatch
                         ? kernels_[step.kernel].buffers[i].access != Access::kRead
                         : !is_control(step.kind) && is_result(step.call, i, step.bindings.size());
      touched.push_back({shared(step.bindings[i]), written});
    }
    return touched;
  }

  // As shared_range.
  Range shared(const Range& range) const {
    auto output =
        range.space == Range::Space::kArgument ? outputs_.find(range.index) : outputs_.end();
    if (output == outputs_.end()) return range;
    return {Range::Space::kOutput, output->second, 0, range.size_bytes};
  }

  const std::vector<Kernel>& kernels_;
  std::unordered_map<uint32_t, uint32_t> outputs_;  // by the argument that may share its buffer
};

}  // namespace

void place_barriers(Steps& steps, const std::vector<Kernel>& kernels,
                    const std::vector<Donation>& donations) {
  BarrierPlacer(kernels, donations).place(steps, false);
}

}  // namespace tuff
