#include "shaders/emit/emit_glsl_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shaders/emit/emit_glsl_fold.h"
#include "shaders/emit/emit_glsl_shuffle.h"
#include "shaders/kernel/kernel_walk.h"

namespace tuff {

GlslBody::GlslBody(const Kernel& kernel, const Caps& caps)
    : kernel_(kernel),
      caps_(caps),
      shuffles_(find_shuffles(kernel, caps)),
      barriers_(plan_barriers(kernel, shuffles_)),
      rounded_by_stores_(rounded_by_stores(kernel, caps)) {
  for (uint32_t id = 0; id < kernel.num_values; ++id) {
    values_.push_back(Operand::value(id, DType::kI32));
    names_.push_back(fmt::format("v{}", id));
  }
  needs_.coherent = barriers_.buffers;
}

Status GlslBody::print() {
  grid();
  for (size_t i = 0; i < kernel_.arrays.size(); ++i) {
    const ArrayDecl& array = kernel_.arrays[i];
    if (array.scope == Scope::kRegister)
      line(fmt::format("{} r{}[{}];", glsl_type(array.dtype, caps_), i, array.count));
    else if (shuffles_.arrays.contains(i))
      line(fmt::format("{} s{};", glsl_type(array.dtype, caps_), i));
  }
  if (kernel_.matrices) declare_matrices();
  return block(kernel_.body);
}

void GlslBody::line(const std::string& text) {
  out_.append(2 * depth_, ' ');
  out_ += text + "\n";
}

// Values fold in order, so one step leads to the end.
Operand GlslBody::resolve(const Operand& operand) const {
  if (operand.kind != Operand::Kind::kValue) return operand;
  Operand bound = values_[operand.id];
  if (bound.kind == Operand::Kind::kValue) bound.dtype = operand.dtype;
  return bound;
}

std::string GlslBody::name(const Operand& operand) const {
  Operand bound = resolve(operand);
  switch (bound.kind) {
    case Operand::Kind::kValue: return names_[bound.id];
    case Operand::Kind::kParam: return fmt::format("pc.p{}", bound.id);
    case Operand::Kind::kImmediate: break;
  }
  return glsl_literal(bound.dtype, bound.bits, caps_);
}

bool GlslBody::is_known(const Operand& operand, uint64_t bits) const {
  Operand bound = resolve(operand);
  return bound.kind == Operand::Kind::kImmediate && bound.bits == bits;
}

// The innermost loop is the fastest in the linear number of the workgroup.
void GlslBody::grid() {
  std::string rest = "group";
  for (size_t i = kernel_.grid.size(); i-- > 0;) {
    const GridLoop& loop = kernel_.grid[i];
    if (is_known(loop.extent, 1)) {
      values_[loop.var] = Operand::i32(0);
      continue;
    }
    needs_.group = true;
    std::string extent = fmt::format("uint({})", name(loop.extent));
    bool outermost = i == 0;
    line(fmt::format("int {} = int({}{});", names_[loop.var], rest,
                     outermost ? "" : " % " + extent));
    if (outermost) continue;
    line(fmt::format("uint rest{} = {} / {};", i, rest, extent));
    rest = fmt::format("rest{}", i);
  }
}

Status GlslBody::block(const Block& body) {
  for (const Stmt& stmt : body) {
    if (auto wait = barriers_.before.find(&stmt); wait != barriers_.before.end())
      barrier(wait->second);
    TUFF_RETURN_IF_ERROR(statement(stmt));
  }
  return {};
}

Status GlslBody::nested(const std::string& head, const Block& body) {
  line(head.empty() ? "{" : head + " {");
  ++depth_;
  TUFF_RETURN_IF_ERROR(block(body));
  --depth_;
  line("}");
  return {};
}

Status GlslBody::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::kSerial: return serial(stmt);
    case Stmt::Kind::kUnroll: return unroll(stmt);
    case Stmt::Kind::kLane: return lanes(stmt);
    case Stmt::Kind::kWhile:
      return nested(fmt::format("while ({}[0])", glsl_array_name(kernel_, stmt.target)), stmt.body);
    case Stmt::Kind::kCompute:
    case Stmt::Kind::kConvert:
    case Stmt::Kind::kBitcast:
    case Stmt::Kind::kPack: return let(stmt);
    case Stmt::Kind::kReduceLanes: return reduce(stmt);
    case Stmt::Kind::kIf: return nested(fmt::format("if ({})", operand(stmt, 0)), stmt.body);
    case Stmt::Kind::kBreakUnless: line(fmt::format("if (!{}) break;", operand(stmt, 0))); break;
    case Stmt::Kind::kBarrier:
      if (kernel_.lanes > 1) barrier(true);
      break;
    case Stmt::Kind::kMatrixClear: matrix_clear(); break;
    case Stmt::Kind::kMatrixMultiply: matrix_multiply(stmt); break;
    case Stmt::Kind::kMatrixStore: matrix_store(stmt); break;
    case Stmt::Kind::kLoad: load(stmt); break;
    case Stmt::Kind::kLoadWord: load_word(stmt); break;
    case Stmt::Kind::kStore: store(stmt); break;
    case Stmt::Kind::kStoreWord: store_word(stmt); break;
    case Stmt::Kind::kRead: read(stmt); break;
    case Stmt::Kind::kWrite: write(stmt); break;
  }
  return {};
}

namespace {

// The first product that a loop adds up by itself; null where it has none.
const Stmt* find_product(const Stmt& loop) {
  auto product = std::find_if(loop.body.begin(), loop.body.end(), [](const Stmt& inner) {
    return inner.kind == Stmt::Kind::kCompute && inner.op == Op::kFma;
  });
  return product == loop.body.end() ? nullptr : &*product;
}

// The arrays that loops of products write: one in a matmul, two in attention.
void find_sums(const Block& block, std::set<uint32_t>& arrays) {
  for (const Stmt& stmt : block) {
    if (stmt.kind == Stmt::Kind::kSerial && find_product(stmt))
      for (const Stmt& inner : stmt.body)
        if (inner.kind == Stmt::Kind::kWrite) arrays.insert(inner.target);
    find_sums(stmt.body, arrays);
  }
}

}  // namespace

// What GPUs' compilers are told of short loops of products. Those of floats are unrolled: else the
// loads ahead of a loop come to stand behind it, where nothing covers their way. Products of
// integers take several instructions and registers each, so that unrolled they spill. So do those
// beside another product's sums, where a lane has few registers.
const char* GlslBody::unroll_hint(const Stmt& stmt, const Operand& extent) const {
  constexpr uint64_t kMostUnrolled = 16;
  constexpr int64_t kFewRegisters = 128;
  if (!is_gpu(caps_) || extent.kind != Operand::Kind::kImmediate || extent.bits > kMostUnrolled)
    return "";
  const Stmt* product = find_product(stmt);
  if (!product) return "";
  std::set<uint32_t> sums;
  if (caps_.lane_registers <= kFewRegisters) find_sums(kernel_.body, sums);
  return is_float(product->dtype) && sums.size() <= 1 ? "[[unroll]] " : "[[dont_unroll]] ";
}

namespace {

bool leaves_early(const Block& body) {
  return std::any_of(body.begin(), body.end(), [](const Stmt& stmt) {
    return stmt.kind == Stmt::Kind::kBreakUnless ||
           (stmt.kind == Stmt::Kind::kIf && leaves_early(stmt.body));
  });
}

}  // namespace

Status GlslBody::serial(const Stmt& stmt) {
  if (is_known(stmt.operands[0], 1) && !leaves_early(stmt.body)) {
    values_[stmt.result] = Operand::i32(0);
    return nested("", stmt.body);
  }
  values_[stmt.result] = Operand::value(stmt.result, DType::kI32);
  const std::string& var = names_[stmt.result];
  std::string hint = unroll_hint(stmt, resolve(stmt.operands[0]));
  needs_.unroll |= !hint.empty();
  return nested(fmt::format("{0}for (int {1} = 0; {1} < {2}; ++{1})", hint, var, operand(stmt, 0)),
                stmt.body);
}

// Copies that declare names are kept apart by brackets.
Status GlslBody::unroll(const Stmt& stmt) {
  auto extent = static_cast<int32_t>(stmt.operands[0].bits);
  bool declares = std::any_of(stmt.body.begin(), stmt.body.end(), [](const Stmt& inner) {
    return is_let(inner.kind) || !inner.results.empty();
  });
  for (int32_t i = 0; i < extent; ++i) {
    values_[stmt.result] = Operand::i32(i);
    TUFF_RETURN_IF_ERROR(declares ? nested("", stmt.body) : block(stmt.body));
  }
  return {};
}

// The invocation is the lane: the loop is erased.
Status GlslBody::lanes(const Stmt& stmt) {
  if (kernel_.lanes == 1) {
    values_[stmt.result] = Operand::i32(0);
  } else {
    needs_.lane = true;
    names_[stmt.result] = "lane";
  }
  bool all = is_known(stmt.operands[0], static_cast<uint64_t>(kernel_.lanes));
  std::string lane = name(Operand::value(stmt.result, DType::kI32));
  return nested(all ? "" : fmt::format("if ({} < {})", lane, operand(stmt, 0)), stmt.body);
}

void GlslBody::declare(uint32_t id, DType dtype, const std::string& value) {
  values_[id] = Operand::value(id, dtype);
  line(fmt::format("{} {} = {};", glsl_type(dtype, caps_), names_[id], value));
}

namespace {

bool is_arithmetic(const Stmt& stmt) {
  if (stmt.kind != Stmt::Kind::kCompute) return false;
  switch (stmt.op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kFma: return true;
    default: return false;
  }
}

// Writes a float zero as something that is 0 without the driver's knowing: the group's
// number in z. Of zeros they see drivers make x of x + 0, which is wrong where x is -0, and 0
// of a NaN times 0; and since SPIR-V leaves quotients of zeros undefined, they drop the stores
// of what depends on one.
void hide_zero(const Operand& operand, GlslValue& value) {
  if (operand.kind != Operand::Kind::kImmediate || !is_float(operand.dtype)) return;
  uint64_t sign = uint64_t{1} << (8 * dtype_size(operand.dtype) - 1);
  if ((operand.bits & ~sign) != 0) return;
  const char* high = operand.bits == 0 ? "gl_WorkGroupID.z" : "gl_WorkGroupID.z | 0x80000000u";
  value.text = operand.dtype == DType::kF64 ? fmt::format("packDouble2x32(uvec2(0u, {}))", high)
                                            : fmt::format("uintBitsToFloat({})", high);
}

}  // namespace

Status GlslBody::let(const Stmt& stmt) {
  std::vector<Operand> operands;
  std::vector<GlslValue> values;
  for (const Operand& operand : stmt.operands) {
    operands.push_back(resolve(operand));
    values.push_back({name(operand), operand.dtype});
    if (is_arithmetic(stmt)) hide_zero(operands.back(), values.back());
  }
  if (stmt.kind == Stmt::Kind::kCompute) {
    if (auto folded = fold_compute(stmt, operands)) {
      values_[stmt.result] = *folded;
      return {};
    }
  }
  TUFF_ASSIGN(std::string text,
              glsl_expression(stmt, values, rounded_by_stores_[stmt.result], caps_, needs_));
  if (stmt.kind == Stmt::Kind::kConvert && is_known(stmt.operands[0], 0)) {
    GlslValue zero{text, stmt.dtype};
    hide_zero(Operand::immediate(stmt.dtype, 0), zero);
    text = zero.text;
  }
  values_[stmt.result] = Operand::value(stmt.result, stmt.dtype);
  line(fmt::format("{}{} {} = {};", glsl_precise(stmt.dtype), glsl_type(stmt.dtype, caps_),
                   names_[stmt.result], text));
  return {};
}

// What is out of range is never touched. A GPU waits for a load behind a branch before it goes on:
// there the first element is loaded in its place, so that loads are under way side by side.
void GlslBody::load(const Stmt& stmt) {
  auto element = [&](const std::string& index) {
    return glsl_from_storage(stmt.dtype, fmt::format("b{}.d[{}]", stmt.target, index), caps_,
                             needs_);
  };
  bool guarded = stmt.operands.size() > 1 && !is_known(stmt.operands[1], 1);
  if (!guarded) return declare(stmt.result, stmt.dtype, element(operand(stmt, 0)));
  const std::string guard = operand(stmt, 1), &value = names_[stmt.result];
  bool never = is_known(stmt.operands[1], 0);
  if (never || !is_gpu(caps_)) {
    declare(stmt.result, stmt.dtype, operand(stmt, 2));
    if (!never) line(fmt::format("if ({}) {} = {};", guard, value, element(operand(stmt, 0))));
    return;
  }
  declare(stmt.result, stmt.dtype, element(fmt::format("{} ? {} : 0", guard, operand(stmt, 0))));
  line(fmt::format("{0} = {1} ? {0} : {2};", value, guard, operand(stmt, 2)));
}

void GlslBody::load_word(const Stmt& stmt) {
  const BufferDecl& buffer = kernel_.buffers[stmt.target];
  bool guarded = stmt.operands.size() > 1 && !is_known(stmt.operands[1], 1);
  std::string index = operand(stmt, 0), word = fmt::format("w{}", stmt.results[0]);
  if (guarded) index = fmt::format("{} ? {} : 0", operand(stmt, 1), index);
  line(fmt::format("{} {} = b{}.d[{}];", glsl_word_type(buffer, caps_), word, stmt.target, index));
  if (guarded)
    line(fmt::format("if (!{}) {} = {}(0u);", operand(stmt, 1), word,
                     glsl_word_type(buffer, caps_)));
  for (size_t i = 0; i < stmt.results.size(); ++i)
    declare(stmt.results[i], stmt.dtype,
            glsl_from_word(buffer, word, static_cast<int64_t>(i), caps_, needs_));
}

void GlslBody::store(const Stmt& stmt) {
  bool guarded = stmt.operands.size() > 2 && !is_known(stmt.operands[2], 1);
  if (guarded && is_known(stmt.operands[2], 0)) return;
  DType dtype = kernel_.buffers[stmt.target].dtype;
  line(fmt::format("{}b{}.d[{}] = {};", guarded ? "if (" + operand(stmt, 2) + ") " : "",
                   stmt.target, operand(stmt, 0),
                   glsl_to_storage(dtype, operand(stmt, 1), caps_, needs_)));
}

void GlslBody::store_word(const Stmt& stmt) {
  const BufferDecl& buffer = kernel_.buffers[stmt.target];
  auto count = static_cast<size_t>(buffer.per_word);
  bool guarded = stmt.operands.size() > 1 + count && !is_known(stmt.operands[1 + count], 1);
  std::vector<std::string> values;
  for (size_t i = 1; i <= count; ++i) values.push_back(operand(stmt, i));
  line(fmt::format("{}b{}.d[{}] = {};", guarded ? "if (" + operand(stmt, 1 + count) + ") " : "",
                   stmt.target, operand(stmt, 0), glsl_to_word(buffer, values, caps_, needs_)));
}

void GlslBody::read(const Stmt& stmt) {
  std::string array = glsl_array_name(kernel_, stmt.target), element = operand(stmt, 0);
  needs_.shuffle |= shuffles_.arrays.contains(stmt.target);
  declare(stmt.result, stmt.dtype,
          shuffles_.arrays.contains(stmt.target)
              ? fmt::format("subgroupShuffle({}, {})", array, element)
              : fmt::format("{}[{}]", array, element));
}

// Sums start from what is written.
void GlslBody::write(const Stmt& stmt) {
  GlslValue value{operand(stmt, 1), stmt.operands[1].dtype};
  hide_zero(resolve(stmt.operands[1]), value);
  if (shuffles_.arrays.contains(stmt.target))
    return line(fmt::format("s{} = {};", stmt.target, value.text));
  line(fmt::format("{}[{}] = {};", glsl_array_name(kernel_, stmt.target), operand(stmt, 0),
                   value.text));
}

void GlslBody::barrier(bool with_buffers) {
  line(with_buffers ? "memoryBarrierShared(); memoryBarrierBuffer(); barrier();"
                    : "memoryBarrierShared(); barrier();");
}

}  // namespace tuff
