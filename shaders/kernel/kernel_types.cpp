#include <fmt/format.h>

#include <algorithm>

#include "shaders/kernel/kernel_rules.h"

namespace tuff {

namespace {

std::string expect(const Operand& operand, DType dtype, const char* what) {
  if (operand.dtype == dtype) return "";
  return fmt::format("{} is {}, not {}", what, dtype_name(operand.dtype), dtype_name(dtype));
}

std::string first_of(std::initializer_list<std::string> complaints) {
  for (const std::string& text : complaints)
    if (!text.empty()) return text;
  return "";
}

std::string result_is(const Stmt& stmt, DType dtype) {
  if (stmt.dtype == dtype) return "";
  return fmt::format("the result is {}, not {}", dtype_name(stmt.dtype), dtype_name(dtype));
}

std::string alike(const std::vector<Operand>& operands, DType dtype) {
  for (const Operand& operand : operands)
    if (operand.dtype != dtype) return expect(operand, dtype, "an operand");
  return "";
}

std::string compute_types(const Stmt& stmt) {
  const std::vector<Operand>& in = stmt.operands;
  DType body = in[0].dtype;
  std::string complaint;
  switch (op_info(stmt.op).type_rule) {
    case TypeRule::kSame:
    case TypeRule::kClamp: complaint = first_of({alike(in, body), result_is(stmt, body)}); break;
    case TypeRule::kPredicate:
      complaint = first_of({alike(in, body), result_is(stmt, DType::kBool)});
      break;
    case TypeRule::kSelect:
      body = stmt.dtype;
      complaint = first_of({expect(in[0], DType::kBool, "the condition"),
                            expect(in[1], body, "an operand"), expect(in[2], body, "an operand")});
      break;
    case TypeRule::kPrecision:
      complaint = first_of({result_is(stmt, body), expect(in[1], DType::kI32, "an operand"),
                            expect(in[2], DType::kI32, "an operand")});
      break;
    case TypeRule::kTotalOrder:
      // Any signed integer that holds the order; the narrowest has the float's width.
      if (!is_signed_int(stmt.dtype) || dtype_size(stmt.dtype) < dtype_size(body))
        complaint = "the result is not a signed integer of the float's width";
      break;
    default: return "the op has no type rule";
  }
  if (complaint.empty() && op_body(stmt.op, body) == nullptr)
    complaint = fmt::format("{} is not defined for {}", op_name(stmt.op), dtype_name(body));
  return complaint;
}

std::string bitcast_types(const Stmt& stmt) {
  DType from = stmt.operands[0].dtype;
  bool bool_and_other = (from == DType::kBool) != (stmt.dtype == DType::kBool);
  if (dtype_size(from) == dtype_size(stmt.dtype) && !bool_and_other) return "";
  return fmt::format("{} and {} differ in width", dtype_name(from), dtype_name(stmt.dtype));
}

std::string pack_types(const Stmt& stmt) {
  if (stmt.dtype != DType::kU64) return "the result is not ui64";
  for (const Operand& operand : stmt.operands)
    if (dtype_size(operand.dtype) != 4) return "an operand has not 32 bits";
  return "";
}

std::string load_types(const Kernel& kernel, const Stmt& stmt) {
  DType dtype = kernel.buffers[stmt.target].dtype;
  std::string complaint =
      first_of({expect(stmt.operands[0], DType::kI32, "the index"), result_is(stmt, dtype)});
  if (!complaint.empty() || stmt.operands.size() == 1) return complaint;
  return first_of({expect(stmt.operands[1], DType::kBool, "the guard"),
                   expect(stmt.operands[2], dtype, "the other value")});
}

std::string store_types(const Kernel& kernel, const Stmt& stmt) {
  std::string complaint =
      first_of({expect(stmt.operands[0], DType::kI32, "the index"),
                expect(stmt.operands[1], kernel.buffers[stmt.target].dtype, "the value")});
  if (!complaint.empty() || stmt.operands.size() == 2) return complaint;
  return expect(stmt.operands[2], DType::kBool, "the guard");
}

std::string store_word_types(const Kernel& kernel, const Stmt& stmt) {
  const BufferDecl& buffer = kernel.buffers[stmt.target];
  auto count = static_cast<size_t>(buffer.per_word);
  std::string complaint = expect(stmt.operands[0], DType::kI32, "the index");
  for (size_t i = 1; i <= count && complaint.empty(); ++i)
    complaint = expect(stmt.operands[i], buffer.dtype, "a value");
  if (!complaint.empty() || stmt.operands.size() == 1 + count) return complaint;
  return expect(stmt.operands[1 + count], DType::kBool, "the guard");
}

}  // namespace

std::string types_rule(const Kernel& kernel, const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::kSerial:
    case Stmt::Kind::kUnroll:
    case Stmt::Kind::kLane: return expect(stmt.operands[0], DType::kI32, "the extent");
    case Stmt::Kind::kCompute: return compute_types(stmt);
    case Stmt::Kind::kWhile:
    case Stmt::Kind::kMatrixClear:
    case Stmt::Kind::kMatrixMultiply:
    case Stmt::Kind::kMatrixStore:
    case Stmt::Kind::kBarrier:
    case Stmt::Kind::kConvert: return "";
    case Stmt::Kind::kIf:
    case Stmt::Kind::kBreakUnless: return expect(stmt.operands[0], DType::kBool, "the condition");
    case Stmt::Kind::kBitcast: return bitcast_types(stmt);
    case Stmt::Kind::kPack: return pack_types(stmt);
    case Stmt::Kind::kLoad: return load_types(kernel, stmt);
    case Stmt::Kind::kLoadWord:
      return first_of(
          {expect(stmt.operands[0], DType::kI32, "the index"),
           result_is(stmt, kernel.buffers[stmt.target].dtype),
           stmt.operands.size() > 1 ? expect(stmt.operands[1], DType::kBool, "the guard") : ""});
    case Stmt::Kind::kStore: return store_types(kernel, stmt);
    case Stmt::Kind::kStoreWord: return store_word_types(kernel, stmt);
    case Stmt::Kind::kRead:
      return first_of({expect(stmt.operands[0], DType::kI32, "the index"),
                       result_is(stmt, kernel.arrays[stmt.target].dtype)});
    case Stmt::Kind::kWrite:
      return first_of({expect(stmt.operands[0], DType::kI32, "the index"),
                       expect(stmt.operands[1], kernel.arrays[stmt.target].dtype, "the value")});
    case Stmt::Kind::kReduceLanes: {
      for (size_t i = 0; i < stmt.arrays.size(); ++i)
        if (stmt.operands[i].dtype != kernel.arrays[stmt.arrays[i]].dtype)
          return expect(stmt.operands[i], kernel.arrays[stmt.arrays[i]].dtype, "an output");
      return "";
    }
  }
  return "";
}

}  // namespace tuff
