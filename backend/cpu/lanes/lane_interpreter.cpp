#include "backend/cpu/lanes/lane_interpreter.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/fold_affine.h"

namespace tuff::cpu {

namespace {

using Code = Instr::Code;

int64_t wrap32(int64_t value) { return static_cast<int32_t>(value); }

}  // namespace

size_t LaneInterpreter::slot_bytes(const KernelProgram& program) {
  return program.slots.size() * sizeof(Slot);
}

LaneInterpreter::LaneInterpreter(const KernelProgram& program, std::span<const int32_t> params,
                                 std::span<const BufferView> buffers, std::byte* slots,
                                 std::byte* scratch, bool checked)
    : program_(program),
      code_(program.code.data()),
      slots_(reinterpret_cast<Slot*>(slots)),
      scratch_(scratch),
      buffers_(buffers),
      checked_(checked) {
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const SlotInfo& info = program.slots[i];
    Slot slot{.dtype = info.dtype, .base = info.initial};
    if (info.memory_offset >= 0) slot.memory = scratch_ + info.memory_offset;
    new (&slots_[i]) Slot(slot);
  }
  for (size_t i = 0; i < params.size(); ++i) slots_[program.first_param + i].base = params[i];
}

void LaneInterpreter::run_points(int64_t first, int64_t last) {
  for (int64_t point = first; point < last; ++point) {
    point == first ? set_point(point) : next_point();
    run(0);
    if (checked_ && !error_.empty()) return;
  }
}

void LaneInterpreter::set_point(int64_t point) {
  for (size_t i = program_.grid_vars.size(); i-- > 0;) {
    int64_t extent = slots_[program_.grid_extents[i]].base;
    slots_[program_.grid_vars[i]].set_uniform(point % extent);
    point /= extent;
  }
}

// Without the divisions.
void LaneInterpreter::next_point() {
  for (size_t i = program_.grid_vars.size(); i-- > 0;) {
    Slot& variable = slots_[program_.grid_vars[i]];
    if (++variable.base < slots_[program_.grid_extents[i]].base) return;
    variable.base = 0;
  }
}

void LaneInterpreter::run(uint32_t pc) {
  while (true) {
    const Instr& instr = code_[pc];
    switch (instr.code) {
      case Code::kLoopBegin:
        slots_[instr.out].set_uniform(0);
        pc = slots_[instr.in[0]].base > 0 ? pc + 1 : instr.jump + 1;
        break;
      case Code::kLoopEnd: {
        const Instr& begin = code_[instr.jump];
        bool more = ++slots_[begin.out].base < slots_[begin.in[0]].base;
        pc = more ? instr.jump + 1 : pc + 1;
        break;
      }
      case Code::kWhileBegin: {
        bool more = *array_row(program_.arrays[instr.target], 0) != std::byte{0};
        pc = more ? pc + 1 : instr.jump + 1;
        break;
      }
      case Code::kWhileEnd: pc = instr.jump; break;
      case Code::kLaneBegin:
        lane0_ = 0;
        begin_block(instr);
        pc = n_ > 0 ? pc + 1 : instr.jump + 1;
        n_ = std::max<int64_t>(n_, 1);
        break;
      case Code::kLaneEnd: pc = end_block(instr, pc); break;
      case Code::kScalarAdd:
        slots_[instr.out].base = wrap32(base(instr.in[0]) + base(instr.in[1]));
        ++pc;
        break;
      case Code::kScalarSubtract:
        slots_[instr.out].base = wrap32(base(instr.in[0]) - base(instr.in[1]));
        ++pc;
        break;
      case Code::kScalarMultiply:
        slots_[instr.out].base = wrap32(base(instr.in[0]) * base(instr.in[1]));
        ++pc;
        break;
      case Code::kScalarLoad: load_scalar(instr), ++pc; break;
      case Code::kCompute: pc += compute(instr); break;
      case Code::kConvert: pc += convert(instr); break;
      case Code::kCopy: copy(instr), ++pc; break;
      case Code::kLoad: load(instr), ++pc; break;
      case Code::kStore: store(instr), ++pc; break;
      case Code::kRead: read(instr), ++pc; break;
      case Code::kWrite: write(instr), ++pc; break;
      case Code::kReduce:
        reduce(instr, pc);
        pc = instr.jump + 1;
        break;
      case Code::kReduceEnd:
      case Code::kEnd: return;
    }
    if (checked_ && !error_.empty()) return;
  }
}

void LaneInterpreter::begin_block(const Instr& begin) {
  n_ = std::min(begin.block, slots_[begin.in[0]].base - lane0_);
  // A single lane is uniform, and so is all that depends on it.
  slots_[begin.out].set_affine(lane0_, n_ == 1 ? 0 : 1);
}

uint32_t LaneInterpreter::end_block(const Instr& end, uint32_t pc) {
  const Instr& begin = code_[end.jump];
  lane0_ += n_;
  if (lane0_ < slots_[begin.in[0]].base) {
    begin_block(begin);
    return end.jump + 1;
  }
  lane0_ = 0;
  n_ = 1;
  return pc + 1;
}

const std::byte* LaneInterpreter::lanes_of(Slot& slot, int k) {
  if (slot.form == Form::kVector) return slot.lanes;
  if (slot.form == Form::kUniform) {
    int64_t block = std::min(kMaxBlock, program_.lanes);
    std::byte* to = scratch_ + program_.spread_offset + k * 8 * block;
    program_.table->moves[size_log2(slot.dtype)].fill(n_, to, &slot.base);
    return to;
  }
  if (!slot.spread) {
    if (slot.dtype == DType::kI32)
      program_.table->ramp32(n_, reinterpret_cast<int32_t*>(slot.memory),
                             static_cast<int32_t>(slot.base), static_cast<int32_t>(slot.stride));
    else
      program_.table->ramp64(n_, reinterpret_cast<int64_t*>(slot.memory), slot.base, slot.stride);
    slot.spread = true;
  }
  return slot.memory;
}

std::byte* LaneInterpreter::destination(const Instr& instr, Slot& out, uint32_t* completed) {
  *completed = 1;
  if (instr.forward) {
    if (std::byte* direct = direct_target(*(&instr + 1))) {
      *completed = 2;
      return direct;
    }
  }
  out.set_lanes(out.memory);
  return out.memory;
}

void LaneInterpreter::compute_uniform(const Instr& instr, Slot& out) {
  const void* in[3] = {};
  for (int i = 0; i < instr.arity; ++i) in[i] = &slots_[instr.in[i]].base;
  int64_t bits = 0;
  instr.variants[0](1, &bits, in[0], in[1], in[2]);
  out.set_uniform(canonical_bits(out.dtype, bits));
}

uint32_t LaneInterpreter::compute(const Instr& instr) {
  Slot& out = slots_[instr.out];
  if (instr.affine && fold_affine(instr, n_, out, slots_[instr.in[0]],
                                  instr.arity > 1 ? &slots_[instr.in[1]] : nullptr,
                                  instr.arity > 2 ? &slots_[instr.in[2]] : nullptr))
    return 1;
  int singles = 0;
  for (int i = 0; i < instr.arity; ++i)
    singles |= (slots_[instr.in[i]].form == Form::kUniform) << i;
  if (singles == (1 << instr.arity) - 1) {
    compute_uniform(instr, out);
    return 1;
  }
  LaneFn fn = instr.variants[singles];
  if (fn == nullptr) {
    fn = instr.variants[0];
    singles = 0;
  }
  const void* in[3] = {};
  for (int i = 0; i < instr.arity; ++i) {
    Slot& slot = slots_[instr.in[i]];
    in[i] = singles >> i & 1 ? static_cast<const void*>(&slot.base) : lanes_of(slot, i);
  }
  uint32_t completed = 1;
  std::byte* to = destination(instr, out, &completed);
  if (instr.op == Op::kIndexDiv && instr.dtype == DType::kI32 && singles == 2)
    program_.table->index_div32(n_, reinterpret_cast<int32_t*>(to),
                                static_cast<const int32_t*>(in[0]),
                                static_cast<int32_t>(slots_[instr.in[1]].base));
  else
    fn(n_, to, in[0], in[1], in[2]);
  return completed;
}

uint32_t LaneInterpreter::convert(const Instr& instr) {
  Slot& out = slots_[instr.out];
  Slot& from = slots_[instr.in[0]];
  if (instr.affine && fold_affine(instr, n_, out, from, nullptr, nullptr)) return 1;
  if (from.form == Form::kUniform) {
    int64_t bits = 0;
    instr.convert(1, &bits, &from.base, nullptr, nullptr);
    out.set_uniform(canonical_bits(out.dtype, bits));
    return 1;
  }
  const std::byte* lanes = lanes_of(from, 0);
  uint32_t completed = 1;
  std::byte* to = destination(instr, out, &completed);
  instr.convert(n_, to, lanes, nullptr, nullptr);
  return completed;
}

// `out` becomes `from`, whose dtype may differ: the bits count.
void LaneInterpreter::copy_form(Slot& out, const Slot& from) {
  if (from.form == Form::kUniform) return out.set_uniform(canonical_bits(out.dtype, from.base));
  if (from.form == Form::kAffine && from.dtype == out.dtype)
    return out.set_affine(from.base, from.stride);
  const std::byte* lanes = lanes_of(const_cast<Slot&>(from), 0);
  std::memcpy(out.memory, lanes, static_cast<size_t>(n_ * dtype_size(out.dtype)));
  out.set_lanes(out.memory);
}

void LaneInterpreter::copy(const Instr& instr) {
  copy_form(slots_[instr.out], slots_[instr.in[0]]);
}

// A tree over the lanes: the upper half of what is left is combined into the lower
// one. Its shape depends on the lane count alone. The arrays stay as they are.
void LaneInterpreter::reduce(const Instr& begin, uint32_t pc) {
  const Reduction& reduction = program_.reductions[begin.target];
  for (size_t i = 0; i < reduction.arrays.size(); ++i) {
    const ArrayInfo& array = program_.arrays[reduction.arrays[i]];
    std::memcpy(scratch_ + reduction.scratch_offsets[i], scratch_ + array.offset,
                static_cast<size_t>(program_.lanes * dtype_size(array.decl.dtype)));
  }
  int64_t block = std::min(kMaxBlock, program_.lanes);
  for (int64_t width = program_.lanes; width > 1;) {
    int64_t half = (width + 1) / 2, pairs = width - half;
    for (int64_t at = 0; at < pairs; at += block) {
      n_ = std::min(block, pairs - at);
      reduce_step(reduction, pc, at, half);
    }
    width = half;
  }
  n_ = 1;
  for (size_t i = 0; i < reduction.results.size(); ++i) {
    Slot& out = slots_[reduction.results[i]];
    int64_t bits = 0;
    std::memcpy(&bits, scratch_ + reduction.scratch_offsets[i],
                static_cast<size_t>(dtype_size(out.dtype)));
    out.set_uniform(canonical_bits(out.dtype, bits));
  }
}

// Combines lanes [at, at + n) with those `half` further on.
void LaneInterpreter::reduce_step(const Reduction& reduction, uint32_t pc, int64_t at,
                                  int64_t half) {
  if (reduction.combine != nullptr) {
    int64_t size = dtype_size(slots_[reduction.lhs[0]].dtype);
    std::byte* lanes = scratch_ + reduction.scratch_offsets[0] + at * size;
    reduction.combine(n_, lanes, lanes, lanes + half * size, nullptr);
    return;
  }
  for (size_t i = 0; i < reduction.arrays.size(); ++i) {
    int64_t size = dtype_size(slots_[reduction.lhs[i]].dtype);
    const std::byte* lanes = scratch_ + reduction.scratch_offsets[i] + at * size;
    slots_[reduction.lhs[i]].set_lanes(lanes);
    slots_[reduction.rhs[i]].set_lanes(lanes + half * size);
  }
  run(pc + 1);
  for (size_t i = 0; i < reduction.outputs.size(); ++i) {
    Slot& slot = slots_[reduction.outputs[i]];
    int64_t size = dtype_size(slot.dtype);
    std::memcpy(scratch_ + reduction.scratch_offsets[i] + at * size, lanes_of(slot, 0),
                static_cast<size_t>(n_ * size));
  }
}

}  // namespace tuff::cpu
