#include "backend/plan/plan.h"

#include <algorithm>
#include <numeric>

#include "backend/plan/ranges.h"

namespace tuff {

namespace {

int64_t align_up(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

void find_liveness(const std::vector<Lifetime>& lifetimes, int64_t alignment, ArenaPlan& plan) {
  int64_t steps = 0;
  for (const Lifetime& l : lifetimes) steps = std::max(steps, l.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1);
  for (const Lifetime& l : lifetimes) {
    change[static_cast<size_t>(l.first)] += align_up(l.size_bytes, alignment);
    change[static_cast<size_t>(l.last) + 1] -= align_up(l.size_bytes, alignment);
  }
  int64_t alive = 0;
  for (int64_t s = 0; s < steps; ++s) {
    alive += change[static_cast<size_t>(s)];
    if (alive <= plan.liveness_bytes) continue;
    plan.liveness_bytes = alive;
    plan.peak_step = s;
  }
}

// Places temporaries one by one, each into the lowest gap between those placed before it
// that are alive together with it.
class ArenaPacker {
 public:
  ArenaPacker(const std::vector<Lifetime>& lifetimes, int64_t alignment)
      : lifetimes_(lifetimes), alignment_(alignment) {}

  // Larger ones first, then again with the one that reached highest before all others, as
  // long as more than `enough` is taken and time allows.
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
      if (i == 0 || reached_ < plan.arena_bytes) {
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
    std::vector<size_t> placed;
    for (size_t i : order) {
      taken_.clear();
      for (size_t other : placed)
        if (alive_together(lifetimes_[i], lifetimes_[other]))
          taken_.emplace_back(offsets_[other], offsets_[other] + lifetimes_[other].size_bytes);
      offsets_[i] = lowest_gap(lifetimes_[i].size_bytes);
      int64_t end = align_up(offsets_[i] + lifetimes_[i].size_bytes, alignment_);
      if (end > reached_) reached_ = end, highest_ = i;
      placed.push_back(i);
    }
  }

  int64_t lowest_gap(int64_t size_bytes) {
    std::sort(taken_.begin(), taken_.end());
    int64_t offset = 0;
    for (auto [begin, end] : taken_) {
      if (offset + size_bytes <= begin) break;
      offset = std::max(offset, align_up(end, alignment_));
    }
    return offset;
  }

  const std::vector<Lifetime>& lifetimes_;
  int64_t alignment_;
  std::vector<int64_t> offsets_;
  int64_t reached_ = 0;
  size_t highest_ = 0;                              // who ends at reached_
  std::vector<std::pair<int64_t, int64_t>> taken_;  // begin and end of ranges
};

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  constexpr int64_t kWorthATry = 50;  // of the lower bound: 2 %
  ArenaPlan plan;
  find_liveness(lifetimes, alignment, plan);
  ArenaPacker(lifetimes, alignment)
      .pack(plan.liveness_bytes + plan.liveness_bytes / kWorthATry, plan);
  return plan;
}

namespace {

struct Touched {
  Range range;
  bool written;
};

using Donations = std::vector<Donation>;

std::vector<Touched> touched_by(const Step& step, const std::vector<Kernel>& kernels,
                                const Donations& donations) {
  std::vector<Touched> touched;
  for (size_t i = 0; i < step.bindings.size(); ++i) {
    bool written = step.kind == Step::Kind::kHost ? true  // the host waits anyway
                   : step.kind == Step::Kind::kDispatch
                       ? kernels[step.kernel].buffers[i].access != Access::kRead
                       : !is_control(step.kind) && i + 1 == step.bindings.size();
    touched.push_back({shared_range(step.bindings[i], donations), written});
  }
  return touched;
}

void place_barriers_in(Steps& steps, const std::vector<Kernel>& kernels, const Donations& donations,
                       bool wait) {
  std::vector<Touched> since;
  for (Step& step : steps) {
    std::vector<Touched> now = touched_by(step, kernels, donations);
    step.barrier =
        wait || is_control(step.kind) || std::any_of(now.begin(), now.end(), [&](const Touched& t) {
          return std::any_of(since.begin(), since.end(), [&](const Touched& s) {
            return (t.written || s.written) && overlaps(t.range, s.range);
          });
        });
    wait = is_control(step.kind);
    for (Steps& block : step.blocks) place_barriers_in(block, kernels, donations, true);
    if (step.barrier) since.clear();
    since.insert(since.end(), now.begin(), now.end());
  }
}

}  // namespace

void place_barriers(Steps& steps, const std::vector<Kernel>& kernels, const Donations& donations) {
  place_barriers_in(steps, kernels, donations, false);
}

}  // namespace tuff
