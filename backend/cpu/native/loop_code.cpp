#include "backend/cpu/native/loop_code.h"

#include <algorithm>
#include <bit>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/call_code.h"
#include "backend/cpu/native/encode.h"
#include "backend/cpu/native/kernel_code.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff::cpu::native {

namespace {

// Copies of more bytes are called.
constexpr int64_t kMaxCopyBytes = 1024;
constexpr size_t kMaxLoopInsts = 40'000;

// Writes the steps of a loop, one after another.
class LoopWriter {
 public:
  LoopWriter(const Program& program, const std::function<bool(const Step&)>& small,
             int vector_lanes)
      : program_(program), small_(small), code_(vector_lanes) {}

  bool write(const Step& step) {
    root_ = &step;
    count(write_step(step));
    return native_kernels_ > 0 && code_.insts.size() <= kMaxLoopInsts;
  }
  MachineCode& code() { return code_; }
  std::vector<const Step*> take_called() { return std::move(called_); }
  int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  void write_steps(const Steps& steps) {
    int64_t dispatches = 0;
    for (const Step& step : steps) {
      if (code_.insts.size() > kMaxLoopInsts) return;
      dispatches += write_step(step);
    }
    count(dispatches);
  }

  void count(int64_t dispatches) {
    if (dispatches > 0) code_.insts.push_back({.code = Code::kCount, .value = dispatches});
  }

  // How many kernels of its own the step has become code of.
  int64_t write_step(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kWhile:
        // Rounds are counted in 32 bits.
        if (step.trip_count && *step.trip_count > INT32_MAX) break;
        write_while(step);
        return 0;
      case Step::Kind::kCase: write_case(step); return 0;
      case Step::Kind::kDispatch:
        if (small_(step) && write_kernel(step)) return 1;
        break;
      case Step::Kind::kCopy:
        if (write_copy(step)) return 0;
        break;
      case Step::Kind::kCall:
        if (write_small_call(step)) return 1;
        break;
      default: break;
    }
    write_call(step);
    return 0;
  }

  MemoryPlace place(const Range& range) const {
    bool arena = range.space == Range::Space::kArena;
    return {base_of(program_, range), arena ? range.offset_bytes : 0};
  }

  std::vector<MemoryPlace> places(const Step& step) const {
    std::vector<MemoryPlace> found;
    for (const Range& range : step.bindings) found.push_back(place(range));
    return found;
  }

  bool write_small_call(const Step& step) {
    size_t before = code_.insts.size();
    if (!native::write_call(code_, step.call, places(step), memory_)) {
      code_.cut(before);
      return false;
    }
    for (const Range& range : step.bindings) {
      const MemoryPlace operand = place(range);
      memory_.forget(space_of(operand.base) + operand.offset_bytes, range.size_bytes);
    }
    return true;
  }

  bool write_kernel(const Step& step) {
    const Kernel& kernel = program_.kernels[step.kernel];
    std::vector<MemoryPlace> buffers = places(step);
    size_t before = code_.insts.size();
    if (!KernelCode(code_, kernel, step.params, buffers, {kScratchBase, 0}, memory_).write()) {
      memory_.forget_all();
      code_.cut(before);
      return false;
    }
    // Kernels run one after another, so all have their arrays in one place.
    scratch_bytes_ = std::max(scratch_bytes_, native::scratch_bytes(kernel));
    ++native_kernels_;
    return true;
  }

  // By one instruction, out of the register that holds it.
  static bool is_storable(const KnownMemory::Row& row) {
    if (row.size != 4 || !std::has_single_bit(static_cast<uint64_t>(row.lanes))) return false;
    return row.value.form == LaneValue::Form::kVector ||
           (row.value.form == LaneValue::Form::kBased && row.lanes == 1 && row.value.lanes[0] == 0);
  }

  bool write_copy(const Step& step) {
    MemoryPlace from = place(step.bindings[0]), to = place(step.bindings[1]);
    int64_t size = step.bindings[0].size_bytes;
    constexpr int64_t kFar = 1 << 30;
    if (size > kMaxCopyBytes || from.offset_bytes > kFar || to.offset_bytes > kFar) return false;
    Reg source = code_.base(from.base), target = code_.base(to.base);
    const int64_t read = space_of(from.base) + from.offset_bytes;
    const int64_t written = space_of(to.base) + to.offset_bytes;
    memory_.forget(written, size);
    auto store = [&](Code code, int64_t lanes, int64_t at, Reg value) {
      code_.insts.push_back({.code = code,
                             .lanes = static_cast<uint8_t>(lanes),
                             .a = target,
                             .c = value,
                             .imm = to.offset_bytes + at});
    };
    int64_t at = 0;
    while (size - at >= 4) {
      std::optional<KnownMemory::Row> row = memory_.row_at(read + at);
      if (row && is_storable(*row) && row->lanes * 4 <= size - at) {
        store(row->value.form == LaneValue::Form::kVector ? Code::kStore : Code::kGStore,
              row->lanes, at, row->value.reg);
        memory_.set(written + at, row->size, row->lanes, row->value);
        at += row->lanes * 4;
        continue;
      }
      const auto lanes = static_cast<uint8_t>(
          std::bit_floor(std::min<uint64_t>(static_cast<uint64_t>(size - at) / 4, 8)));
      Reg value = code_.fresh(true);
      code_.insts.push_back({.code = Code::kLoad,
                             .lanes = lanes,
                             .out = value,
                             .a = source,
                             .imm = from.offset_bytes + at});
      store(Code::kStore, lanes, at, value);
      at += lanes * 4;
    }
    for (; at < size; ++at) {
      Reg value = code_.fresh(false);
      code_.insts.push_back(
          {.code = Code::kGLoadByte, .out = value, .a = source, .imm = from.offset_bytes + at});
      code_.insts.push_back(
          {.code = Code::kGStoreByte, .a = target, .c = value, .imm = to.offset_bytes + at});
    }
    return true;
  }

  void write_call(const Step& step) {
    memory_.forget_all();
    code_.insts.push_back({.code = Code::kCallStep, .value = static_cast<int64_t>(called_.size())});
    called_.push_back(&step);
  }

  // The predicate of a while, the index of a case.
  Reg load_index(const Range& range) {
    MemoryPlace from = place(range);
    Kind kind = range.size_bytes == 1 ? Kind::kBool : Kind::kSigned;
    std::optional<LaneValue> known = memory_.find(space_of(from.base) + from.offset_bytes, kind);
    if (known && known->form == LaneValue::Form::kBased && known->lanes[0] == 0) return known->reg;
    Reg base = code_.base(from.base), index = code_.fresh(false);
    code_.insts.push_back({.code = range.size_bytes == 1 ? Code::kGLoadByte : Code::kGLoad,
                           .out = index,
                           .a = base,
                           .imm = from.offset_bytes});
    return index;
  }
  void set_label(int64_t label) {
    code_.insts.push_back({.code = Code::kLabel, .imm = label});
    memory_.forget_all();
  }
  void jump_if(Condition condition, Reg a, int64_t value, int64_t label) {
    code_.insts.push_back(
        {.code = Code::kJumpIf, .condition = condition, .a = a, .imm = label, .value = value});
  }

  // Calls leave registers as they like, so rounds are counted on the stack.
  void write_while(const Step& step) {
    int64_t begin = code_.label(), end = code_.label();
    Reg left = code_.fresh(false);
    int64_t slot = 0;
    if (step.trip_count) {
      if (&step == root_)
        code_.insts.push_back(
            {.code = Code::kGContext, .out = left, .imm = offsetof(NativeContext, rounds)});
      else
        code_.insts.push_back({.code = Code::kGMove, .out = left, .imm = *step.trip_count});
      slot = code_.stack_slot();
      jump_if(Condition::kLessEqual, left, 0, end);
      code_.insts.push_back({.code = Code::kGStore, .a = kStack, .c = left, .imm = slot});
    }
    set_label(begin);
    if (!step.trip_count) {
      write_steps(step.blocks[0]);
      jump_if(Condition::kEqual, load_index(step.bindings[0]), 0, end);
    }
    write_steps(step.blocks[1]);
    if (step.trip_count) {
      Reg now = code_.fresh(false), next = code_.fresh(false);
      code_.insts.push_back({.code = Code::kGLoad, .out = now, .a = kStack, .imm = slot});
      code_.insts.push_back({.code = Code::kGAdd, .out = next, .a = now, .imm = -1});
      code_.insts.push_back({.code = Code::kGStore, .a = kStack, .c = next, .imm = slot});
      jump_if(Condition::kNotEqual, next, 0, begin);
    } else {
      code_.insts.push_back({.code = Code::kJump, .imm = begin});
    }
    set_label(end);
  }

  void write_case(const Step& step) {
    Reg index = load_index(step.bindings[0]);
    int64_t end = code_.label();
    for (size_t i = 0; i < step.blocks.size(); ++i) {
      int64_t next = code_.label();
      bool last = i + 1 == step.blocks.size();
      if (!last) jump_if(Condition::kNotEqual, index, static_cast<int64_t>(i), next);
      write_steps(step.blocks[i]);
      if (!last) code_.insts.push_back({.code = Code::kJump, .imm = end});
      set_label(next);
    }
    set_label(end);
  }

  const Program& program_;
  const std::function<bool(const Step&)>& small_;
  const Step* root_ = nullptr;
  MachineCode code_;
  KnownMemory memory_;
  std::vector<const Step*> called_;
  int64_t scratch_bytes_ = 0;
  int64_t native_kernels_ = 0;
};

}  // namespace

bool has_native_code() { return can_encode(); }

int64_t base_of(const Program& program, const Range& range) {
  auto arguments = static_cast<int64_t>(program.arguments.size());
  auto outputs = static_cast<int64_t>(program.outputs.size());
  switch (range.space) {
    case Range::Space::kArena: return kArenaBase;
    case Range::Space::kArgument: return kFirstBase + range.index;
    case Range::Space::kOutput: return kFirstBase + arguments + range.index;
    default: return kFirstBase + arguments + outputs + range.index;
  }
}

int64_t num_bases(const Program& program) {
  return kFirstBase + static_cast<int64_t>(program.arguments.size() + program.outputs.size() +
                                           program.constants.size());
}

bool is_loop_kernel(const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& stmt) { found |= stmt.kind == Stmt::Kind::kWhile; });
  return found;
}

std::optional<LoopCode> LoopCode::compile(const Program& program, const Step& step,
                                          const std::function<bool(const Step&)>& small,
                                          int vector_lanes) {
  if (!can_encode()) return std::nullopt;
  if (step.trip_count && *step.trip_count > INT32_MAX) return std::nullopt;
  LoopWriter writer(program, small, vector_lanes);
  if (!writer.write(step)) return std::nullopt;
  Allocation allocation = allocate_registers(writer.code());
  LoopCode loop;
  loop.memory_ = CodeMemory::holding(encode(writer.code(), allocation));
  loop.called_ = writer.take_called();
  loop.scratch_bytes_ = writer.scratch_bytes();
  if (loop.memory_.empty()) return std::nullopt;
  return loop;
}

}  // namespace tuff::cpu::native
