// Coalescing: two slots become one where they never hold two values that are both still
// read. So a copy disappears, a loop's body writes its results straight into the carries,
// and a value that dies is updated where it lies, a donated argument among them. At last,
// large temporaries lie in outputs that are written later.
#include <algorithm>
#include <map>
#include <tuple>

#include "backend/plan/kernel_in_place.h"
#include "backend/plan/slot_code.h"

namespace tuff {

namespace {

using SlotId = uint32_t;
using Ranges = std::vector<LiveRange>;

class Coalescer {
 public:
  Coalescer(const SlotProgram& program, const LoweredGraph& lowered, std::vector<Ranges>& ranges)
      : program_(program), lowered_(lowered), ranges_(ranges) {
    for (SlotId slot = 0; slot < program.slots.size(); ++slot) {
      home_.push_back(slot);
      if (const auto& range = program.slots[slot].fixed)
        fixed_.emplace(std::pair(range->space, range->index), slot);
    }
    by_position_.resize(static_cast<size_t>(program.positions));
    for_each_instr(program.code, [&](const Instr& instr) {
      by_position_[static_cast<size_t>(instr.at)] = &instr;
    });
  }

  Coalesced run() {
    merge_copies();
    std::vector<Donation> donations = place_donations();
    for_each_instr(program_.code, [&](const Instr& instr) {
      if (instr.kind == Instr::Kind::kGroup) merge_updates(instr);
    });
    lend_outputs();
    for (SlotId& home : home_) home = find(home);
    return {std::move(home_), std::move(donations)};
  }

 private:
  void merge_copies() {
    std::vector<std::pair<int, const Instr*>> copies;
    collect(program_.code, 0, copies);
    // Copies in the innermost loops run most often.
    std::stable_sort(copies.begin(), copies.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto [depth, copy] : copies) try_merge(copy->operands[0], copy->results[0]);
  }

  static void collect(const Code& code, int depth,
                      std::vector<std::pair<int, const Instr*>>& copies) {
    for (const Instr& instr : code) {
      if (instr.kind == Instr::Kind::kCopy) copies.emplace_back(depth, &instr);
      bool loop = instr.kind == Instr::Kind::kWhile;
      for (const Code& block : instr.blocks) collect(block, depth + loop, copies);
    }
  }

  // An argument keeps its own slot: who runs the program may not give it up after all. But
  // from here on its values count as the output's.
  std::vector<Donation> place_donations() {
    std::vector<Donation> donations;
    for (auto [argument, output] : lowered_.main.graph->donations) {
      SlotId from = fixed_slot(Range::Space::kArgument, argument);
      SlotId to = fixed_slot(Range::Space::kOutput, output);
      const Slot &a = program_.slots[from], &b = program_.slots[to];
      bool in_place = a.size_bytes == b.size_bytes && !a.empty && !conflict(from, to);
      if (in_place) {
        ranges_[to] = joined(ranges_[from], ranges_[to]);
        given_[from] = to;
      }
      donations.push_back({argument, output, in_place});
    }
    return donations;
  }

  SlotId fixed_slot(Range::Space space, uint32_t index) const { return fixed_.at({space, index}); }

  // Results take the place of operands that die.
  void merge_updates(const Instr& instr) {
    for (SlotId result : instr.results)
      for (SlotId operand : instr.operands) try_merge(operand, result);
  }

  // Outputs are memory like the arena's as long as they hold no value: each is lent to the
  // largest temporaries that are gone by then, one after the other.
  void lend_outputs() {
    constexpr int64_t kLeastBytes = 64 << 10;
    std::vector<SlotId> outputs, temporaries;
    for (SlotId slot = 0; slot < home_.size(); ++slot) {
      const Slot& s = program_.slots[slot];
      if (s.size_bytes < kLeastBytes || home_[slot] != slot || ranges_[slot].empty()) continue;
      if (!s.fixed) temporaries.push_back(slot);
      if (s.fixed && s.fixed->space == Range::Space::kOutput) outputs.push_back(slot);
    }
    std::stable_sort(temporaries.begin(), temporaries.end(), [&](SlotId a, SlotId b) {
      return program_.slots[a].size_bytes > program_.slots[b].size_bytes;
    });
    for (SlotId temporary : temporaries)
      for (SlotId output : outputs)
        if (program_.slots[temporary].size_bytes <= program_.slots[output].size_bytes &&
            apart(ranges_[temporary], ranges_[output])) {
          home_[temporary] = output;
          ranges_[output] = joined(ranges_[output], ranges_[temporary]);
          ranges_[temporary].clear();
          break;
        }
  }

  static bool apart(const Ranges& a, const Ranges& b) {
    return std::none_of(a.begin(), a.end(), [&](const LiveRange& x) {
      return std::any_of(b.begin(), b.end(), [&](const LiveRange& y) {
        return x.first <= y.last && y.first <= x.last;
      });
    });
  }

  // Ranges that touch, one handing over to the other, become one: what conflicts with one of
  // them conflicts with it. So a value that is updated again and again has one range.
  static Ranges joined(const Ranges& a, const Ranges& b) {
    Ranges all, both;
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
               [](const LiveRange& x, const LiveRange& y) { return x.first < y.first; });
    for (const LiveRange& range : all) {
      if (!both.empty() && range.first <= both.back().last)
        both.back().last = std::max(both.back().last, range.last);
      else
        both.push_back(range);
    }
    return both;
  }

  SlotId find(SlotId slot) const {
    while (home_[slot] != slot) slot = home_[slot];
    return slot;
  }

  // The home of the memory that `slot` may lie in: a donated argument is in its output's.
  SlotId memory_of(SlotId slot) const {
    auto given = given_.find(slot);
    return find(given == given_.end() ? slot : given->second);
  }

  void try_merge(SlotId from, SlotId to) {
    from = find(from), to = find(to);
    if (from == to || conflict(from, to)) return;
    const Slot &a = program_.slots[from], &b = program_.slots[to];
    if (a.size_bytes != b.size_bytes || !a.writable() || !b.writable() || (a.fixed && b.fixed))
      return;
    SlotId home = b.fixed ? to : from, other = b.fixed ? from : to;
    home_[other] = home;
    ranges_[home] = joined(ranges_[home], ranges_[other]);
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
    auto is_in = [this](SlotId home) {
      return [this, home](SlotId s) { return memory_of(s) == home; };
    };
    const auto &reads = instr->reads, &writes = instr->writes;
    if (std::any_of(writes.begin(), writes.end(), is_in(dying)) ||
        std::none_of(writes.begin(), writes.end(), is_in(born)))
      return false;
    if (instr->kind == Instr::Kind::kCopy) return true;
    return instr->kind == Instr::Kind::kGroup &&
           std::none_of(reads.begin(), reads.end(), [&](SlotId read) {
             return memory_of(read) == dying && !runs_in_place(*instr, dying, born);
           });
  }

  // The group's steps may read what lies in `dying` and write to it as `born`: those that
  // write come last.
  bool runs_in_place(const Instr& instr, SlotId dying, SlotId born) const {
    bool written = false;
    for (size_t s = 0; s < instr.item->group->steps.size(); ++s) {
      const std::vector<GroupBuffer>& bindings = instr.item->group->steps[s].bindings;
      auto binds = [&](GroupBuffer::Kind kind, SlotId home) {
        return std::any_of(bindings.begin(), bindings.end(),
                           [&](const GroupBuffer& b) { return bound_to(instr, b, kind, home); });
      };
      bool reads = binds(GroupBuffer::Kind::kInput, dying);
      if (written && reads) return false;
      written |= binds(GroupBuffer::Kind::kOutput, born);
      if (written && reads && !step_runs_in_place(instr, s, dying, born)) return false;
    }
    return true;
  }

  bool step_runs_in_place(const Instr& instr, size_t step, SlotId dying, SlotId born) const {
    const LoweredStep& lowered = instr.item->group->steps[step];
    const std::vector<GroupBuffer>& bindings = lowered.bindings;
    if (!lowered.kernel) {
      size_t reads = 0, allowed = 0;
      for (size_t r = 0; r < bindings.size(); ++r) {
        if (!bound_to(instr, bindings[r], GroupBuffer::Kind::kInput, dying)) continue;
        ++reads;
        allowed += updates_in_place(lowered.call, r);
      }
      return reads == 1 && allowed == 1;
    }
    for (uint32_t r = 0; r < bindings.size(); ++r) {
      if (!bound_to(instr, bindings[r], GroupBuffer::Kind::kInput, dying)) continue;
      for (uint32_t w = 0; w < bindings.size(); ++w)
        if (bound_to(instr, bindings[w], GroupBuffer::Kind::kOutput, born) &&
            !may_share(instr.item->kernels[step], r, w))
          return false;
    }
    return true;
  }

  bool may_share(uint32_t kernel, uint32_t read, uint32_t written) const {
    auto [known, fresh] = shared_.try_emplace({kernel, read, written});
    if (fresh) known->second = writes_where_it_reads(lowered_.kernels[kernel], read, written);
    return known->second;
  }

  bool bound_to(const Instr& instr, const GroupBuffer& b, GroupBuffer::Kind kind,
                SlotId home) const {
    if (b.kind != kind) return false;
    const auto& slots = kind == GroupBuffer::Kind::kInput ? instr.operands : instr.results;
    return memory_of(slots[b.index]) == home;
  }

  const SlotProgram& program_;
  const LoweredGraph& lowered_;
  std::vector<Ranges>& ranges_;
  std::vector<SlotId> home_;
  std::map<std::pair<Range::Space, uint32_t>, SlotId> fixed_;
  std::map<SlotId, SlotId> given_;         // donated arguments: argument -> output
  std::vector<const Instr*> by_position_;  // null where a block ends
  mutable std::map<std::tuple<uint32_t, uint32_t, uint32_t>, bool> shared_;  // see may_share
};

}  // namespace

Coalesced coalesce(const SlotProgram& program, const LoweredGraph& lowered,
                   std::vector<std::vector<LiveRange>>& ranges) {
  return Coalescer(program, lowered, ranges).run();
}

}  // namespace tuff
