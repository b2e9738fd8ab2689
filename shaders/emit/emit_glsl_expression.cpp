#include "shaders/emit/emit_glsl_expression.h"

#include <fmt/format.h>

#include <cctype>

#include "ir/passes/place.h"
#include "shaders/kernel/kernel_walk.h"
#include "shaders/prelude/prelude_text.h"

namespace tuff {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// True iff the text is one call: the bracket that opens first closes last.
bool is_call(const std::string& text) {
  if (text.empty() || !is_word_char(text[0]) || text.back() != ')') return false;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '(')
      ++depth;
    else if (text[i] == ')')
      --depth;
    else if (depth == 0 && !is_word_char(text[i]))
      return false;
    if (depth == 0 && text[i] == ')') return false;
  }
  return true;
}

// Names, calls and literals stand as they are; anything else, a sign too, in brackets.
std::string bracketed(const std::string& text) {
  if (is_call(text)) return text;
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

// A word of a body: an operand, a type, the width, or a function, whose overload
// follows from its first argument: a, or UT(a).
std::string substitute(const std::string& word, std::string_view rest, DType dtype,
                       const std::vector<GlslValue>& operands, const Caps& caps, GlslNeeds& needs) {
  if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'c')
    return bracketed(operands[static_cast<size_t>(word[0] - 'a')].text);
  if (word == "T") return glsl_type(dtype, caps);
  if (word == "UT") return glsl_unsigned_type(dtype, caps);
  if (word == "ST") return glsl_signed_type(dtype, caps);
  if (word == "W") return fmt::format("{}", dtype == DType::kBool ? 1 : 8 * dtype_size(dtype));
  if (word.starts_with("t_")) {
    // Overloads for float and int stand on their own; others may call one another.
    std::string type =
        rest.starts_with("(UT(") ? glsl_unsigned_type(dtype, caps) : glsl_type(dtype, caps);
    needs.prelude.insert(type == "float" || type == "int" ? word + "/" + type : word);
  }
  return word;
}

std::string body_text(const char* body, DType dtype, const std::vector<GlslValue>& operands,
                      const Caps& caps, GlslNeeds& needs) {
  std::string out;
  for (const char* c = body; *c != '\0';) {
    const char* start = c;
    while (is_word_char(*c)) ++c;
    if (c == start)
      out += *c++;
    else
      out += substitute(std::string(start, c), c, dtype, operands, caps, needs);
  }
  return out;
}

// f16 and bf16 are held as float: their order is that of their own bits.
std::string total_order_narrow(DType dtype, const std::string& value, const Caps& caps,
                               GlslNeeds& needs) {
  needs.prelude.insert("t_total_order/float");
  return fmt::format("(t_total_order(uintBitsToFloat({} << 16)) >> 16)",
                     glsl_to_bits(dtype, value, caps, needs));
}

// What pairs of 32 bits have no operator for.
const char* pair_body(Op op, DType dtype) {
  switch (op) {
    case Op::kAbs: return is_signed_int(dtype) ? "t_abs(a)" : nullptr;
    case Op::kAdd: return "t_add(a, b)";
    case Op::kSubtract: return "t_sub(a, b)";
    case Op::kMultiply: return "t_mul(a, b)";
    case Op::kNegate: return "t_negate(a)";
    case Op::kFma: return "t_add(t_mul(a, b), c)";
    case Op::kLt: return "t_less(a, b)";
    case Op::kGt: return "t_less(b, a)";
    case Op::kLe: return "!t_less(b, a)";
    case Op::kGe: return "!t_less(a, b)";
    default: return nullptr;
  }
}

// GLSL's int wraps, so sums and products need not pass through uint as in C++.
const char* glsl_body(Op op, DType dtype, const Caps& caps) {
  bool pairs = has_pairs(caps) && (dtype == DType::kI64 || dtype == DType::kU64);
  if (const char* body = pairs ? pair_body(op, dtype) : nullptr) return body;
  bool wraps = op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kFma;
  if (is_signed_int(dtype) && wraps) return op_body(op, DType::kU32);
  return op_body(op, dtype);
}

Result<std::string> compute(const Stmt& stmt, const std::vector<GlslValue>& operands,
                            bool rounded_later, const Caps& caps, GlslNeeds& needs) {
  DType dtype = body_dtype(stmt, operands);
  const char* body = glsl_body(stmt.op, dtype, caps);
  // In f64, reduce_precision is spelled out in integers before it comes here.
  bool f32_only = is_series(stmt.op) || stmt.op == Op::kReducePrecision;
  if (body == nullptr || (dtype == DType::kF64 && f32_only))
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The op ({}) has no GLSL form for {}; run it on the CPU.",
                             op_name(stmt.op), dtype_name(dtype)),
                 ""};
  bool narrow_float = dtype == DType::kF16 || dtype == DType::kBF16;
  if (stmt.op == Op::kTotalOrder && narrow_float && dtype_size(stmt.dtype) == 2)
    return total_order_narrow(dtype, operands[0].text, caps, needs);
  std::string text = body_text(body, dtype, operands, caps, needs);
  // A choice among rounded values is rounded.
  if (stmt.op == Op::kSelect || rounded_later) return text;
  return glsl_narrow(stmt.dtype, text, needs);
}

// Not by a shift: drivers would shift.
std::string pack(const std::vector<GlslValue>& halves, const Caps& caps, GlslNeeds& needs) {
  std::string pair =
      fmt::format("uvec2({}, {})", glsl_to_bits(halves[0].dtype, halves[0].text, caps, needs),
                  glsl_to_bits(halves[1].dtype, halves[1].text, caps, needs));
  return has_pairs(caps) ? pair : "packUint2x32(" + pair + ")";
}

}  // namespace

Result<std::string> glsl_expression(const Stmt& stmt, const std::vector<GlslValue>& operands,
                                    bool rounded_later, const Caps& caps, GlslNeeds& needs) {
  if (stmt.kind == Stmt::Kind::kCompute) return compute(stmt, operands, rounded_later, caps, needs);
  if (stmt.kind == Stmt::Kind::kPack) return pack(operands, caps, needs);
  const GlslValue& from = operands[0];
  if (stmt.kind == Stmt::Kind::kConvert) {
    if (rounded_later && (from.dtype == DType::kF32 || from.dtype == DType::kBF16))
      return from.text;
    std::string text = convert_expression(from.dtype, stmt.dtype, from.text, has_pairs(caps));
    needs.prelude.merge(prelude_names(text));
    return text;
  }
  if (from.dtype == stmt.dtype) return from.text;
  return glsl_from_bits(stmt.dtype, glsl_to_bits(from.dtype, from.text, caps, needs), caps, needs);
}

std::vector<bool> rounded_by_stores(const Kernel& kernel, const Caps& caps) {
  const bool stores_round = storage_size(DType::kF16, caps) == 2;
  std::vector<bool> only_stored(kernel.num_values, stores_round);
  auto mark = [&](uint32_t value) { only_stored[value] = false; };
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    size_t first = 0, last = 0;  // operands that are stored
    if (stmt.kind == Stmt::Kind::kStore) first = 1, last = 2;
    if (stmt.kind == Stmt::Kind::kStoreWord)
      first = 1, last = 1 + static_cast<size_t>(kernel.buffers[stmt.target].per_word);
    if (last > 0 && kernel.buffers[stmt.target].dtype != DType::kF16) first = last = 0;
    for (size_t i = 0; i < stmt.operands.size(); ++i)
      if (stmt.operands[i].kind == Operand::Kind::kValue && (i < first || i >= last))
        mark(stmt.operands[i].id);
    const bool is_half = (stmt.kind == Stmt::Kind::kCompute || stmt.kind == Stmt::Kind::kConvert) &&
                         stmt.dtype == DType::kF16;
    if (!is_half) mark(stmt.result);
  });
  return only_stored;
}

}  // namespace tuff
