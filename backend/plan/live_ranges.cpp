// Liveness of slots, backwards over the tree of instructions. What is alive at the
// head of a loop is known before its body is seen: what the loop reads from outside,
// what it carries and what is read after it. So every block is walked once.
#include <algorithm>
#include <map>
#include <set>

#include "backend/plan/slot_code.h"

namespace tuff {

namespace {

using SlotId = uint32_t;

class LivenessWalk {
 public:
  explicit LivenessWalk(const SlotProgram& program)
      : program_(program), ranges_(program.slots.size()) {}

  std::vector<std::vector<LiveRange>> run() {
    walk(program_.code);
    flush(-1);  // arguments and constants: there before the first instruction
    for (auto& ranges : ranges_) {
      std::reverse(ranges.begin(), ranges.end());
      merge_neighbours(ranges);
    }
    return std::move(ranges_);
  }

 private:
  // Slots alive at the present point, with the last position where they are.
  using Live = std::map<SlotId, int64_t>;

  void read(SlotId slot, int64_t at) { live_.try_emplace(slot, at); }

  void define(SlotId slot, int64_t at) {
    auto it = live_.find(slot);
    int64_t last = it != live_.end() ? it->second : at;  // written, though nobody reads it
    ranges_[slot].push_back({at, last});
    if (it != live_.end()) live_.erase(it);
  }

  // Ends the ranges of all that is alive at their beginning here: `first`.
  std::set<SlotId> flush(int64_t first) {
    std::set<SlotId> slots;
    for (auto [slot, last] : live_) {
      ranges_[slot].push_back({first, last});
      slots.insert(slot);
    }
    live_.clear();
    return slots;
  }

  void revive(const std::set<SlotId>& slots, int64_t last) {
    for (SlotId slot : slots) read(slot, last);
  }

  void walk(const Code& code) {
    for (auto instr = code.rbegin(); instr != code.rend(); ++instr) {
      switch (instr->kind) {
        case Instr::Kind::kWhile: walk_while(*instr); break;
        case Instr::Kind::kCase: walk_case(*instr); break;
        default:
          for (SlotId slot : instr->writes) define(slot, instr->at);
          for (SlotId slot : instr->reads) read(slot, instr->at);
      }
    }
  }

  void walk_case(const Instr& instr) {
    std::set<SlotId> after = flush(instr.ends.back());
    std::set<SlotId> before;
    for (size_t b = instr.blocks.size(); b-- > 0;) {
      revive(after, instr.ends[b]);
      walk(instr.blocks[b]);
      before.merge(flush(b > 0 ? instr.ends[b - 1] + 1 : instr.at));
    }
    revive(before, instr.at);
    for (SlotId slot : instr.reads) read(slot, instr.at);
  }

  void walk_while(const Instr& instr) {
    std::set<SlotId> after = flush(instr.ends[1]);
    std::set<SlotId> head = read_inside(instr);
    head.insert(instr.writes.begin(), instr.writes.end());
    head.insert(after.begin(), after.end());
    revive(head, instr.ends[1]);
    // The predicate stays until the next one: a kernel of several rounds may end behind the body.
    for (SlotId slot : instr.reads) read(slot, instr.ends[1]);
    walk(instr.blocks[1]);
    std::set<SlotId> body = flush(instr.ends[0]);
    revive(body, instr.ends[0]);
    revive(after, instr.ends[0]);
    for (SlotId slot : instr.reads) read(slot, instr.ends[0]);
    walk(instr.blocks[0]);
    std::set<SlotId> before = flush(instr.at);
    revive(before, instr.at);
  }

  // What the loop's blocks read and do not write themselves.
  static std::set<SlotId> read_inside(const Instr& loop) {
    std::set<SlotId> reads(loop.reads.begin(), loop.reads.end()), written;
    for (const Code& block : loop.blocks)
      for_each_instr(block, [&](const Instr& instr) {
        reads.insert(instr.reads.begin(), instr.reads.end());
        written.insert(instr.writes.begin(), instr.writes.end());
      });
    std::erase_if(reads, [&](SlotId slot) { return written.count(slot) > 0; });
    return reads;
  }

  // Pieces that a block's border divided become one.
  static void merge_neighbours(std::vector<LiveRange>& ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const LiveRange& a, const LiveRange& b) { return a.first < b.first; });
    std::vector<LiveRange> merged;
    for (const LiveRange& range : ranges) {
      if (!merged.empty() && range.first <= merged.back().last)
        merged.back().last = std::max(merged.back().last, range.last);
      else
        merged.push_back(range);
    }
    ranges = std::move(merged);
  }

  const SlotProgram& program_;
  std::vector<std::vector<LiveRange>> ranges_;
  Live live_;
};

}  // namespace

std::vector<std::vector<LiveRange>> find_live_ranges(const SlotProgram& program) {
  return LivenessWalk(program).run();
}

}  // namespace tuff
