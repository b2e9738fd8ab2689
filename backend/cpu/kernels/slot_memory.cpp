#include "backend/cpu/kernels/slot_memory.h"

#include <algorithm>
#include <span>

namespace tuff::cpu {

namespace {

using Code = Instr::Code;

bool is_begin(Code code) {
  return code == Code::kLoopBegin || code == Code::kWhileBegin || code == Code::kLaneBegin ||
         code == Code::kReduce;
}
bool is_end(Code code) {
  return code == Code::kLoopEnd || code == Code::kWhileEnd || code == Code::kLaneEnd ||
         code == Code::kReduceEnd;
}
bool defines_out(Code code) {
  switch (code) {
    case Code::kLoopBegin:
    case Code::kLaneBegin:
    case Code::kScalarAdd:
    case Code::kScalarSubtract:
    case Code::kScalarMultiply:
    case Code::kScalarLoad:
    case Code::kCompute:
    case Code::kConvert:
    case Code::kCopy:
    case Code::kLoad:
    case Code::kRead: return true;
    default: return false;
  }
}

struct Lifetime {
  uint32_t begin = 0;
  uint32_t end = 0;  // the last instruction that uses it
  uint32_t uses = 0;
};

// Lifetimes by slot. A value from outside a loop that is used inside it lives
// until the loop ends.
class Lifetimes {
 public:
  explicit Lifetimes(const KernelProgram& program)
      : program_(program), lifetimes_(program.slots.size()) {
    for (uint32_t at = 0; at < program.code.size(); ++at) visit(at);
  }
  const Lifetime& operator[](uint32_t slot) const { return lifetimes_[slot]; }

 private:
  void define(uint32_t slot, uint32_t at) { lifetimes_[slot] = {at, at, 0}; }

  void use(uint32_t slot, uint32_t at) {
    Lifetime& life = lifetimes_[slot];
    ++life.uses;
    uint32_t last = at;
    for (uint32_t begin : open_)
      if (begin > life.begin) {  // the outermost loop that began after the value
        last = program_.code[begin].jump;
        break;
      }
    life.end = std::max(life.end, last);
  }

  void visit(uint32_t at) {
    const Instr& instr = program_.code[at];
    for (uint32_t slot : std::span(instr.in, instr.arity)) use(slot, at);
    if (is_end(instr.code)) {
      const Instr& begin = program_.code[instr.jump];
      open_.pop_back();
      if (begin.code == Code::kReduce) {
        for (uint32_t slot : program_.reductions[begin.target].outputs) use(slot, at);
      } else if (begin.code != Code::kWhileBegin) {
        use(begin.out, at);
        use(begin.in[0], at);
      }
    }
    if (defines_out(instr.code)) define(instr.out, at);
    if (instr.code == Code::kReduce)
      for (const auto& side :
           {program_.reductions[instr.target].lhs, program_.reductions[instr.target].rhs})
        for (uint32_t slot : side) define(slot, at);
    if (is_begin(instr.code)) open_.push_back(at);
  }

  const KernelProgram& program_;
  std::vector<Lifetime> lifetimes_;
  std::vector<uint32_t> open_;  // begins of the loops around the instruction
};

}  // namespace

void sink_to_stores(KernelProgram& program) {
  Lifetimes lifetimes(program);
  auto is_plain = [](Code code) {
    return defines_out(code) && code != Code::kLoopBegin && code != Code::kLaneBegin;
  };
  for (size_t at = 1; at < program.code.size(); ++at) {
    Code code = program.code[at].code;
    if (code != Code::kStore && code != Code::kWrite) continue;
    uint32_t value = program.code[at].in[1];
    size_t made = at;
    while (made > 0 && is_plain(program.code[made - 1].code) && program.code[made - 1].out != value)
      --made;
    if (made == 0 || !is_plain(program.code[--made].code) || lifetimes[value].uses != 1) continue;
    if (program.code[made].code != Code::kCompute && program.code[made].code != Code::kConvert)
      continue;
    auto first = program.code.begin() + static_cast<int64_t>(made);
    std::rotate(first, first + 1, program.code.begin() + static_cast<int64_t>(at));
  }
}

void mark_forwards(KernelProgram& program) {
  Lifetimes lifetimes(program);
  for (size_t at = 0; at + 1 < program.code.size(); ++at) {
    Instr& instr = program.code[at];
    const Instr& next = program.code[at + 1];
    if (instr.code != Code::kCompute && instr.code != Code::kConvert) continue;
    if (next.code != Code::kStore && next.code != Code::kWrite) continue;
    instr.forward =
        next.in[1] == instr.out && next.dtype == instr.dtype && lifetimes[instr.out].uses == 1;
  }
}

void mark_copies(KernelProgram& program) {
  Lifetimes lifetimes(program);
  for (uint32_t at = 0; at < program.code.size(); ++at) {
    Instr& instr = program.code[at];
    if (instr.code != Code::kLoad && instr.code != Code::kRead) continue;
    // Two buffers of a kernel may be the same memory (in place), two arrays not.
    for (uint32_t i = at + 1; i < lifetimes[instr.out].end && !instr.copy; ++i) {
      const Instr& other = program.code[i];
      instr.copy = instr.code == Code::kLoad
                       ? other.code == Code::kStore
                       : other.code == Code::kWrite && other.target == instr.target;
    }
  }
}

void place_slots(KernelProgram& program) {
  Lifetimes lifetimes(program);
  int64_t block = std::min(kMaxBlock, program.lanes);
  std::vector<std::vector<uint32_t>> ending(program.code.size());
  std::vector<int64_t> free[4];
  for (uint32_t at = 0; at < program.code.size(); ++at) {
    const Instr& instr = program.code[at];
    SlotInfo* slot = defines_out(instr.code) ? &program.slots[instr.out] : nullptr;
    if (slot != nullptr && slot->memory_offset >= 0) {
      std::vector<int64_t>& pool = free[size_log2(slot->dtype)];
      if (pool.empty()) {
        pool.push_back(program.scratch_bytes);
        program.scratch_bytes += (block * dtype_size(slot->dtype) + 63) / 64 * 64;
      }
      slot->memory_offset = pool.back();
      pool.pop_back();
      ending[lifetimes[instr.out].end].push_back(instr.out);
    }
    for (uint32_t ended : ending[at]) {
      const SlotInfo& info = program.slots[ended];
      free[size_log2(info.dtype)].push_back(info.memory_offset);
    }
  }
}

}  // namespace tuff::cpu
