#include "shaders/kernel/kernel_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

// Shortest decimal that reads back to the same bits, always with a '.' or an
// exponent so that it is never taken for an integer.
template <typename F>
std::string print_finite(F value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string print_float(DType dtype, uint64_t bits) {
  auto half = static_cast<uint16_t>(bits);
  double value = 0;
  switch (dtype) {
    case DType::kF16: value = f16_to_f32(half); break;
    case DType::kBF16: value = bf16_to_f32(half); break;
    case DType::kF32: value = std::bit_cast<float>(static_cast<uint32_t>(bits)); break;
    default: value = std::bit_cast<double>(bits); break;
  }
  if (!std::isfinite(value)) return fmt::format("0x{:0{}x}", bits, 2 * dtype_size(dtype));
  return dtype == DType::kF64 ? print_finite(value) : print_finite(static_cast<float>(value));
}

std::string print_integer(DType dtype, uint64_t bits) {
  if (is_unsigned_int(dtype)) return fmt::format("{}", bits);
  int unused = 64 - 8 * static_cast<int>(dtype_size(dtype));
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

// i32, i1 and finite f32 are known by their looks; other types are written.
std::string print_immediate(DType dtype, uint64_t bits) {
  if (dtype == DType::kBool) return bits != 0 ? "true" : "false";
  std::string text = is_float(dtype) ? print_float(dtype, bits) : print_integer(dtype, bits);
  bool plain = dtype == DType::kI32 || (dtype == DType::kF32 && !text.starts_with("0x"));
  return plain ? text : fmt::format("{} {}", dtype_name(dtype), text);
}

std::string print_operand(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::kValue: return fmt::format("%{}", operand.id);
    case Operand::Kind::kParam: return fmt::format("p{}", operand.id);
    case Operand::Kind::kImmediate: break;
  }
  return print_immediate(operand.dtype, operand.bits);
}

std::string print_operands(const std::vector<Operand>& operands) {
  std::string text;
  for (const Operand& operand : operands)
    text += (text.empty() ? "" : ", ") + print_operand(operand);
  return text;
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string print() {
    line(fmt::format("kernel {} lanes {} params {} {{", kernel_.family, kernel_.lanes,
                     kernel_.num_params));
    ++depth_;
    declarations();
    std::string grid;
    for (const GridLoop& loop : kernel_.grid)
      grid +=
          fmt::format("{} %{} < {}", grid.empty() ? "" : ",", loop.var, print_operand(loop.extent));
    line("grid" + grid + " {");
    block(kernel_.body);
    line("}");
    --depth_;
    line("}");
    return std::move(out_);
  }

  std::string print(const Stmt& stmt) {
    statement(stmt);
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text + "\n";
  }

  void declarations() {
    static constexpr const char* kAccess[] = {"read", "write", "readwrite"};
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const BufferDecl& buffer = kernel_.buffers[i];
      line(fmt::format("buffer b{}: {} {}{}{}{}", i, dtype_name(buffer.dtype),
                       kAccess[static_cast<int>(buffer.access)],
                       buffer.by_address ? " address" : "", buffer.aliased ? " aliased" : "",
                       buffer.per_word > 1 ? fmt::format(" words {}", buffer.per_word) : ""));
    }
    for (size_t i = 0; i < kernel_.arrays.size(); ++i) {
      const ArrayDecl& array = kernel_.arrays[i];
      const char* scope = array.scope == Scope::kRegister ? "register" : "shared";
      line(fmt::format("{} {}: {}[{}]", scope, array_name(static_cast<uint32_t>(i)),
                       dtype_name(array.dtype), array.count));
    }
    if (kernel_.matrices) matrices(*kernel_.matrices);
  }

  void matrices(const SubgroupMatrices& m) {
    line(
        fmt::format("matrices {} {} m {} n {} k {} subgroup {} rows {} columns {} across {} "
                    "depth {} a_along_k {} a_pitch {} b_along_k {} b_pitch {}",
                    dtype_name(m.shape.element), dtype_name(m.shape.sum), m.shape.m, m.shape.n,
                    m.shape.k, m.subgroup, m.rows, m.columns, m.across, m.depth,
                    m.a_along_k ? 1 : 0, m.a_pitch, m.b_along_k ? 1 : 0, m.b_pitch));
  }

  std::string array_name(uint32_t id) const {
    bool shared = id < kernel_.arrays.size() && kernel_.arrays[id].scope == Scope::kShared;
    return fmt::format("{}{}", shared ? 's' : 'r', id);
  }

  std::string arrays(const Stmt& stmt) const {
    std::string names;
    for (uint32_t id : stmt.arrays) names += (names.empty() ? "" : ", ") + array_name(id);
    return names;
  }

  void block(const Block& body) {
    ++depth_;
    for (const Stmt& stmt : body) statement(stmt);
    --depth_;
  }

  void loop(const char* keyword, const Stmt& stmt) {
    line(fmt::format("{} %{} < {} {{", keyword, stmt.result, operand(stmt, 0)));
    block(stmt.body);
    line("}");
  }

  // Statements with too few operands are printed too: messages need them.
  static std::string operand(const Stmt& stmt, size_t i) {
    return i < stmt.operands.size() ? print_operand(stmt.operands[i]) : "?";
  }
  static std::string guard(const Stmt& stmt, size_t i) {
    return i < stmt.operands.size() ? " if " + operand(stmt, i) : "";
  }

  void let(const Stmt& stmt, const std::string& text) {
    line(fmt::format("%{} = {} {}", stmt.result, dtype_name(stmt.dtype), text));
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::kSerial: return loop("serial", stmt);
      case Stmt::Kind::kUnroll: return loop("unroll", stmt);
      case Stmt::Kind::kLane: return loop("lane", stmt);
      case Stmt::Kind::kWhile:
        line(fmt::format("while {} {{", array_name(stmt.target)));
        block(stmt.body);
        return line("}");
      case Stmt::Kind::kCompute:
        return let(stmt, fmt::format("{} {}", op_name(stmt.op), print_operands(stmt.operands)));
      case Stmt::Kind::kConvert: return let(stmt, "convert " + operand(stmt, 0));
      case Stmt::Kind::kBitcast: return let(stmt, "bitcast " + operand(stmt, 0));
      case Stmt::Kind::kPack: return let(stmt, "pack " + print_operands(stmt.operands));
      case Stmt::Kind::kLoad:
        return let(stmt,
                   fmt::format("load b{}[{}]{}{}", stmt.target, operand(stmt, 0), guard(stmt, 1),
                               stmt.operands.size() > 2 ? " else " + operand(stmt, 2) : ""));
      case Stmt::Kind::kLoadWord:
        return line(fmt::format("{} = load_word b{}[{}]{}", results(stmt), stmt.target,
                                operand(stmt, 0), guard(stmt, 1)));
      case Stmt::Kind::kStore:
        return line(fmt::format("store b{}[{}] = {}{}", stmt.target, operand(stmt, 0),
                                operand(stmt, 1), guard(stmt, 2)));
      case Stmt::Kind::kStoreWord: return store_word(stmt);
      case Stmt::Kind::kRead:
        return let(stmt, fmt::format("read {}[{}]", array_name(stmt.target), operand(stmt, 0)));
      case Stmt::Kind::kWrite:
        return line(fmt::format("write {}[{}] = {}", array_name(stmt.target), operand(stmt, 0),
                                operand(stmt, 1)));
      case Stmt::Kind::kReduceLanes: return reduce(stmt);
      case Stmt::Kind::kMatrixClear: return line("matrix_clear");
      case Stmt::Kind::kMatrixMultiply: return line("matrix_multiply " + arrays(stmt));
      case Stmt::Kind::kMatrixStore:
        return line(fmt::format("matrix_store {}, {}", arrays(stmt), operand(stmt, 0)));
      case Stmt::Kind::kBarrier: return line("barrier");
      case Stmt::Kind::kIf:
        line(fmt::format("if {} {{", operand(stmt, 0)));
        block(stmt.body);
        return line("}");
      case Stmt::Kind::kBreakUnless: return line("break_unless " + operand(stmt, 0));
    }
  }

  void store_word(const Stmt& stmt) {
    bool known = stmt.target < kernel_.buffers.size();
    size_t count = known ? static_cast<size_t>(kernel_.buffers[stmt.target].per_word) : 0;
    std::string values;
    for (size_t i = 1; i <= count; ++i) values += (i == 1 ? "" : ", ") + operand(stmt, i);
    line(fmt::format("store_word b{}[{}] = {}{}", stmt.target, operand(stmt, 0), values,
                     guard(stmt, count + 1)));
  }

  static std::string results(const Stmt& stmt) {
    std::string names;
    for (uint32_t id : stmt.results) names += fmt::format("{}%{}", names.empty() ? "" : ", ", id);
    return names;
  }

  void reduce(const Stmt& stmt) {
    std::string pairs;
    for (size_t i = 0; i < stmt.lhs.size() && i < stmt.rhs.size(); ++i)
      pairs += fmt::format("{}(%{}, %{})", i == 0 ? "" : ", ", stmt.lhs[i], stmt.rhs[i]);
    std::string some = stmt.target > 0 ? fmt::format(" of {}", stmt.target) : "";
    line(fmt::format("{} = reduce_lanes {}{} {} {{", results(stmt), arrays(stmt), some, pairs));
    block(stmt.body);
    line("} -> " + print_operands(stmt.operands));
  }

  const Kernel& kernel_;
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string print_kernel(const Kernel& kernel) { return Printer(kernel).print(); }

std::string print_stmt(const Kernel& kernel, const Stmt& stmt) {
  return Printer(kernel).print(stmt);
}

}  // namespace tuff
