#include "backend/cpu/native/mask_plan.h"

#include <algorithm>
#include <array>

namespace tuff::cpu::native {

namespace {

constexpr uint8_t kFirstMask = 2, kLastMask = 7;

class MaskPlanner {
 public:
  explicit MaskPlanner(const MachineCode& code)
      : code_(code),
        read_as_vector_(code.is_vector.size()),
        labels_(static_cast<size_t>(code.labels)) {
    held_.fill(kNone);
    for (size_t i = 0; i < code.insts.size(); ++i)
      if (code.insts[i].code == Code::kJump || code.insts[i].code == Code::kJumpIf)
        labels_[static_cast<size_t>(code.insts[i].imm)].last_jump = i;
  }

  std::vector<MaskUse> run() {
    std::vector<MaskUse> uses(code_.insts.size());
    for (at_ = 0; at_ < uses.size(); ++at_) plan(code_.insts[at_], uses[at_]);
    for (size_t i = 0; i < uses.size(); ++i)
      if (uses[i].out != 0)
        uses[i].vector_too = read_as_vector_[static_cast<size_t>(code_.insts[i].out)];
    return uses;
  }

 private:
  using Held = std::array<Reg, kLastMask - kFirstMask + 1>;  // kNone: nothing
  struct Label {
    size_t last_jump = 0;
    bool reached = false;
    Held held{};
  };

  void plan(const Inst& inst, MaskUse& use) {
    switch (inst.code) {
      case Code::kEqual:
      case Code::kGreater:
      case Code::kBelow:
      case Code::kCompareF:
        read(inst.a), read(inst.b);
        use.out = make(inst.out);
        break;
      case Code::kLoadBools: use.out = make(inst.out); break;
      case Code::kAnd:
      case Code::kOr:
      case Code::kXor: logic(inst, use); break;
      case Code::kBlend:
        read(inst.a), read(inst.b);
        use.c = take(inst.c);
        break;
      case Code::kGather:
        read(inst.b);
        use.c = take(inst.c);
        break;
      case Code::kLoadMasked: use.c = take(inst.c); break;
      case Code::kLoadBoolsMasked:
        use.c = take(inst.c);
        use.out = make(inst.out);
        break;
      case Code::kStoreBools: use.c = take(inst.c); break;
      case Code::kStoreMasked:
        use.out = take(inst.out);
        read(inst.c);
        break;
      case Code::kStoreBoolsMasked:
        use.out = take(inst.out);
        use.c = take(inst.c);
        break;
      case Code::kSigns: use.a = take(inst.a); break;
      case Code::kLabel: join(static_cast<size_t>(inst.imm)); break;
      case Code::kCallStep: held_.fill(kNone); break;
      case Code::kJump:
      case Code::kJumpIf: jump(static_cast<size_t>(inst.imm)); break;
      default: read(inst.a), read(inst.b), read(inst.c); break;
    }
  }

  // What is held where code goes on at a label: what all that lead there hold. Jumps back come
  // later.
  void jump(size_t label) {
    labels_[label].held = labels_[label].reached ? common(labels_[label].held, held_) : held_;
    labels_[label].reached = true;
  }
  void join(size_t label) {
    if (labels_[label].last_jump > at_)
      held_.fill(kNone);
    else if (labels_[label].reached)
      held_ = common(labels_[label].held, held_);
  }
  static Held common(Held a, const Held& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) a[i] = kNone;
    return a;
  }

  // Of masks alone, and of masks with what turns all bits over.
  void logic(const Inst& inst, MaskUse& use) {
    uint8_t a = held(inst.a), b = held(inst.b);
    bool turns = inst.code == Code::kXor && is_constant(inst.b) &&
                 code_.constants[constant_id(inst.b)] == all_ones();
    if (a == 0 || (b == 0 && !turns)) {
      read(inst.a), read(inst.b);
      return;
    }
    use.a = a;
    use.b = b;
    use.out = make(inst.out);
  }
  static Lanes all_ones() {
    Lanes lanes;
    lanes.fill(~0u);
    return lanes;
  }

  void read(Reg reg) {
    if (reg >= 0) read_as_vector_[static_cast<size_t>(reg)] = true;
  }
  uint8_t held(Reg reg) const {
    auto it = std::find(held_.begin(), held_.end(), reg);
    bool found = reg >= 0 && it != held_.end();
    return found ? static_cast<uint8_t>(kFirstMask + (it - held_.begin())) : uint8_t{0};
  }
  uint8_t take(Reg reg) {
    uint8_t mask = held(reg);
    if (mask == 0) read(reg);
    return mask;
  }
  // In place of the mask that was made first.
  uint8_t make(Reg reg) {
    held_[next_] = reg;
    auto mask = static_cast<uint8_t>(kFirstMask + next_);
    next_ = (next_ + 1) % held_.size();
    return mask;
  }

  const MachineCode& code_;
  std::vector<bool> read_as_vector_;
  Held held_;
  std::vector<Label> labels_;
  size_t at_ = 0;  // the current instruction
  size_t next_ = 0;
};

}  // namespace

std::vector<MaskUse> plan_masks(const MachineCode& code) { return MaskPlanner(code).run(); }

}  // namespace tuff::cpu::native
