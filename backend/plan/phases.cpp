#include "backend/plan/phases.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backend/plan/ranges.h"

namespace tuff {

namespace {

class PhaseWalk {
 public:
  PhaseWalk(const SlotProgram& program, const std::vector<uint32_t>& homes,
            const std::vector<Donation>& donations)
      : program_(program) {
    // Slots of one home have one number; so have those that lie in one argument or output.
    std::map<std::tuple<int, int64_t, uint32_t>, size_t> numbers;
    for (uint32_t slot = 0; slot < homes.size(); ++slot) {
      const std::optional<Range>& fixed = program.slots[homes[slot]].fixed;
      Range range = fixed ? shared_range(*fixed, donations) : Range{};
      auto key = fixed ? std::tuple(static_cast<int>(range.space), int64_t{range.index}, 0u)
                       : std::tuple(-1, int64_t{0}, homes[slot]);
      memory_.push_back(numbers.try_emplace(key, numbers.size()).first->second);
    }
    read_.assign(numbers.size(), -1);
    written_.assign(numbers.size(), -1);
  }

  std::optional<Phases> run() {
    auto positions = static_cast<size_t>(program_.positions);
    phases_.first.assign(positions, 0);
    phases_.last.assign(positions, 0);
    int64_t done = 0;  // positions before it have their phase
    for (const Instr& instr : program_.code) {
      if (instr.kind != Instr::Kind::kGroup && instr.kind != Instr::Kind::kCopy)
        return std::nullopt;
      for (; done < instr.at; ++done) set(done, phase_, phase_);
      visit(instr);
      ++done;
    }
    for (; done < program_.positions; ++done) set(done, phase_, phase_);
    return std::move(phases_);
  }

 private:
  void set(int64_t position, int64_t first, int64_t last) {
    phases_.first[static_cast<size_t>(position)] = first;
    phases_.last[static_cast<size_t>(position)] = last;
  }

  void visit(const Instr& instr) {
    auto in_phase = [this](const std::vector<int64_t>& when) {
      return [this, &when](uint32_t slot) { return when[memory_[slot]] == phase_; };
    };
    auto any = [](const std::vector<uint32_t>& slots, auto&& test) {
      return std::any_of(slots.begin(), slots.end(), test);
    };
    if (any(instr.reads, in_phase(written_)) || any(instr.writes, in_phase(written_)) ||
        any(instr.writes, in_phase(read_)))
      ++phase_;
    int64_t first = phase_;
    // The steps of a group pass values on through its scratch memory.
    if (instr.kind == Instr::Kind::kGroup && !instr.item->group->steps.empty())
      phase_ += static_cast<int64_t>(instr.item->group->steps.size()) - 1;
    for (uint32_t slot : instr.reads) read_[memory_[slot]] = phase_;
    for (uint32_t slot : instr.writes) written_[memory_[slot]] = phase_;
    set(instr.at, first, phase_);
  }

  const SlotProgram& program_;
  Phases phases_;
  int64_t phase_ = 0;
  std::vector<size_t> memory_;           // by slot: its number
  std::vector<int64_t> read_, written_;  // by number: the last phase in which it was
};

}  // namespace

std::optional<Phases> find_phases(const SlotProgram& program, const std::vector<uint32_t>& homes,
                                  const std::vector<Donation>& donations) {
  return PhaseWalk(program, homes, donations).run();
}

std::vector<Lifetime> in_phases(const std::vector<Lifetime>& lifetimes, const Phases& phases) {
  std::vector<Lifetime> mapped = lifetimes;
  for (Lifetime& life : mapped) {
    life.first = phases.first[static_cast<size_t>(life.first)];
    life.last = phases.last[static_cast<size_t>(life.last)];
  }
  return mapped;
}

}  // namespace tuff
