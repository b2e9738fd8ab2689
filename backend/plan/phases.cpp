#include "backend/plan/phases.h"

#include <algorithm>
#include <tuple>

#include "backend/plan/ranges.h"

namespace tuff {

namespace {

class PhaseWalk {
 public:
  PhaseWalk(const SlotProgram& program, const std::vector<uint32_t>& homes,
            const std::vector<Kernel>& kernels, const std::vector<Donation>& donations)
      : program_(program), homes_(homes), kernels_(kernels) {
    // Slots of one home have one number; so have those that lie in one argument or output.
    std::map<std::tuple<int, int64_t, uint32_t>, size_t> numbers;
    for (uint32_t home : homes) {
      const std::optional<Range>& fixed = program.slots[home].fixed;
      Range range = fixed ? shared_range(*fixed, donations) : Range{};
      auto key = fixed ? std::tuple(static_cast<int>(range.space), int64_t{range.index}, 0u)
                       : std::tuple(-1, int64_t{0}, home);
      memory_.push_back(numbers.try_emplace(key, numbers.size()).first->second);
    }
    read_.assign(numbers.size(), -1);
    written_.assign(numbers.size(), -1);
  }

  std::optional<Phases> run() {
    for (const Instr& instr : program_.code) {
      if (instr.kind == Instr::Kind::kGroup)
        visit_group(instr);
      else if (instr.kind == Instr::Kind::kCopy)
        place(instr, {{instr.operands[0], false}, {instr.results[0], true}});
      else
        return std::nullopt;
      note_homes(instr);
    }
    phases_.last = reached_;
    return std::move(phases_);
  }

 private:
  struct Touched {
    uint32_t slot;
    bool written;
  };

  void visit_group(const Instr& instr) {
    for (size_t s = 0; s < instr.item->group->steps.size(); ++s) {
      const LoweredStep& step = instr.item->group->steps[s];
      std::vector<Touched> touched;
      for (size_t b = 0; b < step.bindings.size(); ++b) {
        const GroupBuffer& buffer = step.bindings[b];
        uint32_t slot = buffer.kind == GroupBuffer::Kind::kInput    ? instr.operands[buffer.index]
                        : buffer.kind == GroupBuffer::Kind::kOutput ? instr.results[buffer.index]
                                                                    : *instr.scratch;
        bool written = step.kernel
                           ? kernels_[instr.item->kernels[s]].buffers[b].access != Access::kRead
                           : is_result(step.call, b, step.bindings.size());
        touched.push_back({slot, written});
      }
      place(instr, touched);
    }
  }

  void place(const Instr& instr, const std::vector<Touched>& touched) {
    // How far ahead of its place a step may run, which takes memory.
    constexpr int64_t kMostAhead = 4;
    int64_t phase = std::max(begun_, reached_ - kMostAhead);
    for (const Touched& t : touched) {
      size_t number = memory_[t.slot];
      phase = std::max(phase, written_[number] + 1);
      if (t.written) phase = std::max(phase, read_[number] + 1);
    }
    for (const Touched& t : touched) {
      int64_t& last = (t.written ? written_ : read_)[memory_[t.slot]];
      last = std::max(last, phase);
    }
    std::vector<int64_t>& steps = phases_.of_steps[instr.at];
    if (steps.empty()) begun_ = phase;
    steps.push_back(phase);
    reached_ = std::max(reached_, phase);
  }

  void note_homes(const Instr& instr) {
    const std::vector<int64_t>& steps = phases_.of_steps[instr.at];
    if (steps.empty()) return;
    int64_t last = *std::max_element(steps.begin(), steps.end());
    auto note = [&](uint32_t slot) {
      auto [it, fresh] = phases_.of_homes.try_emplace(homes_[slot], Lifetime{0, steps[0], last});
      it->second.first = std::min(it->second.first, steps[0]);
      it->second.last = std::max(it->second.last, last);
    };
    for (uint32_t slot : instr.reads) note(slot);
    for (uint32_t slot : instr.writes) note(slot);
  }

  const SlotProgram& program_;
  const std::vector<uint32_t>& homes_;
  const std::vector<Kernel>& kernels_;
  Phases phases_;
  int64_t begun_ = 0, reached_ = 0;      // where the present instruction begins; the last phase
  std::vector<size_t> memory_;           // by slot: its number
  std::vector<int64_t> read_, written_;  // by number: the last phase in which it was
};

}  // namespace

std::optional<Phases> find_phases(const SlotProgram& program, const std::vector<uint32_t>& homes,
                                  const std::vector<Kernel>& kernels,
                                  const std::vector<Donation>& donations) {
  return PhaseWalk(program, homes, kernels, donations).run();
}

}  // namespace tuff
