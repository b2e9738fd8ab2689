#include "shaders/kernel/join_kernels.h"

#include <algorithm>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

void rename_value(Operand& operand, std::span<const int32_t> params, uint32_t first_value) {
  if (operand.kind == Operand::Kind::kValue) operand.id += first_value;
  if (operand.kind == Operand::Kind::kParam) operand = Operand::i32(params[operand.id]);
}

Stmt make_stmt(Stmt::Kind kind, std::vector<Operand> operands = {}) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.operands = std::move(operands);
  return stmt;
}

Stmt make_compute(Op op, DType dtype, std::vector<Operand> operands) {
  Stmt stmt = make_stmt(Stmt::Kind::kCompute, std::move(operands));
  stmt.op = op;
  stmt.dtype = dtype;
  return stmt;
}

bool names_buffer(Stmt::Kind kind) {
  return kind == Stmt::Kind::kLoad || kind == Stmt::Kind::kLoadWord || kind == Stmt::Kind::kStore ||
         kind == Stmt::Kind::kStoreWord;
}

bool names_array(Stmt::Kind kind) {
  return kind == Stmt::Kind::kRead || kind == Stmt::Kind::kWrite || kind == Stmt::Kind::kWhile;
}

}  // namespace

KernelJoiner::KernelJoiner(int64_t lanes) : open_(1) { kernel_.lanes = lanes; }

uint32_t KernelJoiner::add_buffer(const BufferDecl& buffer) {
  kernel_.buffers.push_back(buffer);
  return static_cast<uint32_t>(kernel_.buffers.size() - 1);
}

void KernelJoiner::add_kernel(const Kernel& kernel, std::span<const int32_t> params,
                              std::span<const uint32_t> buffers) {
  uint32_t first_value = kernel_.num_values;
  kernel_.num_values += kernel.num_values;
  std::vector<uint32_t> arrays;
  for (const ArrayDecl& array : kernel.arrays) {
    arrays.push_back(static_cast<uint32_t>(kernel_.arrays.size()));
    kernel_.arrays.push_back(array);
  }
  for (const GridLoop& loop : kernel.grid) {
    Operand extent = loop.extent;
    rename_value(extent, params, first_value);
    open(Stmt::Kind::kSerial, extent, loop.var + first_value);
  }
  Block body = kernel.body;
  rename(body, params, buffers, arrays, first_value);
  if (kernel.lanes < kernel_.lanes)
    for_each_stmt(body, [&](Stmt& stmt) {
      if (stmt.kind == Stmt::Kind::kReduceLanes) stmt.target = static_cast<uint32_t>(kernel.lanes);
    });
  std::move(body.begin(), body.end(), std::back_inserter(block()));
  for (size_t i = 0; i < kernel.grid.size(); ++i) end();
}

void KernelJoiner::rename(Block& body, std::span<const int32_t> params,
                          std::span<const uint32_t> buffers, std::span<const uint32_t> arrays,
                          uint32_t first_value) const {
  for_each_stmt(body, [&](Stmt& stmt) {
    for (Operand& operand : stmt.operands) rename_value(operand, params, first_value);
    stmt.result += first_value;
    if (names_buffer(stmt.kind)) stmt.target = buffers[stmt.target];
    if (names_array(stmt.kind)) stmt.target = arrays[stmt.target];
    for (uint32_t& array : stmt.arrays) array = arrays[array];
    for (auto* values : {&stmt.results, &stmt.lhs, &stmt.rhs})
      for (uint32_t& value : *values) value += first_value;
  });
}

void KernelJoiner::add_copy(uint32_t from, uint32_t to, int64_t count) {
  int64_t lanes = kernel_.lanes;
  Operand round = open(Stmt::Kind::kSerial, Operand::i32((count + lanes - 1) / lanes));
  Operand base = compute(Op::kMultiply, round, Operand::i32(lanes));
  Operand left = compute(Op::kSubtract, Operand::i32(count), base);
  Operand here = compute(Op::kMinimum, left, Operand::i32(lanes));
  Operand lane = open(Stmt::Kind::kLane, here);
  Operand at = compute(Op::kAdd, base, lane);
  Operand element = load(from, at);
  Stmt store = make_stmt(Stmt::Kind::kStore, {at, element});
  store.target = to;
  block().push_back(std::move(store));
  end();
  end();
}

void KernelJoiner::add_barrier() { block().push_back(make_stmt(Stmt::Kind::kBarrier)); }

void KernelJoiner::begin_loop(const Operand& extent) { open(Stmt::Kind::kSerial, extent); }

void KernelJoiner::leave_unless(uint32_t buffer) {
  Operand goes_on = load(buffer, Operand::i32(0));
  block().push_back(make_stmt(Stmt::Kind::kBreakUnless, {goes_on}));
}

Operand KernelJoiner::load_index(uint32_t buffer) {
  Operand index = load(buffer, Operand::i32(0));
  return index.dtype == DType::kI32 ? index : define(make_stmt(Stmt::Kind::kConvert, {index}));
}

Operand KernelJoiner::is_equal(const Operand& a, int64_t b) {
  return define(make_compute(Op::kEq, DType::kBool, {a, Operand::i32(b)}));
}

Operand KernelJoiner::is_none(const std::vector<Operand>& conditions) {
  Operand any = Operand::boolean(false);
  for (const Operand& condition : conditions)
    any = define(make_compute(Op::kOr, DType::kBool, {any, condition}));
  return define(make_compute(Op::kNot, DType::kBool, {any}));
}

void KernelJoiner::begin_if(const Operand& condition) {
  open_.push_back(make_stmt(Stmt::Kind::kIf, {condition}));
}

Operand KernelJoiner::open(Stmt::Kind kind, const Operand& extent) {
  return open(kind, extent, kernel_.num_values++);
}

Operand KernelJoiner::open(Stmt::Kind kind, const Operand& extent, uint32_t variable) {
  open_.push_back(make_stmt(kind, {extent}));
  open_.back().result = variable;
  return Operand::value(variable, DType::kI32);
}

Operand KernelJoiner::compute(Op op, const Operand& a, const Operand& b) {
  return define(make_compute(op, DType::kI32, {a, b}));
}

Operand KernelJoiner::load(uint32_t buffer, const Operand& at) {
  Stmt stmt = make_stmt(Stmt::Kind::kLoad, {at});
  stmt.dtype = kernel_.buffers[buffer].dtype;
  stmt.target = buffer;
  return define(std::move(stmt));
}

void KernelJoiner::end() {
  Stmt closed = std::move(open_.back());
  open_.pop_back();
  block().push_back(std::move(closed));
}

Operand KernelJoiner::define(Stmt stmt) {
  stmt.result = kernel_.num_values++;
  Operand value = Operand::value(stmt.result, stmt.dtype);
  block().push_back(std::move(stmt));
  return value;
}

Kernel KernelJoiner::finish(std::string family) {
  kernel_.family = std::move(family);
  kernel_.body = std::move(open_[0].body);
  return std::move(kernel_);
}

}  // namespace tuff
