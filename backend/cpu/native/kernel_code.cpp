#include "backend/cpu/native/kernel_code.h"

#include <algorithm>
#include <bit>

#include "backend/cpu/native/native_context.h"
#include "shaders/kernel/lane_divisions.h"

namespace tuff::cpu::native {

namespace {

using Form = LaneValue::Form;

constexpr size_t kMaxKernelInsts = 12'000;
// In a loop's code, where what is known of memory is worth it, loops of so many statements in all,
// or so few strips of lanes, are written out.
constexpr int64_t kUnrolledStatements = 160, kUnrolledStrips = 4;

int64_t statements_in(const Block& body) {
  int64_t count = 0;
  for (const Stmt& stmt : body) count += 1 + statements_in(stmt.body);
  return count;
}

int64_t array_bytes(const Kernel& kernel, const ArrayDecl& array) {
  int64_t row = array.scope == Scope::kRegister ? kernel.lanes : 1;
  return (array.count * row * 4 + 63) / 64 * 64;
}

}  // namespace

Cell cell_of(DType dtype) {
  switch (dtype) {
    case DType::kBool: return Cell::kBool;
    case DType::kI8: return Cell::kI8;
    case DType::kU8: return Cell::kU8;
    case DType::kI16: return Cell::kI16;
    case DType::kU16: return Cell::kU16;
    case DType::kF16: return Cell::kF16;
    case DType::kBF16: return Cell::kBF16;
    default: return Cell::kWord;
  }
}

int64_t scratch_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const ArrayDecl& array : kernel.arrays) bytes += 2 * array_bytes(kernel, array);
  return bytes;
}

KernelCode::KernelCode(MachineCode& code, const Kernel& kernel, std::span<const int32_t> params,
                       std::span<const MemoryPlace> buffers, MemoryPlace scratch,
                       KnownMemory& memory)
    : code_(code),
      lanes_(code),
      kernel_(kernel),
      params_(params),
      scratch_(scratch),
      memory_(memory),
      is_loaded_(kernel.num_values),
      values_(kernel.num_values) {
  for (const MemoryPlace& place : buffers) {
    buffers_.push_back(base_of(place));
    offsets_.push_back(place.offset_bytes);
    spaces_.push_back(space_of(place.base));
  }
  if (!kernel.arrays.empty()) arrays_ = base_of(scratch);
  // Each is followed by as much for the levels of a reduction.
  int64_t at = scratch.offset_bytes;
  for (const ArrayDecl& array : kernel.arrays) {
    array_offsets_.push_back(at);
    at += 2 * array_bytes(kernel, array);
  }
}

bool KernelCode::is_writable() const {
  for (const BufferDecl& buffer : kernel_.buffers) {
    if (!kind_of(buffer.dtype)) return false;
    if (is_narrow(buffer.dtype) && !(code_.is_wide() && is_function_)) return false;
  }
  for (int64_t offset : offsets_)
    if (!fits_offset(offset)) return false;
  return !kernel_.matrices;
}

bool KernelCode::write() {
  if (!is_writable()) return false;
  place_strips();
  promote_arrays();
  return points(0);
}

void KernelCode::place_strips() {
  constexpr int64_t kMostStatements = 1000;
  const int64_t together = lane_divisions(kernel_, params_).together;
  if (together > 1 && together * statements_in(kernel_.body) <= kMostStatements)
    together_ = together;
}

bool KernelCode::write_range() {
  is_function_ = true;
  if (!is_writable()) return false;
  place_strips();
  for (const BufferDecl& buffer : kernel_.buffers) is_narrow_ |= is_narrow(buffer.dtype);
  std::vector<uint32_t> extents;
  for (const GridLoop& loop : kernel_.grid) {
    std::optional<LaneValue> extent = operand(loop.extent);
    std::optional<uint32_t> known = extent ? lanes_.known_bits(*extent) : std::nullopt;
    if (!known) return false;
    extents.push_back(*known);
  }
  auto context = [&](size_t offset) {
    return lanes_.emit_general(Code::kGContext, kNone, kNone, kNone, static_cast<int64_t>(offset));
  };
  Reg point = context(offsetof(NativeContext, first_point));
  Reg last = context(offsetof(NativeContext, last_point));
  int64_t begin = code_.label(), end = code_.label();
  jump_if(Condition::kLessEqual, last, point, 0, end);
  set_label(begin);
  promote_arrays();
  locate_point(point, extents);
  if (!block(kernel_.body)) return false;
  code_.insts.push_back({.code = Code::kGAdd, .out = point, .a = point, .imm = 1});
  jump_if(Condition::kLess, point, last, 0, begin);
  set_label(end);
  return true;
}

// The grid's variables at a point, which counts the innermost one fastest.
void KernelCode::locate_point(Reg point, std::span<const uint32_t> extents) {
  LaneValue left = LaneValues::based(Kind::kSigned, point);
  size_t outermost = 0;
  while (outermost < extents.size() && extents[outermost] == 1) ++outermost;
  for (size_t i = extents.size(); i-- > 0;) {
    LaneValue& at = values_[kernel_.grid[i].var].emplace(LaneValues::known(Kind::kSigned, 0));
    if (extents[i] == 1 || i < outermost) continue;
    at = left;
    if (i == outermost) continue;
    Reg extent = lanes_.emit_general(Code::kGMove, kNone, kNone, kNone, extents[i]);
    Reg above = lanes_.emit_general(Code::kGDivide, left.reg, extent);
    Reg below = lanes_.emit_general(Code::kGMultiply, above, kNone, kNone, extents[i]);
    at.reg = lanes_.emit_general(Code::kGSubtract, left.reg, below);
    left.reg = above;
  }
}

// What a loop over scalars carries stays in registers.
void KernelCode::promote_arrays() {
  for (const ArrayDecl& array : kernel_.arrays) {
    std::optional<Kind> kind = kind_of(array.dtype);
    bool one = array.scope == Scope::kRegister && array.count == 1 && kernel_.lanes == 1;
    variables_.push_back(kNone);
    if (!one || !kind) continue;
    variables_.back() = code_.fresh(*kind == Kind::kFloat);
    write_variable(static_cast<uint32_t>(variables_.size() - 1), LaneValues::known(*kind, 0));
  }
}

// A copy: the variable may be written while the value is still used.
LaneValue KernelCode::read_variable(uint32_t array) {
  Kind kind = *kind_of(kernel_.arrays[array].dtype);
  Reg from = variables_[array];
  if (kind == Kind::kFloat) return lanes_.vector(kind, lanes_.emit(Code::kMove, from), true);
  return LaneValues::based(kind, lanes_.emit_general(Code::kGMove, from));
}

void KernelCode::write_variable(uint32_t array, const LaneValue& value) {
  bool vector = *kind_of(kernel_.arrays[array].dtype) == Kind::kFloat;
  Reg from = vector ? lanes_.vector_of(value) : lanes_.general_of(value);
  code_.insts.push_back({.code = vector ? Code::kMove : Code::kGMove,
                         .lanes = lanes_.code_lanes(),
                         .out = variables_[array],
                         .a = from});
}

std::optional<LaneValue> KernelCode::read(const Stmt& stmt) {
  const ArrayDecl& array = kernel_.arrays[stmt.target];
  if (variables_[stmt.target] != kNone) return read_variable(stmt.target);
  std::optional<LaneValue> index = array_index(array, stmt.operands[0]);
  std::optional<Kind> kind = kind_of(array.dtype);
  if (!index || !kind) return std::nullopt;
  return load_from(arrays_, array_offsets_[stmt.target], {*kind}, *index);
}

bool KernelCode::write(const Stmt& stmt) {
  const ArrayDecl& array = kernel_.arrays[stmt.target];
  std::optional<LaneValue> value = operand(stmt.operands[1]);
  if (value && variables_[stmt.target] != kNone) {
    write_variable(stmt.target, *value);
    return true;
  }
  std::optional<LaneValue> index = array_index(array, stmt.operands[0]);
  return index && value && kind_of(array.dtype) &&
         store_to(arrays_, array_offsets_[stmt.target], Cell::kWord, *index, *value);
}

Reg KernelCode::base_of(const MemoryPlace& place) {
  return place.base == kStackBase ? kStack : code_.base(place.base);
}

void KernelCode::jump_if(Condition condition, Reg a, Reg b, int64_t value, int64_t label) {
  code_.insts.push_back({.code = Code::kJumpIf,
                         .condition = condition,
                         .a = a,
                         .b = b,
                         .imm = label,
                         .value = value});
}

void KernelCode::set_label(int64_t label) {
  code_.insts.push_back({.code = Code::kLabel, .imm = label});
  memory_.forget_all();
}

std::optional<LaneValue> KernelCode::operand(const Operand& operand) {
  if (operand.kind == Operand::Kind::kValue) return values_[operand.id];
  if (operand.kind == Operand::Kind::kParam)
    return LaneValues::known(Kind::kSigned, static_cast<uint32_t>(params_[operand.id]));
  std::optional<Kind> kind = kind_of(operand.dtype);
  if (!kind) return std::nullopt;
  auto bits = static_cast<uint32_t>(operand.bits);
  switch (operand.dtype) {
    case DType::kI8: bits = static_cast<uint32_t>(static_cast<int8_t>(bits)); break;
    case DType::kI16: bits = static_cast<uint32_t>(static_cast<int16_t>(bits)); break;
    case DType::kF16:
      bits = std::bit_cast<uint32_t>(f16_to_f32(static_cast<uint16_t>(bits)));
      break;
    case DType::kBF16: bits <<= 16; break;
    default: break;
  }
  return LaneValues::known(*kind, bits);
}

bool KernelCode::let(const Stmt& stmt, std::optional<LaneValue> value) {
  values_[stmt.result] = value;
  return value.has_value();
}

// Loops over the grid, outermost first, around the kernel's body.
bool KernelCode::points(size_t loop) {
  if (loop == kernel_.grid.size()) return block(kernel_.body);
  std::optional<LaneValue> extent = operand(kernel_.grid[loop].extent);
  return extent && repeat(*extent, false, [&](const LaneValue& at) {
           values_[kernel_.grid[loop].var] = at;
           return points(loop + 1);
         });
}

bool KernelCode::block(const Block& body) {
  for (const Stmt& stmt : body)
    if (!statement(stmt) || code_.insts.size() > kMaxKernelInsts) return false;
  return true;
}

bool KernelCode::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::kSerial:
    case Stmt::Kind::kUnroll: {
      std::optional<LaneValue> extent = operand(stmt.operands[0]);
      if (!extent) return false;
      std::optional<uint32_t> times = lanes_.known_bits(*extent);
      bool unroll = times && *times * statements_in(stmt.body) <= kUnrolledStatements / 2;
      return repeat(*extent, unroll, [&](const LaneValue& at) {
        values_[stmt.result] = at;
        return block(stmt.body);
      });
    }
    case Stmt::Kind::kLane: return lane_loop(stmt);
    case Stmt::Kind::kWhile: return repeat_while(stmt);
    case Stmt::Kind::kCompute: return let(stmt, compute(stmt));
    case Stmt::Kind::kConvert: return let(stmt, convert(stmt));
    case Stmt::Kind::kBitcast: {
      std::optional<LaneValue> value = operand(stmt.operands[0]);
      std::optional<Kind> kind = kind_of(stmt.dtype);
      if (!value || !kind || *kind == Kind::kBool || value->kind == Kind::kBool) return false;
      if (is_narrow(stmt.dtype)) return false;
      return let(stmt, lanes_.apply(Prim::kOr, *kind, *value, LaneValues::known(value->kind, 0)));
    }
    case Stmt::Kind::kLoad: return load(stmt);
    case Stmt::Kind::kLoadWord: return load_word(stmt);
    case Stmt::Kind::kStore: return store(stmt);
    case Stmt::Kind::kStoreWord: return store_word(stmt);
    case Stmt::Kind::kRead: return let(stmt, read(stmt));
    case Stmt::Kind::kWrite: return write(stmt);
    case Stmt::Kind::kReduceLanes: return reduce(stmt);
    default: return false;
  }
}

// body(number) so often.
template <typename Body>
bool KernelCode::repeat(const LaneValue& extent, bool unroll, const Body& body) {
  std::optional<uint32_t> times = lanes_.known_bits(extent);
  if (times && static_cast<int32_t>(*times) <= 0) return true;
  if (times && (unroll || *times == 1)) {
    for (uint32_t i = 0; i < *times; ++i)
      if (!body(LaneValues::known(Kind::kSigned, i))) return false;
    return true;
  }
  if (!times && !lanes_.uniform(extent)) return false;
  Reg last = times ? kNone : lanes_.general_of(extent);
  Reg counter = lanes_.emit_general(Code::kGMove, kNone);
  int64_t begin = code_.label(), end = code_.label();
  if (!times) jump_if(Condition::kLessEqual, last, kNone, 0, end);
  set_label(begin);
  if (!body(LaneValues::based(Kind::kSigned, counter))) return false;
  code_.insts.push_back({.code = Code::kGAdd, .out = counter, .a = counter, .imm = 1});
  jump_if(Condition::kLess, counter, last, times ? static_cast<int32_t>(*times) : 0, begin);
  set_label(end);
  return true;
}

// body(number of the first lane's and on) for lanes of the widths that there are. A body that fills
// rows of arrays gets its last lanes as part of a whole vector.
template <typename Body>
bool KernelCode::strips(const LaneValue& extent, size_t statements, bool fills_rows,
                        const Body& body) {
  std::optional<uint32_t> known = lanes_.known_bits(extent);
  if (!known && !lanes_.uniform(extent)) return false;
  auto run = [&](int width, const LaneValue& first, const std::optional<LaneValue>& active) {
    lanes_.width = width;
    active_ = active;
    bool well = body(first);
    active_.reset();
    lanes_.width = code_.width;
    return well;
  };
  const bool well = known ? known_strips(static_cast<int32_t>(*known), statements, fills_rows, run)
                    : code_.is_wide() ? masked_strips(extent, run)
                                      : narrowing_strips(extent, run);
  are_last_ = false;
  return well;
}

template <typename Run>
bool KernelCode::known_strips(int64_t count, size_t statements, bool fills_rows, const Run& run) {
  constexpr int64_t kFewLanes = 64;  // that are all there are, as good as the last ones
  const int64_t width = code_.width, whole = count / width, step = together_ * width;
  int64_t at = 0;
  bool short_enough =
      whole <= kUnrolledStrips || whole * static_cast<int64_t>(statements) <= kUnrolledStatements;
  if (whole > together_ && !(short_enough && !is_function_)) {
    at = count / step * step;
    Reg counter = lanes_.emit_general(Code::kGMove, kNone);
    int64_t begin = code_.label();
    set_label(begin);
    if (!strips_together(counter, run)) return false;
    jump_if(Condition::kLess, counter, kNone, at, begin);
  }
  are_last_ = at > 0 || count < kFewLanes;
  for (; at < whole * width; at += width)
    if (!run(code_.width, LaneValues::counting(static_cast<uint32_t>(at)), std::nullopt))
      return false;
  int64_t rest = count - at;
  LaneValue first = LaneValues::counting(static_cast<uint32_t>(at));
  bool few = is_narrow_ && rest > 1 && rest < 8;
  if (code_.is_wide() && rest > 0 && (few || fills_rows || (rest & (rest - 1)) != 0)) {
    LaneValue active{.form = Form::kKnown, .kind = Kind::kBool};
    for (size_t i = 0; i < active.lanes.size(); ++i)
      active.lanes[i] = static_cast<int64_t>(i) < rest;
    return run(rest < 8 && !fills_rows ? 8 : 16, first, active);
  }
  for (int narrow : {8, 4, 2, 1})
    if ((rest & narrow) != 0) {
      if (!run(narrow, LaneValues::counting(static_cast<uint32_t>(at)), std::nullopt)) return false;
      at += narrow;
    }
  return true;
}

// `together_` strips from the counter's lane on, which is a multiple of so many; then it counts on.
template <typename Run>
bool KernelCode::strips_together(Reg counter, const Run& run) {
  const int64_t step = together_ * code_.width;
  for (int64_t at = 0; at < step; at += code_.width) {
    LaneValue first = LaneValues::based(Kind::kSigned, counter, static_cast<uint32_t>(step));
    first.lanes = LaneValues::counting(static_cast<uint32_t>(at)).lanes;
    if (!run(code_.width, first, std::nullopt)) return false;
  }
  code_.insts.push_back({.code = Code::kGAdd, .out = counter, .a = counter, .imm = step});
  return true;
}

// So many as there are `together_` of.
template <typename Run>
bool KernelCode::all_strips_together(Reg last, Reg counter, const Run& run) {
  if (together_ == 1) return true;
  int64_t begin = code_.label(), end = code_.label();
  set_label(begin);
  Reg next = lanes_.emit_general(Code::kGAdd, counter, kNone, kNone, together_ * code_.width);
  jump_if(Condition::kLess, last, next, 0, end);
  if (!strips_together(counter, run)) return false;
  code_.insts.push_back({.code = Code::kJump, .imm = begin});
  set_label(end);
  return true;
}

template <typename Run>
bool KernelCode::masked_strips(const LaneValue& extent, const Run& run) {
  Reg last = lanes_.general_of(extent), counter = lanes_.emit_general(Code::kGMove, kNone);
  if (!all_strips_together(last, counter, run)) return false;
  are_last_ = together_ > 1;
  int64_t begin = code_.label(), whole = code_.label(), end = code_.label();
  LaneValue first = LaneValues::based(Kind::kSigned, counter, static_cast<uint32_t>(code_.width));
  first.lanes = LaneValues::counting(0).lanes;
  set_label(begin);
  Reg next = lanes_.emit_general(Code::kGAdd, counter, kNone, kNone, code_.width);
  jump_if(Condition::kLess, last, next, 0, whole);
  if (!run(code_.width, first, std::nullopt)) return false;
  code_.insts.push_back({.code = Code::kGAdd, .out = counter, .a = counter, .imm = code_.width});
  code_.insts.push_back({.code = Code::kJump, .imm = begin});
  set_label(whole);
  if (lanes_.known_multiple(extent) % static_cast<uint32_t>(code_.width) == 0) return true;
  jump_if(Condition::kLessEqual, last, counter, 0, end);
  are_last_ = true;
  std::optional<LaneValue> active =
      lanes_.apply(Prim::kLessSigned, Kind::kBool, first, LaneValues::based(Kind::kSigned, last));
  if (!active || !run(code_.width, first, active)) return false;
  set_label(end);
  return true;
}

template <typename Run>
bool KernelCode::narrowing_strips(const LaneValue& extent, const Run& run) {
  Reg last = lanes_.general_of(extent), counter = lanes_.emit_general(Code::kGMove, kNone);
  if (!all_strips_together(last, counter, run)) return false;
  for (int width : {code_.width, 1}) {
    are_last_ = together_ > 1 || width == 1;
    int64_t begin = code_.label(), end = code_.label();
    set_label(begin);
    Reg next = lanes_.emit_general(Code::kGAdd, counter, kNone, kNone, width);
    jump_if(Condition::kLess, last, next, 0, end);
    LaneValue first = LaneValues::based(Kind::kSigned, counter, static_cast<uint32_t>(width));
    if (width > 1) first.lanes = LaneValues::counting(0).lanes;
    if (!run(width, first, std::nullopt)) return false;
    code_.insts.push_back({.code = Code::kGAdd, .out = counter, .a = counter, .imm = width});
    code_.insts.push_back({.code = Code::kJump, .imm = begin});
    set_label(end);
  }
  return true;
}

bool KernelCode::lane_loop(const Stmt& stmt) {
  std::optional<LaneValue> extent = operand(stmt.operands[0]);
  auto has = [&](Stmt::Kind kind) {
    return std::any_of(stmt.body.begin(), stmt.body.end(),
                       [&](const Stmt& inner) { return inner.kind == kind; });
  };
  // They are read as whole vectors next.
  const bool fills_rows =
      has(Stmt::Kind::kWrite) && !has(Stmt::Kind::kStore) && kernel_.lanes >= 16;
  return extent && strips(*extent, static_cast<size_t>(statements_in(stmt.body)), fills_rows,
                          [&](const LaneValue& first) {
                            lane_ = values_[stmt.result].emplace(first);
                            return block(stmt.body);
                          });
}

bool KernelCode::repeat_while(const Stmt& stmt) {
  int64_t begin = code_.label(), end = code_.label();
  set_label(begin);
  Reg more = variables_[stmt.target];
  if (more == kNone)
    more = lanes_.emit_general(Code::kGLoad, arrays_, kNone, kNone, array_offsets_[stmt.target]);
  jump_if(Condition::kEqual, more, kNone, 0, end);
  if (!block(stmt.body)) return false;
  code_.insts.push_back({.code = Code::kJump, .imm = begin});
  set_label(end);
  return true;
}

// The tree of LaneInterpreter::reduce: the upper half of what is left goes into the lower one. The
// levels are written behind the arrays, which stay as they are.
bool KernelCode::reduce(const Stmt& stmt) {
  bool first = true;
  for (int64_t width = kernel_.lanes; width > 1; width = (width + 1) / 2) {
    if (!reduce_level(stmt, width, first)) return false;
    first = false;
  }
  for (size_t i = 0; i < stmt.arrays.size(); ++i) {
    const ArrayDecl& array = kernel_.arrays[stmt.arrays[i]];
    if (variables_[stmt.arrays[i]] != kNone) {
      values_[stmt.results[i]] = read_variable(stmt.arrays[i]);
      continue;
    }
    int64_t from = array_offsets_[stmt.arrays[i]] + (first ? 0 : array_bytes(kernel_, array));
    values_[stmt.results[i]] =
        load_from(arrays_, from, {*kind_of(array.dtype)}, LaneValues::known(Kind::kSigned, 0));
    if (!values_[stmt.results[i]]) return false;
  }
  return true;
}

bool KernelCode::reduce_level(const Stmt& stmt, int64_t width, bool first) {
  int64_t half = (width + 1) / 2, pairs = width - half;
  auto number = [](int64_t value) {
    return LaneValues::known(Kind::kSigned, static_cast<uint32_t>(value));
  };
  auto from = [&](size_t i) {
    int64_t at = array_offsets_[stmt.arrays[i]];
    return first ? at : at + array_bytes(kernel_, kernel_.arrays[stmt.arrays[i]]);
  };
  auto to = [&](size_t i) {
    return array_offsets_[stmt.arrays[i]] + array_bytes(kernel_, kernel_.arrays[stmt.arrays[i]]);
  };
  auto kind = [&](size_t i) { return *kind_of(kernel_.arrays[stmt.arrays[i]].dtype); };
  for (size_t i = 0; i < stmt.arrays.size(); ++i)
    if (!kind_of(kernel_.arrays[stmt.arrays[i]].dtype)) return false;
  bool well = strips(number(pairs), static_cast<size_t>(statements_in(stmt.body)) + 3, false,
                     [&](const LaneValue& at) {
                       for (size_t i = 0; i < stmt.arrays.size(); ++i) {
                         values_[stmt.lhs[i]] = load_from(arrays_, from(i), {kind(i)}, at);
                         values_[stmt.rhs[i]] =
                             load_from(arrays_, from(i) + half * 4, {kind(i)}, at);
                       }
                       if (!block(stmt.body)) return false;
                       for (size_t i = 0; i < stmt.arrays.size(); ++i) {
                         std::optional<LaneValue> result = operand(stmt.operands[i]);
                         if (!result || !store_to(arrays_, to(i), Cell::kWord, at, *result))
                           return false;
                       }
                       return true;
                     });
  // The one without a partner.
  for (size_t i = 0; well && first && pairs < half && i < stmt.arrays.size(); ++i) {
    std::optional<LaneValue> rest = load_from(arrays_, from(i), {kind(i)}, number(half - 1));
    well = rest && store_to(arrays_, to(i), Cell::kWord, number(half - 1), *rest);
  }
  return well;
}

}  // namespace tuff::cpu::native
