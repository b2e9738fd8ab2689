// verify_kernel: one function per rule, run in an order that lets later rules
// rely on earlier ones. The larger rules have files of their own: kernel_scopes,
// kernel_types, kernel_matrices and kernel_ranges.
#include "shaders/kernel/kernel.h"

#include <fmt/format.h>

#include <cctype>

#include "shaders/kernel/kernel_rules.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

// How many operands a statement of a kind has.
struct Arity {
  size_t least, most;
};

Arity arity(const Kernel& kernel, const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::kSerial:
    case Stmt::Kind::kUnroll:
    case Stmt::Kind::kLane:
    case Stmt::Kind::kConvert:
    case Stmt::Kind::kBitcast:
    case Stmt::Kind::kRead: return {1, 1};
    case Stmt::Kind::kWhile: return {0, 0};
    case Stmt::Kind::kCompute: {
      auto operands = static_cast<size_t>(op_info(stmt.op).min_operands);
      return {operands, operands};
    }
    case Stmt::Kind::kPack: return {2, 2};
    case Stmt::Kind::kLoad: return {1, 3};
    case Stmt::Kind::kLoadWord: return {1, 2};
    case Stmt::Kind::kStore: return {2, 3};
    case Stmt::Kind::kStoreWord: {
      auto elements = static_cast<size_t>(kernel.buffers[stmt.target].per_word);
      return {1 + elements, 2 + elements};
    }
    case Stmt::Kind::kWrite: return {2, 2};
    case Stmt::Kind::kReduceLanes: return {stmt.arrays.size(), stmt.arrays.size()};
    case Stmt::Kind::kMatrixClear:
    case Stmt::Kind::kMatrixMultiply: return {0, 0};
    case Stmt::Kind::kBarrier: return {0, 0};
    case Stmt::Kind::kMatrixStore:
    case Stmt::Kind::kIf:
    case Stmt::Kind::kBreakUnless: return {1, 1};
  }
  return {0, 0};
}

std::string declarations_rule(const Kernel& kernel) {
  if (kernel.family.empty()) return "the family has no name";
  for (char c : kernel.family)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      return "the family's name (" + kernel.family + ") is not a word";
  if (std::isdigit(static_cast<unsigned char>(kernel.family[0])))
    return "the family's name (" + kernel.family + ") begins with a digit";
  if (kernel.lanes < 1) return fmt::format("the lane count ({}) is below 1", kernel.lanes);
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    if (kernel.arrays[i].count < 1)
      return fmt::format("array {} has {} elements", i, kernel.arrays[i].count);
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const BufferDecl& buffer = kernel.buffers[i];
    int64_t bytes = buffer.per_word * dtype_size(buffer.dtype);
    bool fits = bytes == 4 || bytes == 8 || bytes == 16;
    if (buffer.per_word != 1 && (!fits || buffer.per_word < 1))
      return fmt::format("buffer b{} cannot be had as words of {} elements", i, buffer.per_word);
  }
  for (const GridLoop& loop : kernel.grid)
    if (loop.extent.kind == Operand::Kind::kValue || loop.extent.dtype != DType::kI32)
      return fmt::format("the extent of grid loop %{} is not a parameter or an i32", loop.var);
  return "";
}

// Fields: those of the kind are there and name things that exist.
std::string form_rule(const Kernel& kernel, const Stmt& stmt) {
  if (stmt.kind == Stmt::Kind::kCompute &&
      (!is_elementwise(stmt.op) || op_info(stmt.op).type_rule == TypeRule::kNotElementwise))
    return fmt::format("{} is not a plain elementwise op", op_name(stmt.op));
  bool stores_word = stmt.kind == Stmt::Kind::kStoreWord;
  if (stores_word && stmt.target >= kernel.buffers.size()) return "its buffer is not declared";
  auto [least, most] = arity(kernel, stmt);
  size_t count = stmt.operands.size();
  bool half_guarded = stmt.kind == Stmt::Kind::kLoad && count == 2;
  if (count < least || count > most || half_guarded)
    return fmt::format("it has {} operands", count);
  bool reduces = stmt.kind == Stmt::Kind::kReduceLanes;
  bool words = stmt.kind == Stmt::Kind::kLoadWord;
  size_t pairs = stmt.arrays.size();
  if (reduces && (pairs == 0 || stmt.results.size() != pairs || stmt.lhs.size() != pairs ||
                  stmt.rhs.size() != pairs))
    return "arrays, results and the combiner's inputs differ in number";
  if (!reduces && stmt.lhs.size() + stmt.rhs.size() != 0) return "only reduce_lanes has inputs";
  if (!reduces && !words && !stmt.results.empty())
    return "only reduce_lanes and load_word have several results";
  if (!reduces && !is_matrix(stmt.kind) && pairs != 0)
    return "only reduce_lanes and matrices have arrays";
  if (!reduces && !is_scope(stmt.kind) && !stmt.body.empty()) return "it cannot have a body";
  if (stmt.kind == Stmt::Kind::kUnroll && stmt.operands[0].kind != Operand::Kind::kImmediate)
    return "the extent of an unrolled loop is not an immediate";
  bool on_buffer =
      words || stores_word || stmt.kind == Stmt::Kind::kLoad || stmt.kind == Stmt::Kind::kStore;
  bool on_array = stmt.kind == Stmt::Kind::kRead || stmt.kind == Stmt::Kind::kWrite ||
                  stmt.kind == Stmt::Kind::kWhile;
  if (on_buffer && stmt.target >= kernel.buffers.size()) return "its buffer is not declared";
  if (on_array && stmt.target >= kernel.arrays.size()) return "its array is not declared";
  for (uint32_t id : stmt.arrays)
    if (id >= kernel.arrays.size()) return "its array is not declared";
  if (!on_buffer) return "";
  auto per_word = static_cast<size_t>(kernel.buffers[stmt.target].per_word);
  if ((words || stores_word) != (per_word > 1))
    return "words are had from buffers of words, and from no other";
  if (words && stmt.results.size() != per_word) return "it does not define one value an element";
  return "";
}

// Operands by themselves: parameters exist, immediates have no stray bits.
std::string operands_rule(const Kernel& kernel, const Stmt& stmt) {
  for (const Operand& operand : stmt.operands) {
    if (operand.kind == Operand::Kind::kParam &&
        (operand.id >= kernel.num_params || operand.dtype != DType::kI32))
      return fmt::format("parameter p{} is not declared as i32", operand.id);
    if (operand.kind != Operand::Kind::kImmediate) continue;
    int width = operand.dtype == DType::kBool ? 1 : 8 * static_cast<int>(dtype_size(operand.dtype));
    if (width < 64 && operand.bits >> width != 0)
      return fmt::format("an immediate has bits outside {}", dtype_name(operand.dtype));
  }
  return "";
}

std::string access_rule(const Kernel& kernel, const Stmt& stmt) {
  bool loads = stmt.kind == Stmt::Kind::kLoad || stmt.kind == Stmt::Kind::kLoadWord;
  bool stores = stmt.kind == Stmt::Kind::kStore || stmt.kind == Stmt::Kind::kStoreWord;
  if (!loads && !stores) return "";
  Access access = kernel.buffers[stmt.target].access;
  if (loads && access == Access::kWrite) return "it loads from a buffer declared write";
  if (stores && access == Access::kRead) return "it stores to a buffer declared read";
  return "";
}

using StmtRule = std::string (*)(const Kernel&, const Stmt&);

Complaint each_stmt(const Kernel& kernel, StmtRule rule) {
  Complaint first;
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (!first.text.empty()) return;
    first = {rule(kernel, stmt), &stmt};
  });
  return first;
}

// Where a statement stands with respect to lanes.
enum class Around : uint8_t { kWorkgroup, kLane, kOneLane, kCombiner };

std::string lanes_rule(const Kernel& kernel, const Stmt& stmt, Around around) {
  if (around == Around::kCombiner) return is_pure(stmt.kind) ? "" : "a combiner only computes";
  bool in_lane = around != Around::kWorkgroup;
  switch (stmt.kind) {
    case Stmt::Kind::kLane: {
      if (in_lane) return "lane loops do not nest";
      const Operand& extent = stmt.operands[0];
      bool known = extent.kind == Operand::Kind::kImmediate;
      if (known && static_cast<int32_t>(extent.bits) > kernel.lanes)
        return fmt::format("the kernel has {} lanes only", kernel.lanes);
      return "";
    }
    case Stmt::Kind::kWhile:
      if (around != Around::kOneLane) return "a while stands in the loop of a single lane";
      if (kernel.arrays[stmt.target].scope != Scope::kRegister ||
          kernel.arrays[stmt.target].dtype != DType::kBool)
        return "its condition is not a register of i1";
      return "";
    case Stmt::Kind::kReduceLanes:
      if (in_lane) return "reduce_lanes stands between lane loops";
      if (stmt.target > kernel.lanes)
        return fmt::format("the kernel has {} lanes only", kernel.lanes);
      for (uint32_t id : stmt.arrays)
        if (kernel.arrays[id].scope != Scope::kRegister) return "it reduces a shared array";
      return "";
    case Stmt::Kind::kMatrixClear:
    case Stmt::Kind::kMatrixMultiply:
    case Stmt::Kind::kMatrixStore: return in_lane ? "matrices stand between lane loops" : "";
    case Stmt::Kind::kBarrier:
    case Stmt::Kind::kIf:
    case Stmt::Kind::kBreakUnless: return in_lane ? "it stands between lane loops" : "";
    case Stmt::Kind::kRead:
      if (!in_lane && kernel.arrays[stmt.target].scope == Scope::kRegister)
        return "registers are read inside lane loops only";
      return "";
    case Stmt::Kind::kWrite: return in_lane ? "" : "arrays are written inside lane loops only";
    case Stmt::Kind::kStore:
    case Stmt::Kind::kStoreWord: return in_lane ? "" : "stores stand inside lane loops only";
    default: return "";
  }
}

Complaint lanes_rule(const Kernel& kernel, const Block& block, Around around, bool serial) {
  for (const Stmt& stmt : block) {
    std::string text = lanes_rule(kernel, stmt, around);
    if (stmt.kind == Stmt::Kind::kBreakUnless && !serial) text = "there is no loop to leave";
    if (!text.empty()) return {text, &stmt};
    bool leaves = stmt.kind == Stmt::Kind::kSerial || (serial && stmt.kind == Stmt::Kind::kIf);
    bool one = stmt.kind == Stmt::Kind::kLane && stmt.operands[0] == Operand::i32(1);
    Around inside = one                                     ? Around::kOneLane
                    : stmt.kind == Stmt::Kind::kLane        ? Around::kLane
                    : stmt.kind == Stmt::Kind::kReduceLanes ? Around::kCombiner
                                                            : around;
    Complaint complaint = lanes_rule(kernel, stmt.body, inside, leaves);
    if (!complaint.text.empty()) return complaint;
  }
  return {};
}

// As they are written to a shader, where bodies of unrolled loops are repeated.
double count_statements(const Block& block) {
  double count = 0;
  for (const Stmt& stmt : block) {
    bool unrolled = stmt.kind == Stmt::Kind::kUnroll;
    double times = unrolled ? std::max(0, static_cast<int32_t>(stmt.operands[0].bits)) : 1;
    count += 1 + times * count_statements(stmt.body);
  }
  return count;
}

// No kernel of ours comes near, and no driver would come to an end with it.
std::string size_rule(const Kernel& kernel) {
  constexpr double kMaxStatements = 1 << 20;
  double count = count_statements(kernel.body);
  if (count <= kMaxStatements) return "";
  return fmt::format("unrolled, it has {:.0f} statements", count);
}

}  // namespace

Status verify_kernel(const Kernel& kernel) {
  Complaint complaint{declarations_rule(kernel), nullptr};
  auto then = [&](auto&& rule) {
    if (complaint.text.empty()) complaint = rule();
  };
  then([&] { return Complaint{matrices_rule(kernel), nullptr}; });
  then([&] { return each_stmt(kernel, form_rule); });
  then([&] { return each_stmt(kernel, matrix_rule); });
  then([&] { return Complaint{size_rule(kernel), nullptr}; });
  then([&] { return each_stmt(kernel, operands_rule); });
  then([&] { return scope_rule(kernel); });
  then([&] { return each_stmt(kernel, types_rule); });
  then([&] { return each_stmt(kernel, access_rule); });
  then([&] { return lanes_rule(kernel, kernel.body, Around::kWorkgroup, false); });
  then([&] { return ranges_rule(kernel); });
  if (complaint.text.empty()) return {};
  std::string message = fmt::format("The kernel is not valid: {}.", complaint.text);
  if (complaint.stmt != nullptr)
    message += fmt::format("\n{}", print_stmt(kernel, *complaint.stmt));
  return Error{ErrorCode::kRunFailed, std::move(message), "kernel " + kernel.family};
}

}  // namespace tuff
