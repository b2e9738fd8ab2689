#include "backend/cpu/native/allocate.h"

#include <algorithm>
#include <array>

namespace tuff::cpu::native {

namespace {

struct Life {
  int32_t begin = -1, end = -1;
};

bool is_register(Reg reg) { return reg >= 0; }

// What an instruction reads; `out` of those that store is a source, too.
std::array<Reg, 4> sources(const Inst& inst) {
  return {inst.a, inst.b, inst.c, writes_out(inst.code) ? kNone : inst.out};
}

void drop_unread(MachineCode& code) {
  // A variable is read and written: what writes it stays as long as another one reads it.
  std::vector<bool> read(code.is_vector.size());
  bool more = true;
  std::vector<bool> kept(code.insts.size());
  while (more) {
    more = false;
    for (size_t i = code.insts.size(); i-- > 0;) {
      const Inst& inst = code.insts[i];
      if (kept[i] || (writes_out(inst.code) && !read[static_cast<size_t>(inst.out)])) continue;
      kept[i] = more = true;
      for (Reg reg : sources(inst))
        if (is_register(reg)) read[static_cast<size_t>(reg)] = true;
    }
  }
  size_t to = 0;
  for (size_t i = 0; i < code.insts.size(); ++i)
    if (kept[i]) code.insts[to++] = code.insts[i];
  code.insts.resize(to);
}

struct Loop {
  int32_t begin, end;  // a label's instruction, that of the jump to it
};

// Inner loops before those around them.
std::vector<Loop> loops_of(const MachineCode& code) {
  std::vector<int32_t> labels(static_cast<size_t>(code.labels), -1);
  std::vector<Loop> loops;
  for (size_t i = 0; i < code.insts.size(); ++i) {
    const Inst& inst = code.insts[i];
    const auto at = static_cast<int32_t>(i), imm = static_cast<int32_t>(inst.imm);
    if (inst.code == Code::kLabel) labels[static_cast<size_t>(imm)] = at;
    const bool jumps = inst.code == Code::kJump || inst.code == Code::kJumpIf;
    if (jumps && labels[static_cast<size_t>(imm)] >= 0)
      loops.push_back({labels[static_cast<size_t>(imm)], at});
  }
  return loops;
}

// First to last instruction, in which those of a loop count as one for what is older than it.
std::vector<Life> lives_of(const MachineCode& code) {
  std::vector<Life> lives(code.is_vector.size());
  for (size_t i = 0; i < code.insts.size(); ++i) {
    const Inst& inst = code.insts[i];
    auto at = static_cast<int32_t>(i);
    auto touch = [&](Reg reg) {
      if (!is_register(reg)) return;
      Life& life = lives[static_cast<size_t>(reg)];
      if (life.begin < 0) life.begin = at;
      life.end = at;
    };
    for (Reg reg : sources(inst)) touch(reg);
    touch(inst.out);
  }
  std::vector<Life*> order;
  for (Life& life : lives)
    if (life.begin >= 0) order.push_back(&life);
  for (const Loop& loop : loops_of(code))
    for (Life* life : order)
      if (life->begin < loop.begin && life->end > loop.begin && life->end < loop.end)
        life->end = loop.end;
  return lives;
}

class Scan {
 public:
  Scan(const MachineCode& code, Allocation& allocation)
      : code_(code), allocation_(allocation), lives_(lives_of(code)) {}

  void run() {
    std::vector<Reg> order;
    for (size_t reg = 2; reg < lives_.size(); ++reg)
      if (lives_[reg].begin >= 0) order.push_back(static_cast<Reg>(reg));
    std::sort(order.begin(), order.end(), [&](Reg a, Reg b) {
      return std::pair(life(a).begin, a) < std::pair(life(b).begin, b);
    });
    for (int number = vector_registers(code_); number-- > 0;)
      free_[1].push_back(static_cast<uint8_t>(number));
    // rbp, rsi, rdi and r8 to r14, by the processor's numbers; those callers keep come last.
    free_[0] = {14, 13, 12, 5, 11, 10, 9, 8, 7, 6};
    for (Reg reg : order) {
      expire(life(reg).begin);
      place(reg);
    }
  }

  // Vector registers below this number are taken somewhere.
  int vectors_taken() const { return vectors_taken_; }

 private:
  const Life& life(Reg reg) const { return lives_[static_cast<size_t>(reg)]; }
  Place& place_of(Reg reg) { return allocation_.places[static_cast<size_t>(reg)]; }
  bool vector(Reg reg) const { return code_.is_vector[static_cast<size_t>(reg)]; }

  // A register that ends where another one begins is read before that is written, but an
  // instruction of several steps may write early.
  void expire(int32_t at) {
    for (auto& active : active_)
      std::erase_if(active, [&](Reg reg) {
        if (life(reg).end >= at) return false;
        free_[vector(reg)].push_back(place_of(reg).number);
        return true;
      });
  }

  void place(Reg reg) {
    auto& free = free_[vector(reg)];
    auto& active = active_[vector(reg)];
    if (!free.empty()) {
      place_of(reg) = {true, free.back(), 0};
      if (vector(reg)) vectors_taken_ = std::max(vectors_taken_, free.back() + 1);
      free.pop_back();
      active.push_back(reg);
      return;
    }
    auto last = std::max_element(active.begin(), active.end(),
                                 [&](Reg a, Reg b) { return life(a).end < life(b).end; });
    if (life(*last).end > life(reg).end) {
      place_of(reg) = place_of(*last);
      spill(*last);
      *last = reg;
    } else {
      spill(reg);
    }
  }

  void spill(Reg reg) {
    int64_t size = vector(reg) ? 4 * code_.width : 8;
    allocation_.stack_bytes = (allocation_.stack_bytes + size - 1) / size * size;
    place_of(reg) = {false, 0, allocation_.stack_bytes};
    allocation_.stack_bytes += size;
  }

  const MachineCode& code_;
  Allocation& allocation_;
  std::vector<Life> lives_;
  std::vector<uint8_t> free_[2];
  std::vector<Reg> active_[2];
  int vectors_taken_ = 0;
};

// How often the instructions of loops read each constant, where a loop counts as eight rounds. An
// encoder may read memory as fast as registers, but not six times a round.
std::vector<int64_t> reads_in_loops(const MachineCode& code) {
  std::vector<int64_t> rounds(code.insts.size(), 1), reads(code.constants.size());
  for (const Loop& loop : loops_of(code))
    for (int32_t i = loop.begin; i <= loop.end; ++i)
      rounds[static_cast<size_t>(i)] = std::min<int64_t>(rounds[static_cast<size_t>(i)] * 8, 4096);
  for (size_t i = 0; i < code.insts.size(); ++i)
    for (Reg reg : sources(code.insts[i]))
      if (is_constant(reg) && rounds[i] > 1) reads[constant_id(reg)] += rounds[i];
  return reads;
}

// A step that is called takes all vector registers.
bool calls_steps(const MachineCode& code) {
  return std::any_of(code.insts.begin(), code.insts.end(),
                     [](const Inst& inst) { return inst.code == Code::kCallStep; });
}

// Gives the constants that are read most the registers from `first` on.
void keep_constants(const MachineCode& code, int first, Allocation& allocation) {
  allocation.constants.resize(code.constants.size());
  if (calls_steps(code)) return;
  const std::vector<int64_t> reads = reads_in_loops(code);
  std::vector<size_t> order;
  for (size_t id = 0; id < reads.size(); ++id)
    if (reads[id] > 0) order.push_back(id);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return reads[a] > reads[b]; });
  for (size_t id : order) {
    if (first == vector_registers(code)) return;
    allocation.constants[id] = {true, static_cast<uint8_t>(first++), 0};
  }
}

}  // namespace

bool writes_out(Code code) {
  switch (code) {
    case Code::kStore:
    case Code::kStoreMasked:
    case Code::kStoreBools:
    case Code::kStoreBoolsMasked:
    case Code::kGStore:
    case Code::kGStoreByte:
    case Code::kLabel:
    case Code::kJump:
    case Code::kJumpIf:
    case Code::kCallStep:
    case Code::kCount: return false;
    default: return true;
  }
}

Allocation allocate_registers(MachineCode& code) {
  drop_unread(code);
  Allocation allocation;
  allocation.places.resize(code.is_vector.size());
  allocation.stack_bytes = code.stack_bytes;
  Scan scan(code, allocation);
  scan.run();
  keep_constants(code, scan.vectors_taken(), allocation);
  return allocation;
}

}  // namespace tuff::cpu::native
