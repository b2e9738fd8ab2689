#include "backend/cpu/kernels/kernel_program.h"

#include <algorithm>
#include <map>

#include "backend/cpu/kernels/slot.h"
#include "backend/cpu/kernels/slot_memory.h"

namespace tuff::cpu {

namespace {

int64_t align_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Integer types whose values may stay affine in the lane.
bool is_index_type(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

// Ops that fold_affine knows.
bool folds(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kNegate:
    case Op::kIndexDiv:
    case Op::kDivide:
    case Op::kRemainder:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
    case Op::kGt:
    case Op::kGe: return true;
    default: return false;
  }
}

// Translates statements in order; one pass.
class Translator {
 public:
  Translator(const Kernel& kernel, const LaneTable& table) : kernel_(kernel) {
    program_.family = kernel.family;
    program_.table = &table;
    program_.lanes = kernel.lanes;
    program_.buffers = kernel.buffers;
    program_.num_params = kernel.num_params;
    program_.first_param = kernel.num_values;
    program_.slots.resize(kernel.num_values + kernel.num_params);
    uniform_.resize(program_.slots.size(), true);
  }

  Result<KernelProgram> run() {
    for (const GridLoop& loop : kernel_.grid) {
      program_.grid_vars.push_back(define(loop.var, DType::kI32, true));
      program_.grid_extents.push_back(slot(loop.extent));
    }
    TUFF_RETURN_IF_ERROR(block(kernel_.body));
    emit({.code = Instr::Code::kEnd});
    sink_to_stores(program_);
    mark_forwards(program_);
    mark_copies(program_);
    place_arrays();
    place_slots(program_);
    return std::move(program_);
  }

 private:
  uint32_t emit(Instr instr) {
    instr.size = static_cast<uint8_t>(dtype_size(instr.dtype));
    program_.code.push_back(instr);
    return static_cast<uint32_t>(program_.code.size() - 1);
  }

  uint32_t define(uint32_t value, DType dtype, bool uniform) {
    program_.slots[value].dtype = dtype;
    uniform_[value] = uniform;
    // The offset is chosen in place_slots; any value >= 0 says that lanes are needed.
    program_.slots[value].memory_offset = uniform ? -1 : 0;
    return value;
  }

  // A value that the kernel does not have.
  uint32_t fresh_slot(DType dtype, bool uniform) {
    program_.slots.push_back({dtype, uniform ? -1 : 0, 0});
    uniform_.push_back(uniform);
    return static_cast<uint32_t>(program_.slots.size() - 1);
  }

  // Lanes differ only by their number and by what their registers hold.
  bool is_uniform(const Instr& instr) const {
    if (instr.code == Instr::Code::kRead && kernel_.arrays[instr.target].scope == Scope::kRegister)
      return false;
    for (int i = 0; i < instr.arity; ++i)
      if (!uniform_[instr.in[i]]) return false;
    return true;
  }

  uint32_t slot(const Operand& operand) {
    if (operand.kind == Operand::Kind::kValue) return operand.id;
    if (operand.kind == Operand::Kind::kParam) return program_.first_param + operand.id;
    auto [it, fresh] = immediates_.try_emplace({operand.dtype, operand.bits}, 0);
    if (fresh) {
      int64_t initial = canonical_bits(operand.dtype, static_cast<int64_t>(operand.bits));
      it->second = static_cast<uint32_t>(program_.slots.size());
      program_.slots.push_back({operand.dtype, -1, initial});
      uniform_.push_back(true);
    }
    return it->second;
  }

  Status block(const Block& body) {
    for (const Stmt& stmt : body) TUFF_RETURN_IF_ERROR(statement(stmt));
    return {};
  }

  Instr simple(const Stmt& stmt, Instr::Code code) {
    Instr instr;
    instr.code = code;
    instr.dtype = stmt.dtype;
    instr.target = stmt.target;
    instr.arity = static_cast<uint8_t>(stmt.operands.size());
    for (size_t i = 0; i < stmt.operands.size(); ++i) instr.in[i] = slot(stmt.operands[i]);
    return instr;
  }

  Status statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::kSerial:
      case Stmt::Kind::kUnroll: return loop(stmt, Instr::Code::kLoopBegin, Instr::Code::kLoopEnd);
      case Stmt::Kind::kWhile: return repeat(stmt);
      case Stmt::Kind::kLane: return lane_loop(stmt);
      case Stmt::Kind::kReduceLanes: return reduce(stmt);
      case Stmt::Kind::kMatrixClear:
      case Stmt::Kind::kMatrixMultiply:
      case Stmt::Kind::kMatrixStore:
        return Error{ErrorCode::kUnsupported, "The CPU has no matrices that subgroups hold.",
                     kernel_.family};
      case Stmt::Kind::kBarrier:
      case Stmt::Kind::kIf:
      case Stmt::Kind::kBreakUnless: return no_loop_steps();
      case Stmt::Kind::kCompute: return compute(stmt);
      case Stmt::Kind::kConvert: return convert(stmt);
      case Stmt::Kind::kBitcast: return let(stmt, simple(stmt, Instr::Code::kCopy));
      case Stmt::Kind::kPack: return pack(stmt);
      case Stmt::Kind::kLoad: return let(stmt, simple(stmt, Instr::Code::kLoad));
      case Stmt::Kind::kLoadWord: return load_word(stmt);
      case Stmt::Kind::kRead: return let(stmt, simple(stmt, Instr::Code::kRead));
      case Stmt::Kind::kStore: {
        Instr instr = simple(stmt, Instr::Code::kStore);
        instr.dtype = kernel_.buffers[stmt.target].dtype;
        emit(instr);
        return {};
      }
      case Stmt::Kind::kStoreWord: return store_word(stmt);
      case Stmt::Kind::kWrite: {
        Instr instr = simple(stmt, Instr::Code::kWrite);
        instr.dtype = kernel_.arrays[stmt.target].dtype;
        emit(instr);
        return {};
      }
    }
    return {};
  }

  Error no_loop_steps() const {
    return {ErrorCode::kUnsupported, "The CPU runs the steps of a loop by themselves.",
            kernel_.family};
  }

  Status let(const Stmt& stmt, Instr instr) {
    bool uniform = is_uniform(instr);
    if (uniform) make_scalar(instr);
    instr.out = define(stmt.result, stmt.dtype, uniform);
    emit(instr);
    return {};
  }

  static void make_scalar(Instr& instr) {
    if (instr.code == Instr::Code::kLoad && instr.arity == 1) instr.code = Instr::Code::kScalarLoad;
    if (instr.code != Instr::Code::kCompute || instr.dtype != DType::kI32) return;
    if (instr.op == Op::kAdd) instr.code = Instr::Code::kScalarAdd;
    if (instr.op == Op::kSubtract) instr.code = Instr::Code::kScalarSubtract;
    if (instr.op == Op::kMultiply) instr.code = Instr::Code::kScalarMultiply;
  }

  Status compute(const Stmt& stmt) {
    Instr instr = simple(stmt, Instr::Code::kCompute);
    instr.op = stmt.op;
    instr.in_dtype = compute_dtype(stmt.op, stmt.operands[0].dtype, stmt.dtype);
    instr.variants =
        program_.table->compute[static_cast<int>(stmt.op)][static_cast<int>(instr.in_dtype)];
    if (instr.variants[0] == nullptr)
      return Error{ErrorCode::kUnsupported,
                   std::string("The op (") + op_name(stmt.op) + ") is not defined for (" +
                       dtype_name(instr.in_dtype) + ") on the CPU.",
                   kernel_.family};
    instr.affine = stmt.op == Op::kSelect || (is_index_type(instr.in_dtype) && folds(stmt.op));
    if (op_info(stmt.op).type_rule == TypeRule::kTotalOrder &&
        dtype_size(stmt.dtype) != dtype_size(instr.in_dtype))
      return widened_order(stmt, instr);
    return let(stmt, instr);
  }

  // One load for each element.
  Status load_word(const Stmt& stmt) {
    auto per_word = static_cast<int64_t>(stmt.results.size());
    TUFF_ASSIGN(Operand first, combine(Op::kMultiply, stmt.operands[0], Operand::i32(per_word)));
    for (int64_t i = 0; i < per_word; ++i) {
      Stmt load;
      load.kind = Stmt::Kind::kLoad;
      load.dtype = stmt.dtype;
      load.target = stmt.target;
      load.result = stmt.results[static_cast<size_t>(i)];
      TUFF_ASSIGN(Operand element, combine(Op::kAdd, first, Operand::i32(i)));
      load.operands = {element};
      if (stmt.operands.size() > 1) {
        load.operands.push_back(stmt.operands[1]);
        load.operands.push_back(Operand::immediate(stmt.dtype, 0));
      }
      TUFF_RETURN_IF_ERROR(let(load, simple(load, Instr::Code::kLoad)));
    }
    return {};
  }

  Status store_word(const Stmt& stmt) {
    int64_t per_word = kernel_.buffers[stmt.target].per_word;
    TUFF_ASSIGN(Operand first, combine(Op::kMultiply, stmt.operands[0], Operand::i32(per_word)));
    for (int64_t i = 0; i < per_word; ++i) {
      Stmt store;
      store.kind = Stmt::Kind::kStore;
      store.target = stmt.target;
      TUFF_ASSIGN(Operand element, combine(Op::kAdd, first, Operand::i32(i)));
      store.operands = {element, stmt.operands[static_cast<size_t>(1 + i)]};
      if (static_cast<int64_t>(stmt.operands.size()) > 1 + per_word)
        store.operands.push_back(stmt.operands.back());
      TUFF_RETURN_IF_ERROR(statement(store));
    }
    return {};
  }

  // An index that the kernel does not have.
  Result<Operand> combine(Op op, const Operand& a, const Operand& b) {
    return step(Stmt::Kind::kCompute, op, DType::kI32, {a, b});
  }

  // A statement that the kernel does not have.
  Result<Operand> step(Stmt::Kind kind, Op op, DType dtype, std::vector<Operand> operands) {
    Stmt stmt;
    stmt.kind = kind;
    stmt.op = op;
    stmt.dtype = dtype;
    stmt.operands = std::move(operands);
    stmt.result = fresh_slot(dtype, true);
    TUFF_RETURN_IF_ERROR(statement(stmt));
    return Operand::value(stmt.result, dtype);
  }

  Status pack(Stmt stmt) {
    for (Operand& half : stmt.operands) {
      TUFF_ASSIGN(half, step(Stmt::Kind::kBitcast, {}, DType::kU32, {half}));
      TUFF_ASSIGN(half, step(Stmt::Kind::kConvert, {}, DType::kU64, {half}));
    }
    const Operand bits = Operand::immediate(DType::kU64, 32);
    TUFF_ASSIGN(stmt.operands[1],
                step(Stmt::Kind::kCompute, Op::kShiftLeft, DType::kU64, {stmt.operands[1], bits}));
    stmt.kind = Stmt::Kind::kCompute;
    stmt.op = Op::kOr;
    return compute(stmt);
  }

  // total_order gives an integer of the float's width; the statement may ask for a
  // wider one.
  Status widened_order(const Stmt& stmt, Instr order) {
    DType narrow = dtype_size(order.in_dtype) == 2   ? DType::kI16
                   : dtype_size(order.in_dtype) == 4 ? DType::kI32
                                                     : DType::kI64;
    order.dtype = narrow;
    order.out = fresh_slot(narrow, is_uniform(order));
    emit(order);
    return let(
        stmt,
        {.code = Instr::Code::kConvert,
         .dtype = stmt.dtype,
         .in_dtype = narrow,
         .arity = 1,
         .in = {order.out},
         .convert =
             program_.table->convert[static_cast<int>(narrow)][static_cast<int>(stmt.dtype)]});
  }

  Status convert(const Stmt& stmt) {
    Instr instr = simple(stmt, Instr::Code::kConvert);
    instr.in_dtype = stmt.operands[0].dtype;
    instr.convert =
        program_.table->convert[static_cast<int>(instr.in_dtype)][static_cast<int>(instr.dtype)];
    instr.affine = is_index_type(instr.in_dtype) && is_index_type(instr.dtype);
    return let(stmt, instr);
  }

  Status loop(const Stmt& stmt, Instr::Code begin_code, Instr::Code end_code) {
    Instr instr = simple(stmt, begin_code);
    instr.dtype = DType::kI32;
    // An extent that differs between lanes: the whole lane loop runs lane by lane.
    bool lane = begin_code == Instr::Code::kLaneBegin, same = uniform_[instr.in[0]];
    if (!lane && !same) program_.code[lane_begin_].block = 1;
    instr.out = define(stmt.result, DType::kI32, !lane && same);
    uint32_t begin = emit(instr);
    TUFF_RETURN_IF_ERROR(block(stmt.body));
    program_.code[begin].jump = emit({.code = end_code, .jump = begin});
    return {};
  }

  Status repeat(const Stmt& stmt) {
    uint32_t begin = emit({.code = Instr::Code::kWhileBegin, .target = stmt.target});
    TUFF_RETURN_IF_ERROR(block(stmt.body));
    program_.code[begin].jump = emit({.code = Instr::Code::kWhileEnd, .jump = begin});
    return {};
  }

  Status lane_loop(const Stmt& stmt) {
    lane_begin_ = static_cast<uint32_t>(program_.code.size());
    return loop(stmt, Instr::Code::kLaneBegin, Instr::Code::kLaneEnd);
  }

  // The combiner's values live in lanes: pairs of lanes are combined block-wise.
  Status reduce(const Stmt& stmt) {
    if (stmt.target != 0) return no_loop_steps();
    Reduction reduction;
    reduction.arrays = stmt.arrays;
    for (size_t i = 0; i < stmt.results.size(); ++i)
      reduction.results.push_back(
          define(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype, true));
    uint32_t begin = emit({.code = Instr::Code::kReduce,
                           .target = static_cast<uint32_t>(program_.reductions.size())});
    program_.reductions.emplace_back();
    for (size_t i = 0; i < stmt.lhs.size(); ++i) {
      DType dtype = kernel_.arrays[stmt.arrays[i]].dtype;
      reduction.lhs.push_back(define(stmt.lhs[i], dtype, false));
      reduction.rhs.push_back(define(stmt.rhs[i], dtype, false));
    }
    Status status = block(stmt.body);
    // Copies: an output may be an input itself, which the next one still reads.
    for (size_t i = 0; i < stmt.operands.size(); ++i) {
      DType dtype = kernel_.arrays[stmt.arrays[i]].dtype;
      reduction.outputs.push_back(fresh_slot(dtype, false));
      emit({.code = Instr::Code::kCopy,
            .dtype = dtype,
            .arity = 1,
            .copy = true,
            .out = reduction.outputs.back(),
            .in = {slot(stmt.operands[i])}});
    }
    reduction.combine = single_combiner(stmt);
    program_.reductions[program_.code[begin].target] = std::move(reduction);
    program_.code[begin].jump = emit({.code = Instr::Code::kReduceEnd, .jump = begin});
    return status;
  }

  // Commutative, so either order of the sides will do.
  LaneFn single_combiner(const Stmt& stmt) const {
    if (stmt.arrays.size() != 1 || stmt.body.size() != 1) return nullptr;
    const Stmt& only = stmt.body[0];
    bool sides = only.kind == Stmt::Kind::kCompute && only.operands.size() == 2 &&
                 stmt.operands[0] == Operand::value(only.result, only.dtype);
    Operand lhs = Operand::value(stmt.lhs[0], only.dtype);
    Operand rhs = Operand::value(stmt.rhs[0], only.dtype);
    if (!sides || !((only.operands[0] == lhs && only.operands[1] == rhs) ||
                    (only.operands[0] == rhs && only.operands[1] == lhs)))
      return nullptr;
    return program_.table->compute[static_cast<int>(only.op)][static_cast<int>(only.dtype)][0];
  }

  void place_arrays() {
    int64_t offset = 0;
    auto take = [&](int64_t bytes) {
      int64_t at = offset;
      offset += align_up(bytes);
      return at;
    };
    for (const ArrayDecl& decl : kernel_.arrays) {
      int64_t lanes = decl.scope == Scope::kRegister ? kernel_.lanes : 1;
      int64_t size = dtype_size(decl.dtype);
      program_.arrays.push_back({decl, take(decl.count * lanes * size), lanes, size});
    }
    for (Reduction& reduction : program_.reductions)
      for (uint32_t id : reduction.arrays)
        reduction.scratch_offsets.push_back(
            take(kernel_.lanes * dtype_size(kernel_.arrays[id].dtype)));
    program_.spread_offset = take(3 * 8 * std::min(kMaxBlock, kernel_.lanes));
    program_.scratch_bytes = offset;
  }

  const Kernel& kernel_;
  KernelProgram program_;
  std::map<std::pair<DType, uint64_t>, uint32_t> immediates_;
  std::vector<bool> uniform_;  // by slot: the same in all lanes of any block
  uint32_t lane_begin_ = 0;
};

}  // namespace

Result<KernelProgram> prepare_kernel(const Kernel& kernel, const LaneTable& table) {
  return Translator(kernel, table).run();
}

}  // namespace tuff::cpu
