// Coalescing: a copy disappears where its two slots can be one, that is, where they
// never hold two values that are both still read. So a loop's body writes its results
// straight into the carries, and a value that dies is updated where it lies.
#include <algorithm>

#include "backend/slot_code.h"
#include "shaders/kernel_alias.h"

namespace tuff {

namespace {

using SlotId = uint32_t;
using Ranges = std::vector<LiveRange>;

class Coalescer {
 public:
  Coalescer(const SlotProgram& program, const LoweredGraph& lowered, std::vector<Ranges>& ranges)
      : program_(program), lowered_(lowered), ranges_(ranges) {
    for (SlotId slot = 0; slot < program.slots.size(); ++slot) home_.push_back(slot);
    by_position_.resize(static_cast<size_t>(program.positions));
    for_each_instr(program.code, [&](const Instr& instr) {
      by_position_[static_cast<size_t>(instr.at)] = &instr;
    });
  }

  std::vector<SlotId> run() {
    std::vector<std::pair<int, const Instr*>> copies;
    collect(program_.code, 0, copies);
    // Copies in the innermost loops run most often.
    std::stable_sort(copies.begin(), copies.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto [depth, copy] : copies) try_merge(copy->operands[0], copy->results[0]);
    for (SlotId& home : home_) home = find(home);
    return std::move(home_);
  }

 private:
  static void collect(const Code& code, int depth,
                      std::vector<std::pair<int, const Instr*>>& copies) {
    for (const Instr& instr : code) {
      if (instr.kind == Instr::Kind::kCopy) copies.emplace_back(depth, &instr);
      bool loop = instr.kind == Instr::Kind::kWhile;
      for (const Code& block : instr.blocks) collect(block, depth + loop, copies);
    }
  }

  SlotId find(SlotId slot) const {
    while (home_[slot] != slot) slot = home_[slot];
    return slot;
  }

  void try_merge(SlotId from, SlotId to) {
    from = find(from), to = find(to);
    if (from == to || conflict(from, to)) return;
    const Slot &a = program_.slots[from], &b = program_.slots[to];
    if (a.size_bytes != b.size_bytes || !a.writable() || !b.writable() || (a.fixed && b.fixed))
      return;
    SlotId home = b.fixed ? to : from, other = b.fixed ? from : to;
    home_[other] = home;
    Ranges merged;
    std::merge(ranges_[home].begin(), ranges_[home].end(), ranges_[other].begin(),
               ranges_[other].end(), std::back_inserter(merged),
               [](const LiveRange& x, const LiveRange& y) { return x.first < y.first; });
    ranges_[home] = std::move(merged);
    ranges_[other].clear();
  }

  // Both hold a value at some position, other than one handing over to the other.
  bool conflict(SlotId a, SlotId b) const {
    auto x = ranges_[a].begin(), y = ranges_[b].begin();
    while (x != ranges_[a].end() && y != ranges_[b].end()) {
      if (x->first <= y->last && y->first <= x->last) {
        bool handed = (x->last == y->first && hands_over(x->last, *x, a, b)) ||
                      (y->last == x->first && hands_over(y->last, *y, b, a));
        if (!handed) return true;
      }
      ++(x->last < y->last ? x : y);
    }
    return false;
  }

  // The instruction at `at` is the last to read `dying`, and may put what it writes to
  // `born` in the same place.
  bool hands_over(int64_t at, const LiveRange& dying_range, SlotId dying, SlotId born) const {
    const Instr* instr = by_position_[static_cast<size_t>(at)];
    if (!instr || dying_range.first == at) return false;
    auto is_in = [this](SlotId home) { return [this, home](SlotId s) { return find(s) == home; }; };
    const auto &reads = instr->reads, &writes = instr->writes;
    if (std::any_of(writes.begin(), writes.end(), is_in(dying)) ||
        std::none_of(writes.begin(), writes.end(), is_in(born)))
      return false;
    if (instr->kind == Instr::Kind::kCopy) return true;
    return instr->kind == Instr::Kind::kGroup &&
           std::none_of(reads.begin(), reads.end(), [&](SlotId read) {
             return find(read) == dying && !runs_in_place(*instr, dying, born);
           });
  }

  // The group's only kernel may read what lies in `dying` and write to it as `born`.
  bool runs_in_place(const Instr& instr, SlotId dying, SlotId born) const {
    const LoweredGroup& group = *instr.item->group;
    if (group.steps.size() != 1 || !group.steps[0].kernel) return false;
    const std::vector<GroupBuffer>& bindings = group.steps[0].bindings;
    const Kernel& kernel = lowered_.kernels[instr.item->kernels[0]];
    for (uint32_t r = 0; r < bindings.size(); ++r) {
      if (!bound_to(instr, bindings[r], GroupBuffer::Kind::kInput, dying)) continue;
      for (uint32_t w = 0; w < bindings.size(); ++w)
        if (bound_to(instr, bindings[w], GroupBuffer::Kind::kOutput, born) &&
            !may_share_memory(kernel, r, w))
          return false;
    }
    return true;
  }

  bool bound_to(const Instr& instr, const GroupBuffer& b, GroupBuffer::Kind kind,
                SlotId home) const {
    if (b.kind != kind) return false;
    const auto& slots = kind == GroupBuffer::Kind::kInput ? instr.operands : instr.results;
    return find(slots[b.index]) == home;
  }

  const SlotProgram& program_;
  const LoweredGraph& lowered_;
  std::vector<Ranges>& ranges_;
  std::vector<SlotId> home_;
  std::vector<const Instr*> by_position_;  // null where a block ends
};

}  // namespace

std::vector<uint32_t> coalesce(const SlotProgram& program, const LoweredGraph& lowered,
                               std::vector<std::vector<LiveRange>>& ranges) {
  return Coalescer(program, lowered, ranges).run();
}

}  // namespace tuff
