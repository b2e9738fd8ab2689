// Loads, stores, reads and writes of the interpreter.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/kernels/fold_affine.h"
#include "backend/cpu/lanes/lane_interpreter.h"

namespace tuff::cpu {

namespace {

int64_t load_bits(const std::byte* from, DType dtype) {
  int64_t bits = 0;
  if (dtype == DType::kF32) {  // the common one, without a call
    std::memcpy(&bits, from, 4);
    return bits;
  }
  std::memcpy(&bits, from, static_cast<size_t>(dtype_size(dtype)));
  return canonical_bits(dtype, bits);
}

void store_bits(std::byte* to, int64_t bits, DType dtype) {
  std::memcpy(to, &bits, static_cast<size_t>(dtype_size(dtype)));
}

// Asks for what the next grid point most likely loads, so that it comes while this one is computed.
void fetch(const std::byte* from, int64_t size_bytes) {
  for (int64_t at = 0; at < size_bytes; at += 64) __builtin_prefetch(from + at);
}

const uint8_t* as_guard(const std::byte* lanes) { return reinterpret_cast<const uint8_t*>(lanes); }

template <typename I>
const I* as(const std::byte* lanes) {
  return reinterpret_cast<const I*>(lanes);
}

}  // namespace

const std::byte* LaneInterpreter::index_lanes(Slot& index, bool* wide) {
  *wide = index.dtype != DType::kI32;
  if (index.dtype == DType::kI32 || index.dtype == DType::kI64) return lanes_of(index, 0);
  int64_t block = std::min(kMaxBlock, program_.lanes);
  std::byte* to = scratch_ + program_.spread_offset + 2 * 8 * block;
  LaneFn convert =
      program_.table->convert[static_cast<int>(index.dtype)][static_cast<int>(DType::kI64)];
  convert(n_, to, lanes_of(index, 0), nullptr, nullptr);
  return to;
}

const MoveFns& LaneInterpreter::moves_of(int64_t size) const {
  return program_.table->moves[std::countr_zero(static_cast<uint64_t>(size))];
}

std::byte* LaneInterpreter::array_row(const ArrayInfo& array, int64_t row) {
  int64_t lane = array.decl.scope == Scope::kRegister ? lane0_ : 0;
  return scratch_ + array.offset + (row * array.row + lane) * array.size;
}

int64_t LaneInterpreter::elements(const Instr& instr) const {
  return buffers_[instr.target].size_bytes / instr.size;
}

void LaneInterpreter::load_scalar(const Instr& instr) {
  const Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, nullptr, elements(instr), "buffer b", instr.target)) return;
  const std::byte* from = buffers_[instr.target].data + index.base * instr.size;
  slots_[instr.out].base = load_bits(from, instr.dtype);
}

void LaneInterpreter::load(const Instr& instr) {
  Slot& out = slots_[instr.out];
  if (instr.arity > 1) {
    const Slot& guard = slots_[instr.in[1]];
    if (guard.form == Form::kVector) return load_guarded(instr, guard);
    if (guard.base == 0) return copy_form(out, slots_[instr.in[2]]);
  }
  Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, nullptr, elements(instr), "buffer b", instr.target)) return;
  int64_t size = instr.size;
  const std::byte* data = buffers_[instr.target].data;
  const MoveFns& moves = moves_of(instr.size);
  if (index.form == Form::kUniform)
    return out.set_uniform(load_bits(data + index.base * size, instr.dtype));
  if (index.form == Form::kAffine) {
    const std::byte* from = data + index.base * size;
    if (index.stride == 1) fetch(from + n_ * size, n_ * size);
    if (index.stride == 1 && !instr.copy) return out.set_lanes(from);
    if (index.stride == 1)
      std::memcpy(out.memory, from, static_cast<size_t>(n_ * size));
    else if (const std::byte* lanes = load_from_tile(instr, index))
      return out.set_lanes(lanes);
    else
      moves.load_strided(n_, out.memory, from, index.stride);
  } else {
    bool wide = false;
    const std::byte* indices = index_lanes(index, &wide);
    if (wide)
      moves.gather_wide(n_, out.memory, data, as<int64_t>(indices), nullptr);
    else
      moves.gather(n_, out.memory, data, as<int32_t>(indices), nullptr);
  }
  out.set_lanes(out.memory);
}

namespace {

// See LaneInterpreter::tileable_.
uint64_t tileable_buffers(std::span<const BufferDecl> decls, std::span<const BufferView> views) {
  uint64_t tileable = 0;
  for (size_t b = 0; b < std::min<size_t>(decls.size(), 64); ++b) {
    bool alone = decls[b].access == Access::kRead;
    for (size_t other = 0; other < decls.size() && alone; ++other)
      alone = decls[other].access == Access::kRead ||
              views[other].data + views[other].size_bytes <= views[b].data ||
              views[b].data + views[b].size_bytes <= views[other].data;
    tileable |= static_cast<uint64_t>(alone) << b;
  }
  return tileable;
}

}  // namespace

const std::byte* LaneInterpreter::load_from_tile(const Instr& instr, const Slot& index) {
  if (!tileable_) tileable_ = tileable_buffers(program_.buffers, buffers_);
  if (instr.target >= 64 || (*tileable_ >> instr.target & 1) == 0) return nullptr;
  return tiles_.lanes(moves_of(instr.size), &instr, buffers_[instr.target].data, elements(instr),
                      instr.size, index.base, index.stride, n_);
}

// The guard holds for some lanes: the others keep operand 2.
void LaneInterpreter::load_guarded(const Instr& instr, const Slot& guard) {
  const uint8_t* mask = as_guard(guard.lanes);
  Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, mask, elements(instr), "buffer b", instr.target)) return;
  Slot& out = slots_[instr.out];
  int64_t size = instr.size;
  std::memcpy(out.memory, lanes_of(slots_[instr.in[2]], 1), static_cast<size_t>(n_ * size));
  const std::byte* data = buffers_[instr.target].data;
  const MoveFns& moves = moves_of(instr.size);
  if (index.form == Form::kVector) {
    bool wide = false;
    const std::byte* indices = index_lanes(index, &wide);
    if (wide)
      moves.gather_wide(n_, out.memory, data, as<int64_t>(indices), mask);
    else
      moves.gather(n_, out.memory, data, as<int32_t>(indices), mask);
  } else {
    moves.load_guarded(n_, out.memory, data, index.base, index.stride, mask);
  }
  out.set_lanes(out.memory);
}

void LaneInterpreter::store(const Instr& instr) {
  if (instr.arity > 2) {
    const Slot& guard = slots_[instr.in[2]];
    if (guard.form == Form::kVector) return store_guarded(instr, guard);
    if (guard.base == 0) return;
  }
  const Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, nullptr, elements(instr), "buffer b", instr.target)) return;
  store_lanes(buffers_[instr.target].data, instr.dtype, index, slots_[instr.in[1]]);
}

// Also for shared arrays. In lane order: of lanes that store to one place, the last
// one stays.
void LaneInterpreter::store_lanes(std::byte* to, DType dtype, const Slot& index,
                                  const Slot& value) {
  int64_t size = dtype_size(dtype);
  const MoveFns& moves = moves_of(size);
  auto& from = const_cast<Slot&>(value);
  if (index.form == Form::kVector) {
    bool wide = false;
    const std::byte* lanes = lanes_of(from, 1);
    const std::byte* indices = index_lanes(const_cast<Slot&>(index), &wide);
    if (wide)
      moves.scatter_wide(n_, to, lanes, as<int64_t>(indices), nullptr);
    else
      moves.scatter(n_, to, lanes, as<int32_t>(indices), nullptr);
    return;
  }
  to += index.base * size;
  if (index.form == Form::kUniform && value.form == Form::kUniform)
    store_bits(to, value.base, dtype);
  else if (index.stride == 1 && value.form == Form::kUniform)
    moves.fill(n_, to, &value.base);
  else if (index.stride == 1)
    std::memmove(to, lanes_of(from, 1), static_cast<size_t>(n_ * size));
  else
    moves.store_strided(n_, to, lanes_of(from, 1), index.stride);
}

void LaneInterpreter::store_guarded(const Instr& instr, const Slot& guard) {
  const uint8_t* mask = as_guard(guard.lanes);
  Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, mask, elements(instr), "buffer b", instr.target)) return;
  const std::byte* lanes = lanes_of(slots_[instr.in[1]], 1);
  std::byte* data = buffers_[instr.target].data;
  const MoveFns& moves = moves_of(instr.size);
  if (index.form != Form::kVector)
    return moves.store_guarded(n_, data, lanes, index.base, index.stride, mask);
  bool wide = false;
  const std::byte* indices = index_lanes(index, &wide);
  if (wide)
    moves.scatter_wide(n_, data, lanes, as<int64_t>(indices), mask);
  else
    moves.scatter(n_, data, lanes, as<int32_t>(indices), mask);
}

// A register array has a row of lanes per element; a shared one is plain memory.
void LaneInterpreter::read(const Instr& instr) {
  const ArrayInfo& array = program_.arrays[instr.target];
  Slot& out = slots_[instr.out];
  Slot& index = slots_[instr.in[0]];
  if (checked_ && !in_range(index, nullptr, array.decl.count, "array ", instr.target)) return;
  bool shared = array.decl.scope == Scope::kShared;
  int64_t size = instr.size;
  const MoveFns& moves = moves_of(instr.size);
  if (index.form == Form::kUniform) {
    const std::byte* row = array_row(array, index.base);
    if (shared || n_ == 1) return out.set_uniform(load_bits(row, instr.dtype));
    if (!instr.copy) return out.set_lanes(row);
    std::memcpy(out.memory, row, static_cast<size_t>(n_ * size));
  } else if (shared && index.form == Form::kAffine) {
    const std::byte* from = array_row(array, index.base);
    if (index.stride == 1 && !instr.copy) return out.set_lanes(from);
    moves.load_strided(n_, out.memory, from, index.stride);
  } else {
    bool wide = false;
    const std::byte* indices = index_lanes(index, &wide);
    for (int64_t i = 0; i < n_; ++i) {
      int64_t row = wide ? as<int64_t>(indices)[i] : as<int32_t>(indices)[i];
      std::memcpy(out.memory + i * size, array_row(array, row) + (shared ? 0 : i * size),
                  static_cast<size_t>(size));
    }
  }
  out.set_lanes(out.memory);
}

void LaneInterpreter::write(const Instr& instr) {
  const ArrayInfo& array = program_.arrays[instr.target];
  Slot& index = slots_[instr.in[0]];
  Slot& value = slots_[instr.in[1]];
  if (checked_ && !in_range(index, nullptr, array.decl.count, "array ", instr.target)) return;
  if (array.decl.scope == Scope::kShared)
    return store_lanes(scratch_ + array.offset, instr.dtype, index, value);
  int64_t size = instr.size;
  if (index.form == Form::kUniform) {
    std::byte* row = array_row(array, index.base);
    if (value.form == Form::kUniform)
      moves_of(instr.size).fill(n_, row, &value.base);
    else
      std::memmove(row, lanes_of(value, 1), static_cast<size_t>(n_ * size));
    return;
  }
  bool wide = false;
  const std::byte* lanes = lanes_of(value, 1);
  const std::byte* indices = index_lanes(index, &wide);
  for (int64_t i = 0; i < n_; ++i) {
    int64_t row = wide ? as<int64_t>(indices)[i] : as<int32_t>(indices)[i];
    std::memcpy(array_row(array, row) + i * size, lanes + i * size, static_cast<size_t>(size));
  }
}

std::byte* LaneInterpreter::direct_target(const Instr& next) {
  const Slot& index = slots_[next.in[0]];
  bool contiguous = index.form == Form::kAffine && index.stride == 1;
  if (next.code == Instr::Code::kWrite) {
    const ArrayInfo& array = program_.arrays[next.target];
    bool rows = array.decl.scope == Scope::kRegister && index.form == Form::kUniform;
    if (!rows && !(array.decl.scope == Scope::kShared && contiguous)) return nullptr;
    if (checked_ && !in_range(index, nullptr, array.decl.count, "array ", next.target))
      return nullptr;
    return array_row(array, index.base);
  }
  if (!contiguous) return nullptr;
  if (next.arity > 2) {
    const Slot& guard = slots_[next.in[2]];
    if (guard.form != Form::kUniform || guard.base == 0) return nullptr;
  }
  if (checked_ && !in_range(index, nullptr, elements(next), "buffer b", next.target))
    return nullptr;
  return buffers_[next.target].data + index.base * next.size;
}

bool LaneInterpreter::in_range(const Slot& index, const uint8_t* guard, int64_t count,
                               const char* what, uint32_t id) {
  auto& slot = const_cast<Slot&>(index);
  bool wide = false;
  const std::byte* lanes = nullptr;
  if (index.form == Form::kVector || guard != nullptr) lanes = index_lanes(slot, &wide);
  if (lanes == nullptr) {
    int64_t last = index.base + index.stride * (n_ - 1);
    if (index.base < 0 || index.base >= count) return report(what, id, index.base, count);
    return (last >= 0 && last < count) || report(what, id, last, count);
  }
  for (int64_t i = 0; i < n_; ++i) {
    int64_t at = wide ? as<int64_t>(lanes)[i] : as<int32_t>(lanes)[i];
    if ((guard == nullptr || guard[i]) && (at < 0 || at >= count))
      return report(what, id, at, count);
  }
  return true;
}

bool LaneInterpreter::report(const char* what, uint32_t id, int64_t index, int64_t count) {
  error_ = "The index (" + std::to_string(index) + ") into " + what + std::to_string(id) +
           " is not below its " + std::to_string(count) + " elements.";
  return false;
}

}  // namespace tuff::cpu
