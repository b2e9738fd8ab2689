#include "backend/plan.h"

#include <algorithm>
#include <numeric>

namespace tuff {

namespace {

int64_t align_up(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Placed {
  int64_t begin, end;
};

// The lowest aligned offset where `size` fits between the taken ranges.
int64_t lowest_gap(std::vector<Placed> taken, int64_t size, int64_t alignment) {
  std::sort(taken.begin(), taken.end(),
            [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  int64_t offset = 0;
  for (const Placed& range : taken) {
    if (offset + size <= range.begin) break;
    offset = std::max(offset, align_up(range.end, alignment));
  }
  return offset;
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

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size());
  find_liveness(lifetimes, alignment, plan);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].size_bytes > lifetimes[b].size_bytes;
  });
  std::vector<size_t> placed;
  for (size_t i : order) {
    std::vector<Placed> taken;
    for (size_t other : placed)
      if (alive_together(lifetimes[i], lifetimes[other]))
        taken.push_back({plan.offsets[other], plan.offsets[other] + lifetimes[other].size_bytes});
    plan.offsets[i] = lowest_gap(std::move(taken), lifetimes[i].size_bytes, alignment);
    plan.arena_bytes =
        std::max(plan.arena_bytes, align_up(plan.offsets[i] + lifetimes[i].size_bytes, alignment));
    placed.push_back(i);
  }
  return plan;
}

namespace {

struct Touched {
  Range range;
  bool written;
};

bool overlaps(const Range& a, const Range& b) {
  if (a.space != b.space) return false;
  if (a.space != Range::Space::kArena) return a.index == b.index;
  return a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

std::vector<Touched> touched_by(const Step& step, const std::vector<Kernel>& kernels) {
  std::vector<Touched> touched;
  for (size_t i = 0; i < step.bindings.size(); ++i) {
    bool written = step.kind == Step::Kind::kHost ? true  // the host waits anyway
                   : step.kind == Step::Kind::kDispatch
                       ? kernels[step.kernel].buffers[i].access != Access::kRead
                       : !is_control(step.kind) && i + 1 == step.bindings.size();
    touched.push_back({step.bindings[i], written});
  }
  return touched;
}

void place_barriers_in(Steps& steps, const std::vector<Kernel>& kernels, bool wait) {
  std::vector<Touched> since;
  for (Step& step : steps) {
    std::vector<Touched> now = touched_by(step, kernels);
    step.barrier =
        wait || is_control(step.kind) || std::any_of(now.begin(), now.end(), [&](const Touched& t) {
          return std::any_of(since.begin(), since.end(), [&](const Touched& s) {
            return (t.written || s.written) && overlaps(t.range, s.range);
          });
        });
    wait = is_control(step.kind);
    for (Steps& block : step.blocks) place_barriers_in(block, kernels, true);
    if (step.barrier) since.clear();
    since.insert(since.end(), now.begin(), now.end());
  }
}

}  // namespace

void place_barriers(Steps& steps, const std::vector<Kernel>& kernels) {
  place_barriers_in(steps, kernels, false);
}

}  // namespace tuff
