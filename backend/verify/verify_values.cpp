#include "backend/verify/verify_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/plan/ranges.h"
#include "ir/op.h"

namespace tuff {

namespace {

using SlotId = uint32_t;

std::string name_of(const Instr& instr) {
  if (instr.kind == Instr::Kind::kCopy) return "a copy";
  const Node& node = instr.graph->node(instr.item->node);
  std::string name = op_name(node.op);
  return node.loc.empty() ? name : name + " (" + node.loc + ")";
}

class ValueWalk {
 public:
  ValueWalk(const SlotProgram& program, const std::vector<Range>& places,
            const std::vector<Donation>& donations)
      : program_(program), places_(places), overwriter_(places.size(), kNobody) {
    for (Range& place : places_) place = shared_range(place, donations);
    find_neighbours();
  }

  Status run(const std::vector<Range>& own_places) {
    for (SlotId slot = 0; slot < places_.size(); ++slot) {
      Range::Space space = own_places[slot].space;
      constant_.push_back(space == Range::Space::kArgument || space == Range::Space::kConstants);
      holds_.push_back(constant_.back());
    }
    walk(program_.code);
    for (SlotId slot = 0; slot < places_.size(); ++slot) {
      const std::optional<Range>& fixed = program_.slots[slot].fixed;
      if (fixed && fixed->space == Range::Space::kOutput) need(slot, "the program's end");
    }
    return status_;
  }

 private:
  static constexpr SlotId kNobody = UINT32_MAX;
  using Holds = std::vector<bool>;  // by slot: its place holds its value

  // Slots whose places have a byte in common.
  void find_neighbours() {
    neighbours_.resize(places_.size());
    std::vector<SlotId> order(places_.size());
    std::iota(order.begin(), order.end(), SlotId{0});
    auto key = [&](SlotId slot) {
      const Range& place = places_[slot];
      return std::tuple(place.space, place.index, place.offset_bytes);
    };
    std::sort(order.begin(), order.end(), [&](SlotId a, SlotId b) { return key(a) < key(b); });
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t k = i + 1; k < order.size(); ++k) {
        const Range &a = places_[order[i]], &b = places_[order[k]];
        if (a.space != b.space || a.index != b.index ||
            b.offset_bytes >= a.offset_bytes + a.size_bytes)
          break;
        if (b.size_bytes == 0) continue;
        neighbours_[order[i]].push_back(order[k]);
        neighbours_[order[k]].push_back(order[i]);
      }
  }

  void fail(const std::string& message, const std::string& where) {
    if (status_.ok())
      status_ = Error{ErrorCode::kRunFailed, "The memory plan is wrong, a bug in tuff: " + message,
                      where};
  }

  std::string text(SlotId slot) const {
    return fmt::format("value {} ({})", slot, program_.slots[slot].owner);
  }

  void need(SlotId slot, const std::string& reader) {
    if (program_.slots[slot].empty || holds_[slot]) return;
    fail(overwriter_[slot] == kNobody
             ? fmt::format("{} is read before it is written.", text(slot))
             : fmt::format("{} is overwritten by {} before it is read for the last time.",
                           text(slot), text(overwriter_[slot])),
         reader);
  }

  void write(SlotId slot, const std::string& writer) {
    if (constant_[slot])
      fail(fmt::format("{} is an argument or a constant, and is written.", text(slot)), writer);
    for (SlotId other : neighbours_[slot]) {
      if (holds_[other]) overwriter_[other] = slot;
      holds_[other] = false;
    }
    holds_[slot] = true;
  }

  // Results of one step lie apart from each other.
  void write_all(const std::vector<SlotId>& slots, const std::string& writer) {
    for (SlotId slot : slots) write(slot, writer);
    for (SlotId slot : slots)
      if (!holds_[slot])
        fail(fmt::format("{} and {} are results of one step in one place.", text(slot),
                         text(overwriter_[slot])),
             writer);
  }

  void walk(const Code& code) {
    for (const Instr& instr : code) {
      if (!status_.ok()) return;
      switch (instr.kind) {
        case Instr::Kind::kCopy: walk_copy(instr); break;
        case Instr::Kind::kGroup: walk_group(instr); break;
        case Instr::Kind::kHost:
          for (SlotId slot : instr.operands) need(slot, name_of(instr));
          write_all(instr.results, name_of(instr));
          break;
        case Instr::Kind::kWhile: walk_while(instr); break;
        case Instr::Kind::kCase: walk_case(instr); break;
      }
    }
  }

  // A copy from a place to itself is none: both slots hold the value.
  void walk_copy(const Instr& copy) {
    SlotId from = copy.operands[0], to = copy.results[0];
    need(from, name_of(copy));
    if (places_[from] == places_[to])
      holds_[to] = true;
    else
      write(to, name_of(copy));
  }

  void walk_group(const Instr& instr) {
    std::string name = name_of(instr);
    const LoweredGroup& group = *instr.item->group;
    for (const LoweredGroup::Update& update : group.updates)
      need(instr.results[update.output], name);
    for (const LoweredStep& step : group.steps) {
      std::vector<SlotId> written;
      for (size_t b = 0; b < step.bindings.size(); ++b) {
        Access access = step.kernel ? step.kernel->buffers[b].access
                        : is_result(step.call, b, step.bindings.size()) ? Access::kWrite
                                                                        : Access::kRead;
        SlotId slot = slot_of(instr, step.bindings[b]);
        if (access == Access::kRead)
          need(slot, name);
        else
          written.push_back(slot);
      }
      write_all(written, name);
    }
    for (SlotId slot : instr.results) need(slot, name);
  }

  static SlotId slot_of(const Instr& instr, const GroupBuffer& buffer) {
    switch (buffer.kind) {
      case GroupBuffer::Kind::kInput: return instr.operands[buffer.index];
      case GroupBuffer::Kind::kOutput: return instr.results[buffer.index];
      case GroupBuffer::Kind::kScratch: break;
    }
    return *instr.scratch;
  }

  // Round after round, until one more would begin no worse than one before it.
  void walk_while(const Instr& loop) {
    for (;;) {
      Holds begin = holds_;
      walk(loop.blocks[0]);
      for (SlotId slot : loop.reads) need(slot, name_of(loop));
      Holds end = holds_;
      walk(loop.blocks[1]);
      holds_ = both(begin, holds_);
      if (!status_.ok() || holds_ == begin) {
        holds_ = std::move(end);
        return;
      }
    }
  }

  void walk_case(const Instr& instr) {
    for (SlotId slot : instr.reads) need(slot, name_of(instr));
    Holds begin = holds_;
    std::optional<Holds> after;
    for (const Code& branch : instr.blocks) {
      holds_ = begin;
      walk(branch);
      after = after ? both(*after, holds_) : holds_;
    }
    if (after) holds_ = std::move(*after);
  }

  static Holds both(const Holds& a, const Holds& b) {
    Holds result(a.size());
    for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] && b[i];
    return result;
  }

  const SlotProgram& program_;
  std::vector<Range> places_;
  std::vector<std::vector<SlotId>> neighbours_;
  std::vector<bool> constant_;
  Holds holds_;
  std::vector<SlotId> overwriter_;  // by slot: who took its place last
  Status status_;
};

}  // namespace

Status verify_values(const SlotProgram& program, const std::vector<Range>& places,
                     const std::vector<Donation>& donations) {
  // A caller may keep the arguments it could give up.
  for (const std::vector<Donation>& given : {std::vector<Donation>(), donations})
    TUFF_RETURN_IF_ERROR(ValueWalk(program, places, given).run(places));
  return {};
}

}  // namespace tuff
