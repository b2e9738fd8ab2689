#include "backend/cpu/native/call_code.h"

#include <algorithm>

#include "backend/cpu/gemm/small_product.h"
#include "backend/cpu/native/native_context.h"

namespace tuff::cpu::native {

namespace {

// Instructions that a call may become.
constexpr int64_t kMaxCallInsts = 2'000;

// Common to the calls below.
class CallWriter {
 public:
  CallWriter(MachineCode& code, std::span<const MemoryPlace> operands)
      : code_(code), operands_(operands) {
    for (const MemoryPlace& place : operands) bases_.push_back(code_.base(place.base));
  }

 protected:
  // An instruction on `lanes` elements of an operand from this one on.
  Inst memory(Code code, size_t operand, int64_t element, int lanes) const {
    return {.code = code,
            .lanes = static_cast<uint8_t>(lanes),
            .a = bases_[operand],
            .imm = operands_[operand].offset_bytes + element * 4};
  }
  Reg load(Code code, size_t operand, int64_t element, int lanes, bool vector = true) {
    Inst inst = memory(code, operand, element, lanes);
    inst.out = code_.fresh(vector);
    code_.insts.push_back(inst);
    return inst.out;
  }
  void store(size_t operand, int64_t element, int lanes, Reg value) {
    Inst inst = memory(Code::kStore, operand, element, lanes);
    inst.c = value;
    code_.insts.push_back(inst);
  }
  int64_t known_place(size_t operand, int64_t element) const {
    const MemoryPlace& place = operands_[operand];
    return space_of(place.base) + place.offset_bytes + element * 4;
  }
  // out = a op b where out is a variable.
  void set(Code code, int lanes, Reg out, Reg a, Reg b = kNone, Reg c = kNone) {
    code_.insts.push_back({.code = code,
                           .lanes = static_cast<uint8_t>(lanes == 8 ? 8 : 4),
                           .out = out,
                           .a = a,
                           .b = b,
                           .c = c});
  }
  // Calls body(first, lanes) for parts of eight, four, two and one of `count`.
  template <typename Body>
  static void for_each_strip(int64_t count, const Body& body) {
    for (int64_t at = 0; at < count;) {
      int lanes = 8;
      while (lanes > count - at) lanes /= 2;
      body(at, lanes);
      at += lanes;
    }
  }

  MachineCode& code_;

 private:
  std::span<const MemoryPlace> operands_;
  std::vector<Reg> bases_;
};

// Sums in the order of SmallProduct's: fused, from 0 on, and 0 added in the end, which makes -0 0.
class ProductWriter : CallWriter {
 public:
  ProductWriter(MachineCode& code, const MatmulCall& call, std::span<const MemoryPlace> operands)
      : CallWriter(code, operands),
        rows_(rows_of(call)),
        call_(rows_.call),
        result_(operands.size() - 1) {}

  bool write() {
    int64_t strips = 0;
    for_each_strip(call_.n, [&](int64_t, int) { ++strips; });
    int64_t products = num_elements(call_.batch) * call_.m * call_.k * strips;
    bool by_rows = call_.b_col == 1 || call_.n == 1;
    if (!is_small_product(call_, true) || !by_rows || 2 * products > kMaxCallInsts) return false;
    for (int64_t number = 0; number < num_elements(call_.batch); ++number)
      for_each_strip(call_.n, [&](int64_t column, int lanes) {
        for (int64_t row = 0; row < call_.m; row += kRows) tile(number, row, column, lanes);
      });
    return true;
  }

 private:
  static constexpr int64_t kRows = 6;

  void tile(int64_t number, int64_t first, int64_t column, int lanes) {
    int64_t rows = std::min(kRows, call_.m - first);
    Reg zero = code_.constant(Lanes{});
    std::vector<Reg> sums;
    for (int64_t r = 0; r < rows; ++r) {
      sums.push_back(code_.fresh(true));
      set(Code::kMove, lanes, sums.back(), zero);
    }
    int64_t a = call_.a_offset + batch_offset(call_, call_.a_batch_strides, number);
    int64_t b = call_.b_offset + batch_offset(call_, call_.b_batch_strides, number) + column;
    for (int64_t l = 0; l < call_.k; ++l) {
      Reg line = load(Code::kLoad, rows_.b, b + l * call_.b_row, lanes);
      for (int64_t r = 0; r < rows; ++r) {
        Reg factor =
            load(Code::kLoadSpread, rows_.a, a + (first + r) * call_.a_row + l * call_.a_col, 8);
        Reg sum = sums[static_cast<size_t>(r)];
        set(Code::kFma, lanes, sum, factor, line, sum);
      }
    }
    int64_t at = batch_offset(call_, call_.c_batch_strides, number) + column;
    for (int64_t r = 0; r < rows; ++r) {
      Reg sum = sums[static_cast<size_t>(r)];
      int64_t place = at + (first + r) * call_.c_row;
      if (!call_.post_ops.empty())
        set(Code::kAddF, lanes, sum, sum,
            load(Code::kLoad, 2, call_.post_ops[0].offset + place, lanes));
      set(Code::kAddF, lanes, sum, sum, zero);
      store(result_, call_.c_offset + place, lanes, sum);
    }
  }

  RowsOfProduct rows_;
  const MatmulCall& call_;
  size_t result_;
};

// Rows that are set or added to, one after another, where they are inside.
class ScatterWriter : CallWriter {
 public:
  ScatterWriter(MachineCode& code, const ScatterCall& call, std::span<const MemoryPlace> operands,
                const KnownMemory& memory)
      : CallWriter(code, operands), call_(call), memory_(memory) {}

  bool write() {
    std::optional<Kind> kind = kind_of(call_.dtype);
    bool known = kind && dtype_size(call_.dtype) == 4 && (!call_.op || *call_.op == Op::kAdd);
    if (!known || call_.width > 512 ||
        call_.outer * call_.count * (4 + call_.width) > kMaxCallInsts / 4)
      return false;
    add_ = *kind == Kind::kFloat ? Code::kAddF : Code::kAdd;
    for (int64_t o = 0; o < call_.outer; ++o)
      for (int64_t i = 0; i < call_.count; ++i) put(o, i);
    return true;
  }

 private:
  static constexpr size_t kTargets = 0, kUpdates = 1, kResult = 2;

  void put(int64_t outer, int64_t update) {
    int64_t inside = code_.label(), end = code_.label();
    Reg row = known_target(update);
    if (row == kNone) row = load(Code::kGLoad, kTargets, update, 1, false);
    code_.insts.push_back({.code = Code::kJumpIf,
                           .condition = Condition::kBelow,
                           .a = row,
                           .imm = inside,
                           .value = call_.span});
    code_.insts.push_back({.code = Code::kJump, .imm = end});
    code_.insts.push_back({.code = Code::kLabel, .imm = inside});
    Reg first = code_.fresh(false);
    code_.insts.push_back({.code = Code::kGMultiply, .out = first, .a = row, .imm = call_.width});
    int64_t from = call_.alike ? 0 : (outer * call_.count + update) * call_.width;
    for_each_strip(call_.width, [&](int64_t at, int lanes) {
      Inst to = memory(Code::kStore, kResult, outer * call_.span * call_.width + at, lanes);
      to.b = first;
      to.scale = 4;
      to.c = known_update(from + at, lanes);
      if (to.c == kNone) to.c = load(Code::kLoad, kUpdates, from + at, lanes);
      if (call_.op) {
        Inst old = to;
        old.code = Code::kLoad;
        old.c = kNone;
        old.out = code_.fresh(true);
        code_.insts.push_back(old);
        Reg sum = code_.fresh(true);
        set(add_, lanes, sum, old.out, to.c);
        to.c = sum;
      }
      code_.insts.push_back(to);
    });
    code_.insts.push_back({.code = Code::kLabel, .imm = end});
  }

  // Registers with what a kernel before has stored; kNone where that is not known.
  Reg known_target(int64_t update) const {
    std::optional<LaneValue> value = memory_.find(known_place(kTargets, update), Kind::kSigned);
    bool plain = value && value->form == LaneValue::Form::kBased && value->lanes[0] == 0;
    return plain ? value->reg : kNone;
  }
  Reg known_update(int64_t element, int lanes) const {
    std::optional<KnownMemory::Found> row =
        memory_.find_row(known_place(kUpdates, element), *kind_of(call_.dtype), lanes);
    bool plain = row && row->value.form == LaneValue::Form::kVector && row->lane == 0;
    return plain ? row->value.reg : kNone;
  }

  const ScatterCall& call_;
  const KnownMemory& memory_;
  Code add_ = Code::kAddF;
};

}  // namespace

bool write_call(MachineCode& code, const Call& call, std::span<const MemoryPlace> operands,
                const KnownMemory& memory) {
  for (const MemoryPlace& place : operands)
    if (!fits_offset(place.offset_bytes)) return false;
  if (const auto* product = std::get_if<MatmulCall>(&call))
    return ProductWriter(code, *product, operands).write();
  const auto* scatter = std::get_if<ScatterCall>(&call);
  return scatter != nullptr && scatter->span * scatter->width < (1 << 28) &&
         ScatterWriter(code, *scatter, operands, memory).write();
}

}  // namespace tuff::cpu::native
