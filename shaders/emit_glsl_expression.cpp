#include "shaders/emit_glsl_expression.h"

#include <fmt/format.h>

#include <cctype>

namespace tuff {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Names and literals stand as they are; anything else, a sign too, in brackets.
std::string bracketed(const std::string& text) {
  for (char c : text)
    if (!is_word_char(c) && c != '.') return "(" + text + ")";
  return text;
}

// The type whose row of op.def applies and whose T the body means: that of the
// operands, and for select that of the chosen ones.
DType body_dtype(const Stmt& stmt, const std::vector<GlslValue>& operands) {
  return stmt.op == Op::kSelect
             ? stmt.dtype
             : operands[op_info(stmt.op).type_rule == TypeRule::kClamp ? 1 : 0].dtype;
}

// A word of a body: an operand, a type, the width, or a function.
std::string substitute(const std::string& word, DType dtype, const std::vector<GlslValue>& operands,
                       GlslNeeds& needs) {
  if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'c')
    return bracketed(operands[static_cast<size_t>(word[0] - 'a')].text);
  if (word == "T") return glsl_type(dtype);
  if (word == "UT") return glsl_unsigned_type(dtype);
  if (word == "ST") return glsl_signed_type(dtype);
  if (word == "W") return fmt::format("{}", dtype == DType::kBool ? 1 : 8 * dtype_size(dtype));
  if (word.starts_with("t_")) needs.prelude.insert(word);
  return word;
}

std::string body_text(const char* body, DType dtype, const std::vector<GlslValue>& operands,
                      GlslNeeds& needs) {
  std::string out;
  for (const char* c = body; *c != '\0';) {
    const char* start = c;
    while (is_word_char(*c)) ++c;
    if (c == start)
      out += *c++;
    else
      out += substitute(std::string(start, c), dtype, operands, needs);
  }
  return out;
}

// What GLSL has for double: arithmetic, no series.
bool has_double_body(const char* body) {
  return std::string_view(body).find("t_") == std::string_view::npos;
}

// f16 and bf16 are held as float: their order is that of their own bits.
std::string total_order_narrow(DType dtype, const std::string& value, GlslNeeds& needs) {
  needs.prelude.insert("t_total_order");
  return fmt::format("(t_total_order(uintBitsToFloat({} << 16)) >> 16)",
                     glsl_to_bits(dtype, value, needs));
}

// GLSL's int wraps, so sums and products need not pass through uint as in C++.
const char* glsl_body(Op op, DType dtype) {
  bool wraps = op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kFma;
  if (is_signed_int(dtype) && wraps) return op_body(op, DType::kU32);
  return op_body(op, dtype);
}

Result<std::string> compute(const Stmt& stmt, const std::vector<GlslValue>& operands,
                            GlslNeeds& needs) {
  DType dtype = body_dtype(stmt, operands);
  const char* body = glsl_body(stmt.op, dtype);
  if (body == nullptr || (dtype == DType::kF64 && !has_double_body(body)))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The op ({}) has no GLSL form for {}; run it on the CPU.",
                             op_name(stmt.op), dtype_name(dtype)),
                 ""};
  bool narrow_float = dtype == DType::kF16 || dtype == DType::kBF16;
  if (stmt.op == Op::kTotalOrder && narrow_float && dtype_size(stmt.dtype) == 2)
    return total_order_narrow(dtype, operands[0].text, needs);
  std::string text = body_text(body, dtype, operands, needs);
  // A choice among rounded values is rounded.
  if (stmt.op == Op::kSelect) return text;
  return glsl_narrow(stmt.dtype, text, needs);
}

std::string convert(DType to, const GlslValue& from, GlslNeeds& needs) {
  if (from.dtype == to) return from.text;
  if (to == DType::kBool) {
    if (!is_float(from.dtype)) return from.text + " != " + glsl_literal(from.dtype, 0);
    return body_text(op_body(Op::kNe, from.dtype), from.dtype,
                     {from, {glsl_literal(from.dtype, 0), from.dtype}}, needs);
  }
  if (from.dtype == DType::kBool) {
    uint64_t one = to == DType::kF16    ? 0x3c00
                   : to == DType::kBF16 ? 0x3f80
                   : to == DType::kF32  ? 0x3f800000
                   : to == DType::kF64  ? 0x3ff0000000000000
                                        : 1;
    return fmt::format("{} ? {} : {}", from.text, glsl_literal(to, one), glsl_literal(to, 0));
  }
  return glsl_narrow(to, fmt::format("{}({})", glsl_type(to), from.text), needs);
}

}  // namespace

Result<std::string> glsl_expression(const Stmt& stmt, const std::vector<GlslValue>& operands,
                                    GlslNeeds& needs) {
  if (stmt.kind == Stmt::Kind::kCompute) return compute(stmt, operands, needs);
  const GlslValue& from = operands[0];
  if (stmt.kind == Stmt::Kind::kConvert) return convert(stmt.dtype, from, needs);
  if (from.dtype == stmt.dtype) return from.text;
  return glsl_from_bits(stmt.dtype, glsl_to_bits(from.dtype, from.text, needs), needs);
}

}  // namespace tuff
