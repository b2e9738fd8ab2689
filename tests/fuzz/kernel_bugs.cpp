#include "tests/fuzz/kernel_bugs.h"

#include <functional>
#include <map>
#include <vector>

#include "shaders/kernel/kernel_text.h"

namespace tuff::fuzz {

namespace {

bool is_narrow_float(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

void for_each(Block& block, const std::function<void(Block&, size_t)>& visit) {
  for (size_t i = 0; i < block.size(); ++i) {
    for_each(block[i].body, visit);
    visit(block, i);
  }
}

void sow_index(Kernel& kernel) {
  Block* last_block = nullptr;
  size_t last = 0;
  for_each(kernel.body, [&](Block& block, size_t i) {
    if (block[i].kind != Stmt::Kind::kLoad) return;
    last_block = &block;
    last = i;
  });
  if (!last_block) return;
  Stmt next;
  next.kind = Stmt::Kind::kCompute;
  next.op = Op::kAdd;
  next.dtype = DType::kI32;
  next.result = kernel.num_values++;
  next.operands = {(*last_block)[last].operands[0], Operand::i32(1)};
  (*last_block)[last].operands[0] = Operand::value(next.result, DType::kI32);
  last_block->insert(last_block->begin() + static_cast<ptrdiff_t>(last), std::move(next));
}

void sow_guard(Kernel& kernel) {
  for_each(kernel.body, [](Block& block, size_t i) {
    Stmt& stmt = block[i];
    if (stmt.kind == Stmt::Kind::kLoad) stmt.operands.resize(1);
    if (stmt.kind == Stmt::Kind::kStore) stmt.operands.resize(2);
  });
}

// Computes of narrow floats run in f32 on each other's unrounded results; a rounded copy
// is made for what is no such compute.
class SkipRounding {
 public:
  explicit SkipRounding(Kernel& kernel) : kernel_(kernel) {}

  void run(Block& block) {
    Block out;
    for (Stmt& stmt : block) {
      run(stmt.body);
      bool narrow = stmt.kind == Stmt::Kind::kCompute && is_narrow_float(stmt.dtype);
      for (const Operand& operand : stmt.operands)
        narrow = narrow && is_narrow_float(operand.dtype);
      if (!narrow) {
        out.push_back(std::move(stmt));
        continue;
      }
      uint32_t rounded = stmt.result;
      DType dtype = stmt.dtype;
      for (Operand& operand : stmt.operands) operand = widened(operand, out);
      stmt.dtype = DType::kF32;
      stmt.result = kernel_.num_values++;
      wide_[rounded] = stmt.result;
      Operand result = Operand::value(stmt.result, DType::kF32);
      out.push_back(std::move(stmt));
      convert(result, dtype, rounded, out);
    }
    block = std::move(out);
  }

 private:
  static void convert(Operand from, DType to, uint32_t result, Block& out) {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kConvert;
    stmt.dtype = to;
    stmt.result = result;
    stmt.operands = {from};
    out.push_back(std::move(stmt));
  }

  Operand widened(const Operand& operand, Block& out) {
    auto found = wide_.find(operand.id);
    if (operand.kind == Operand::Kind::kValue && found != wide_.end())
      return Operand::value(found->second, DType::kF32);
    uint32_t id = kernel_.num_values++;
    convert(operand, DType::kF32, id, out);
    return Operand::value(id, DType::kF32);
  }

  Kernel& kernel_;
  std::map<uint32_t, uint32_t> wide_;  // value: its unrounded twin
};

}  // namespace

std::shared_ptr<const Program> sow(std::shared_ptr<const Program> program, Bug bug) {
  if (bug == Bug::kNone) return program;
  auto changed = std::make_shared<Program>(*program);
  for (size_t i = 0; i < changed->kernels.size(); ++i) {
    Kernel& kernel = changed->kernels[i];
    if (bug == Bug::kIndex) sow_index(kernel);
    if (bug == Bug::kGuard) sow_guard(kernel);
    if (bug == Bug::kRounding) SkipRounding(kernel).run(kernel.body);
    changed->kernel_keys[i] = print_kernel(kernel);
  }
  return changed;
}

}  // namespace tuff::fuzz
