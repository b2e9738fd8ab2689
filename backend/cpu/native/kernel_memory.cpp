// Loads and stores of KernelCode.
#include <algorithm>
#include <bit>

#include "backend/cpu/native/kernel_code.h"

namespace tuff::cpu::native {

namespace {

using Form = LaneValue::Form;

}  // namespace

void KernelCode::emit_memory(Code code, uint8_t lanes, const Address& at, Reg out, Reg value,
                             Cell cell) {
  const bool stores = code == Code::kStore || code == Code::kStoreMasked;
  if (auto rounded = rounded_from_.find(value); stores && cell == Cell::kF16)
    if (rounded != rounded_from_.end()) value = rounded->second;
  code_.insts.push_back({.code = code,
                         .lanes = lanes,
                         .scale = at.scale,
                         .cell = cell,
                         .out = out,
                         .a = at.base,
                         .b = at.index,
                         .c = value,
                         .imm = at.offset});
}

// An array of the lanes has a row of them for each index.
std::optional<LaneValue> KernelCode::array_index(const ArrayDecl& array, const Operand& index) {
  std::optional<LaneValue> value = operand(index);
  if (!value || array.scope == Scope::kShared) return value;
  auto lanes = LaneValues::known(Kind::kSigned, static_cast<uint32_t>(kernel_.lanes));
  std::optional<LaneValue> row = lanes_.apply(Prim::kMultiply, Kind::kSigned, *value, lanes);
  if (!row) return std::nullopt;
  return lanes_.apply(Prim::kAdd, Kind::kSigned, *row, lane_);
}

bool KernelCode::neighbours(const LaneValue& index) const {
  if (index.form == Form::kVector) return false;
  for (int i = 0; i < lanes_.width; ++i)
    if (index.lanes[static_cast<size_t>(i)] != index.lanes[0] + static_cast<uint32_t>(i))
      return false;
  return true;
}

// Lanes that walk another line of memory each: the interpreter takes several elements of each line
// at a time. The last ones of an extent are too few for that to matter.
bool KernelCode::is_far_apart(const LaneValue& index) const {
  constexpr int32_t kFar = 4;
  if (!is_function_ || are_last_ || index.form == Form::kVector) return false;
  auto step = static_cast<int32_t>(index.lanes[1] - index.lanes[0]);
  return step >= kFar || step <= -kFar;
}

// Of the first lane.
KernelCode::Address KernelCode::address(Reg base, int64_t offset, const LaneValue& index,
                                        int64_t size) {
  Address at{.base = base, .scale = static_cast<uint8_t>(size), .offset = offset};
  if (index.form == Form::kVector) {
    at.index = lanes_.emit_general(Code::kGWiden, lanes_.general_of(index));
    return at;
  }
  at.offset += static_cast<int64_t>(static_cast<int32_t>(index.lanes[0])) * size;
  if (index.form == Form::kBased) at.index = lanes_.emit_general(Code::kGWiden, index.reg);
  return at;
}

LaneValue KernelCode::lane_of(const LaneValue& value, int lane) {
  if (value.form == Form::kKnown)
    return LaneValues::known(value.kind, value.lanes[static_cast<size_t>(lane)]);
  if (value.form == Form::kBased) {
    LaneValue one = value;
    one.lanes.fill(value.lanes[static_cast<size_t>(lane)]);
    return one;
  }
  if (value.same || lane == 0) return value;
  Reg reg = lanes_.emit_general(Code::kExtract, value.reg, kNone, kNone, lane);
  if (value.kind == Kind::kBool) reg = lanes_.emit_general(Code::kGAnd, reg, kNone, kNone, 1);
  return LaneValues::based(value.kind, reg);
}

// Lanes that there are not are false.
Reg KernelCode::mask_of(const LaneValue& guard) {
  Reg mask = lanes_.vector_of(guard);
  if (lanes_.width != 2) return mask;
  return lanes_.emit(Code::kAnd, mask, code_.constant({~0u, ~0u}));
}

LaneValue KernelCode::within(const LaneValue& guard) {
  return active_ ? *lanes_.apply(Prim::kAnd, Kind::kBool, guard, *active_) : guard;
}

std::optional<int64_t> KernelCode::known_space(Reg base) const {
  if (base == arrays_) return space_of(scratch_.base);
  for (size_t i = 0; i < buffers_.size() && !is_function_; ++i)
    if (buffers_[i] == base) return spaces_[i];
  return std::nullopt;
}

// How many of the current lanes there are, if they are the first ones.
std::optional<int64_t> KernelCode::lanes_there() const {
  if (!active_) return lanes_.width;
  if (active_->form != Form::kKnown) return std::nullopt;
  auto last = std::find(active_->lanes.begin(), active_->lanes.begin() + lanes_.width, 0u);
  return last - active_->lanes.begin();
}

std::optional<LaneValue> KernelCode::known_row(const Address& at, Element element, int64_t count) {
  const std::optional<int64_t> space = known_space(at.base);
  const bool has_lanes = element.cell == Cell::kWord || element.cell == Cell::kBool;
  if (!space || !has_lanes || at.index != kNone) return std::nullopt;
  std::optional<KnownMemory::Found> found =
      memory_.find_row(*space + at.offset, element.kind, count);
  if (!found) return std::nullopt;
  LaneValue value = found->value;
  const int64_t lane = found->lane;
  auto from = static_cast<uint32_t>(lane);
  auto lane_after = [&](size_t i) {
    return count == 1 ? from : std::min<size_t>(from + i, value.lanes.size() - 1);
  };
  if (value.form != Form::kVector) {
    const Lanes all = value.lanes;
    for (size_t i = 0; i < all.size(); ++i) value.lanes[i] = all[lane_after(i)];
    return value;
  }
  if (value.same || (lane == 0 && count > 1)) return value;
  if (lane == 0) return lanes_.vector(element.kind, lanes_.emit(Code::kBroadcast, value.reg), true);
  Lanes order{};
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(lane_after(i));
  const int width = lanes_.width;
  lanes_.width = std::max(width, lane + count > 8 ? 16 : 8);
  const Reg turned = lanes_.emit(Code::kPermute, value.reg, code_.constant(order));
  lanes_.width = width;
  return lanes_.vector(element.kind, turned, count == 1);
}

void KernelCode::note_store(Reg base, int64_t offset, int64_t size, const LaneValue& index,
                            LaneValue value) {
  if (lanes_.width == 1) value.same = false;  // where more lanes come to read it
  std::optional<int64_t> space = known_space(base);
  if (!space) return;
  if (index.form != Form::kKnown) return memory_.forget_all();
  int64_t at = *space + offset + static_cast<int64_t>(static_cast<int32_t>(index.lanes[0])) * size;
  std::optional<int64_t> lanes = lanes_there();
  const bool one = lanes_.width == 1 || lanes_.uniform(value);
  if (lanes_.uniform(index) && one)
    memory_.set(at, size, 1, value);
  else if (!lanes_.uniform(index) && neighbours(index) && lanes)
    memory_.set(at, size, *lanes, value);
  else if (lanes_.uniform(index) || neighbours(index))
    memory_.forget(at, size * lanes_.width);
  else
    memory_.forget_all();
}

std::optional<LaneValue> KernelCode::load_from(Reg base, int64_t offset, Element element,
                                               const LaneValue& index) {
  bool bytes = element.cell == Cell::kBool;
  bool same = lanes_.uniform(index);
  if (!fits_offset(offset)) return std::nullopt;
  if (same || neighbours(index)) {
    Address at = address(base, offset, index, size_of(element.cell));
    if (!fits_offset(at.offset)) return std::nullopt;
    if (same) return load_same(at, element);
    if (std::optional<int64_t> lanes = lanes_there())
      if (std::optional<LaneValue> row = known_row(at, element, *lanes)) return row;
    Reg out = code_.fresh(true);
    if (active_)
      emit_memory(bytes ? Code::kLoadBoolsMasked : Code::kLoadMasked, lanes_.code_lanes(), at, out,
                  mask_of(*active_), element.cell);
    else
      emit_memory(bytes ? Code::kLoadBools : Code::kLoad, static_cast<uint8_t>(lanes_.width), at,
                  out, kNone, element.cell);
    return lanes_.vector(element.kind, out, false);
  }
  if (std::optional<LaneValue> value =
          load_close(base, offset, element, index, within(LaneValues::known(Kind::kBool, 1))))
    return value;
  if (is_far_apart(index)) return std::nullopt;
  if (element.cell != Cell::kWord) return load_lanes(base, offset, element, index, active_);
  Address at{.base = base, .offset = offset};
  at.index = lanes_.vector_of(index);
  Reg out = code_.fresh(true);
  emit_memory(Code::kGather, lanes_.code_lanes(), at, out,
              mask_of(within(LaneValues::known(Kind::kBool, 1))));
  return lanes_.vector(element.kind, out, false);
}

// One element for all lanes.
std::optional<LaneValue> KernelCode::load_same(const Address& at, Element element) {
  auto [kind, cell] = element;
  bool wide_bool = kind == Kind::kBool && cell == Cell::kWord;
  if (std::optional<LaneValue> value = known_row(at, element, 1)) return value;
  if (kind == Kind::kFloat && cell == Cell::kWord) {
    Reg out = code_.fresh(true);
    emit_memory(Code::kLoadSpread, 8, at, out, kNone);
    return lanes_.vector(kind, out, true);
  }
  Reg out = code_.fresh(false);
  emit_memory(cell == Cell::kBool ? Code::kGLoadByte : Code::kGLoad, 8, at, out, kNone, cell);
  if (cell == Cell::kF16)
    return lanes_.vector(kind, lanes_.emit(Code::kFloatFromHalf, lanes_.emit(Code::kSpread, out)),
                         true);
  if (cell == Cell::kBF16) {
    Reg bits = lanes_.emit_general(Code::kGShiftLeft, out, kNone, kNone, 16);
    return lanes_.vector(kind, lanes_.emit(Code::kSpread, bits), true);
  }
  if (wide_bool) out = lanes_.emit_general(Code::kGAnd, out, kNone, kNone, 1);
  return LaneValues::based(kind, out);
}

// All lanes or none.
std::optional<LaneValue> KernelCode::load_where(Reg base, int64_t offset, Element element,
                                                const LaneValue& index, const LaneValue& guard,
                                                const LaneValue& other) {
  Kind kind = element.kind;
  Reg holds = lanes_.general_of(guard);
  bool general = lanes_.uniform(index) && lanes_.uniform(other) && kind != Kind::kFloat;
  Reg from = general ? lanes_.general_of(other) : lanes_.vector_of(other);
  Reg out = general ? lanes_.emit_general(Code::kGMove, from) : lanes_.emit(Code::kMove, from);
  int64_t end = code_.label();
  jump_if(Condition::kEqual, holds, kNone, 0, end);
  std::optional<LaneValue> loaded = load_from(base, offset, element, index);
  if (!loaded) return std::nullopt;
  Reg value = general ? lanes_.general_of(*loaded) : lanes_.vector_of(*loaded);
  code_.insts.push_back({.code = general ? Code::kGMove : Code::kMove,
                         .lanes = lanes_.code_lanes(),
                         .out = out,
                         .a = value});
  set_label(end);
  if (general) return LaneValues::based(kind, out);
  return lanes_.vector(kind, out, lanes_.uniform(index) && lanes_.uniform(other));
}

std::optional<LaneValue> KernelCode::load_guarded(Reg base, int64_t offset, Element element,
                                                  const LaneValue& index, const LaneValue& guard,
                                                  const LaneValue& other) {
  if (std::optional<uint32_t> holds = lanes_.known_bits(guard))
    return *holds != 0 ? load_from(base, offset, element, index) : std::optional(other);
  if (lanes_.uniform(guard)) return load_where(base, offset, element, index, guard, other);
  if (std::optional<LaneValue> close = load_close(base, offset, element, index, within(guard)))
    return lanes_.apply(Prim::kSelect, element.kind, guard, *close, other);
  bool bytes = element.cell == Cell::kBool, row = neighbours(index);
  bool single = element.cell != Cell::kWord;
  if (!row && is_far_apart(index)) return std::nullopt;
  if (single && !(code_.is_wide() && row)) {
    std::optional<LaneValue> loaded = load_lanes(base, offset, element, index, within(guard));
    if (!loaded) return std::nullopt;
    return lanes_.apply(Prim::kSelect, element.kind, guard, *loaded, other);
  }
  Reg mask = mask_of(within(guard)), out = code_.fresh(true);
  // A masked load of no lane takes hundreds of cycles where it lies outside of all memory.
  Reg rest = lanes_.vector_of(other);
  int64_t none = code_.label();
  move_vector(out, rest);
  jump_if_none(guard, mask, none);
  Address at{.base = base, .offset = offset};
  if (row)
    at = address(base, offset, index, size_of(element.cell));
  else
    at.index = lanes_.vector_of(index);
  if (!fits_offset(at.offset)) return std::nullopt;
  Reg loaded = code_.fresh(true);
  Code code = bytes ? Code::kLoadBoolsMasked : row ? Code::kLoadMasked : Code::kGather;
  emit_memory(code, lanes_.code_lanes(), at, loaded, mask, element.cell);
  if (!lanes_.is_known(other, 0)) loaded = lanes_.emit(Code::kBlend, loaded, rest, mask);
  move_vector(out, loaded);
  code_.insts.push_back({.code = Code::kLabel, .imm = none});
  return lanes_.vector(element.kind, out, false);
}

void KernelCode::move_vector(Reg out, Reg from) {
  code_.insts.push_back({.code = Code::kMove, .lanes = lanes_.code_lanes(), .out = out, .a = from});
}

void KernelCode::jump_if_none(const LaneValue& guard, Reg mask, int64_t label) {
  if (guard.form == Form::kKnown) return;
  jump_if(Condition::kEqual, lanes_.signs(mask), kNone, 0, label);
}

bool KernelCode::load(const Stmt& stmt) {
  std::optional<LaneValue> index = operand(stmt.operands[0]);
  std::optional<Kind> kind = kind_of(stmt.dtype);
  if (!index || !kind) return false;
  Element element{*kind, cell_of(stmt.dtype)};
  if (element.cell == Cell::kF16) is_loaded_[stmt.result] = true;
  Reg base = buffers_[stmt.target];
  int64_t offset = offsets_[stmt.target];
  if (stmt.operands.size() == 1) return let(stmt, load_from(base, offset, element, *index));
  std::optional<LaneValue> guard = operand(stmt.operands[1]), other = operand(stmt.operands[2]);
  return guard && other && let(stmt, load_guarded(base, offset, element, *index, *guard, *other));
}

// One load for each element.
bool KernelCode::load_word(const Stmt& stmt) {
  std::optional<LaneValue> word = operand(stmt.operands[0]);
  std::optional<Kind> kind = kind_of(stmt.dtype);
  if (!word || !kind) return false;
  std::optional<LaneValue> guard;
  if (stmt.operands.size() > 1 && !(guard = operand(stmt.operands[1]))) return false;
  Element element{*kind, cell_of(stmt.dtype)};
  auto count = static_cast<uint32_t>(stmt.results.size());
  std::optional<LaneValue> first =
      lanes_.apply(Prim::kMultiply, Kind::kSigned, *word, LaneValues::known(Kind::kSigned, count));
  for (uint32_t i = 0; first && i < count; ++i) {
    std::optional<LaneValue> index =
        lanes_.apply(Prim::kAdd, Kind::kSigned, *first, LaneValues::known(Kind::kSigned, i));
    if (!index) return false;
    Reg base = buffers_[stmt.target];
    int64_t offset = offsets_[stmt.target];
    values_[stmt.results[i]] =
        guard ? load_guarded(base, offset, element, *index, *guard, LaneValues::known(*kind, 0))
              : load_from(base, offset, element, *index);
    if (!values_[stmt.results[i]]) return false;
  }
  return first.has_value();
}

void KernelCode::store_one(const Address& to, Cell cell, const LaneValue& value, int lane) {
  bool wide = cell == Cell::kWord, is_bool = value.kind == Kind::kBool;
  bool vector = value.form == Form::kVector && (value.same || lane == 0);
  if (vector && wide) return emit_memory(Code::kStore, 1, to, kNone, value.reg);
  if (cell == Cell::kF16 || cell == Cell::kBF16) {
    Reg bits = lanes_.vector_of(value);
    bits = cell == Cell::kF16 ? lanes_.emit(Code::kHalfFromFloat, bits)
                              : lanes_.emit(Code::kShiftRight, bits, lanes_.constant(16));
    Reg one = lanes_.emit_general(Code::kExtract, bits, kNone, kNone, lane);
    return emit_memory(Code::kGStore, 1, to, kNone, one, Cell::kU16);
  }
  LaneValue one = lane_of(value, lane);
  if (is_bool && wide && one.form != Form::kKnown)
    return emit_memory(Code::kStore, 1, to, kNone, lanes_.vector_of(one));
  if (is_bool && wide) one = LaneValues::known(Kind::kUnsigned, 0u - one.lanes[0]);
  emit_memory(size_of(cell) == 1 ? Code::kGStoreByte : Code::kGStore, 1, to, kNone,
              lanes_.general_of(one), cell);
}

// Lane by lane, in their order, those of the guard.
bool KernelCode::store_lanes(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                             const LaneValue& value, const LaneValue* guard) {
  if (is_function_ && !are_last_ && !lanes_.uniform(index) && !is_close(index)) return false;
  if (known_space(base)) memory_.forget_all();
  for (int lane = 0; lane < lanes_.width; ++lane) {
    int64_t end = code_.label();
    if (guard != nullptr) {
      LaneValue holds = lane_of(*guard, lane);
      jump_if(Condition::kEqual, lanes_.general_of(holds), kNone, 0, end);
    }
    LaneValue at = lane_of(index, lane);
    at.same = true;
    Address to = address(base, offset, at, size_of(cell));
    if (!fits_offset(to.offset)) return false;
    store_one(to, cell, value, lane);
    set_label(end);
  }
  return true;
}

// The first lanes by as many as are a power of two: what a masked store has written, processors do
// not load again before it is in the cache.
void KernelCode::store_parts(Address to, Reg value, int64_t count) {
  for (int64_t at = 0; at < count;) {
    const int64_t lanes = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count - at)));
    Lanes order{};
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<uint32_t>(std::min<int64_t>(at + static_cast<int64_t>(i), 15));
    const Reg part = at == 0 ? value : lanes_.emit(Code::kPermute, value, code_.constant(order));
    emit_memory(Code::kStore, static_cast<uint8_t>(lanes), to, kNone, part);
    at += lanes;
    to.offset += lanes * 4;
  }
}

// The active lanes, the others as they are. What is loaded next is one vector again, which
// processors take from one store but not from two; arrays have room behind them.
void KernelCode::store_whole(const Address& to, Reg value) {
  const auto width = static_cast<uint8_t>(lanes_.width);
  const Reg before = code_.fresh(true);
  emit_memory(Code::kLoad, width, to, before, kNone);
  const Reg all = lanes_.emit(Code::kBlend, value, before, mask_of(*active_));
  emit_memory(Code::kStore, width, to, kNone, all);
}

bool KernelCode::store_to(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                          const LaneValue& value) {
  bool bytes = cell == Cell::kBool;
  bool same = lanes_.uniform(index);
  bool one_of_active = same && active_ && !lanes_.uniform(value);
  if ((!same && !neighbours(index)) || one_of_active)
    return store_lanes(base, offset, cell, index, value, active_ ? &*active_ : nullptr);
  Address to = address(base, offset, index, size_of(cell));
  if (!fits_offset(to.offset)) return false;
  note_store(base, offset, size_of(cell), index, value);
  // Of lanes that store to one place the last one stays.
  if (same) {
    store_one(to, cell, value, lanes_.uniform(value) ? 0 : lanes_.width - 1);
    return true;
  }
  if (active_ && base == arrays_) {
    store_whole(to, lanes_.vector_of(value));
    return true;
  }
  if (active_) {
    if (!is_function_ && cell == Cell::kWord && active_->form == Form::kKnown) {
      store_parts(to, lanes_.vector_of(value), *lanes_there());
      return true;
    }
    Reg mask = mask_of(*active_);
    emit_memory(bytes ? Code::kStoreBoolsMasked : Code::kStoreMasked, lanes_.code_lanes(), to, mask,
                lanes_.vector_of(value), cell);
    return true;
  }
  emit_memory(bytes ? Code::kStoreBools : Code::kStore, static_cast<uint8_t>(lanes_.width), to,
              kNone, lanes_.vector_of(value), cell);
  return true;
}

bool KernelCode::store_guarded(Reg base, int64_t offset, Cell cell, const LaneValue& index,
                               const LaneValue& value, const LaneValue& guard) {
  if (std::optional<uint32_t> holds = lanes_.known_bits(guard))
    return *holds == 0 || store_to(base, offset, cell, index, value);
  if (lanes_.uniform(guard)) {
    int64_t end = code_.label();
    jump_if(Condition::kEqual, lanes_.general_of(guard), kNone, 0, end);
    bool well = store_to(base, offset, cell, index, value);
    set_label(end);
    return well;
  }
  LaneValue stored = within(guard);
  bool bytes = cell == Cell::kBool;
  if (!neighbours(index) || (bytes && !code_.is_wide()))
    return store_lanes(base, offset, cell, index, value, &stored);
  Address to = address(base, offset, index, size_of(cell));
  if (!fits_offset(to.offset)) return false;
  if (known_space(base)) memory_.forget_all();
  Reg mask = mask_of(stored), from = lanes_.vector_of(value);
  int64_t none = code_.label();
  jump_if_none(guard, mask, none);
  emit_memory(bytes ? Code::kStoreBoolsMasked : Code::kStoreMasked, lanes_.code_lanes(), to, mask,
              from, cell);
  code_.insts.push_back({.code = Code::kLabel, .imm = none});
  return true;
}

bool KernelCode::store_at(uint32_t buffer, const LaneValue& index, const LaneValue& value,
                          const std::optional<LaneValue>& guard) {
  Reg base = buffers_[buffer];
  int64_t offset = offsets_[buffer];
  Cell cell = cell_of(kernel_.buffers[buffer].dtype);
  return guard ? store_guarded(base, offset, cell, index, value, *guard)
               : store_to(base, offset, cell, index, value);
}

bool KernelCode::store(const Stmt& stmt) {
  std::optional<LaneValue> index = operand(stmt.operands[0]), value = operand(stmt.operands[1]);
  std::optional<LaneValue> guard;
  if (stmt.operands.size() > 2 && !(guard = operand(stmt.operands[2]))) return false;
  // As a float, a signalling NaN of 16 bits that is only moved would become a quiet one.
  const Operand& moved = stmt.operands[1];
  if (moved.kind == Operand::Kind::kValue && is_loaded_[moved.id]) return false;
  return index && value && store_at(stmt.target, *index, *value, guard);
}

bool KernelCode::store_word(const Stmt& stmt) {
  int64_t count = kernel_.buffers[stmt.target].per_word;
  std::optional<LaneValue> word = operand(stmt.operands[0]), guard;
  bool guarded = static_cast<int64_t>(stmt.operands.size()) > 1 + count;
  if (!word || (guarded && !(guard = operand(stmt.operands.back())))) return false;
  std::optional<LaneValue> first =
      lanes_.apply(Prim::kMultiply, Kind::kSigned, *word,
                   LaneValues::known(Kind::kSigned, static_cast<uint32_t>(count)));
  for (int64_t i = 0; first && i < count; ++i) {
    std::optional<LaneValue> index =
        lanes_.apply(Prim::kAdd, Kind::kSigned, *first,
                     LaneValues::known(Kind::kSigned, static_cast<uint32_t>(i)));
    std::optional<LaneValue> value = operand(stmt.operands[static_cast<size_t>(1 + i)]);
    if (!index || !value || !store_at(stmt.target, *index, *value, guard)) return false;
  }
  return first.has_value();
}

}  // namespace tuff::cpu::native
