// Every row of op.def, every conversion and every bitcast, for each element type:
// the GLSL compiler must take what is printed.
#include <gtest/gtest.h>

#include "shaders/emit/emit_glsl.h"
#include "shaders/kernel/kernel_text.h"
#include "validate_glsl.h"

namespace tuff {
namespace {

Stmt make_stmt(Stmt::Kind kind, DType dtype, std::vector<Operand> operands) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.dtype = dtype;
  stmt.operands = std::move(operands);
  return stmt;
}

// One lane that loads operands and stores results, one statement after the other.
class OpsKernel {
 public:
  OpsKernel() {
    kernel_.family = "ops";
    for (int i = 0; i < kNumDTypes; ++i)
      kernel_.buffers.push_back({static_cast<DType>(i), Access::kReadWrite, false});
    lane_.kind = Stmt::Kind::kLane;
    lane_.result = kernel_.num_values++;
    lane_.operands = {Operand::i32(1)};
  }

  Operand load(DType dtype) {
    Stmt stmt = make_stmt(Stmt::Kind::kLoad, dtype, {Operand::i32(next_index_++)});
    stmt.target = static_cast<uint32_t>(dtype);
    return let(std::move(stmt));
  }

  // Adds the statement and stores its result.
  void result(Stmt stmt) {
    Operand value = let(std::move(stmt));
    Stmt store = make_stmt(Stmt::Kind::kStore, DType::kI32, {Operand::i32(next_index_++), value});
    store.target = static_cast<uint32_t>(value.dtype);
    lane_.body.push_back(std::move(store));
  }

  void compute(Op op, DType dtype);

  // The kernel, without the buffers of types it does not use.
  Kernel finish() {
    std::vector<uint32_t> numbers(kNumDTypes, UINT32_MAX);
    std::vector<BufferDecl> used;
    for (Stmt& stmt : lane_.body) {
      if (stmt.kind != Stmt::Kind::kLoad && stmt.kind != Stmt::Kind::kStore) continue;
      uint32_t& number = numbers[stmt.target];
      if (number == UINT32_MAX) {
        number = static_cast<uint32_t>(used.size());
        used.push_back(kernel_.buffers[stmt.target]);
      }
      stmt.target = number;
    }
    kernel_.buffers = used;
    kernel_.body = {lane_};
    return kernel_;
  }

 private:
  Operand let(Stmt stmt) {
    stmt.result = kernel_.num_values++;
    Operand value = Operand::value(stmt.result, stmt.dtype);
    lane_.body.push_back(std::move(stmt));
    return value;
  }

  Kernel kernel_;
  Stmt lane_;
  int next_index_ = 0;
};

std::vector<DType> operand_types(Op op, DType dtype) {
  std::vector<DType> types(static_cast<size_t>(op_info(op).min_operands), dtype);
  if (op_info(op).type_rule == TypeRule::kSelect) types[0] = DType::kBool;
  if (op_info(op).type_rule == TypeRule::kPrecision) types[1] = types[2] = DType::kI32;
  return types;
}

DType result_type(Op op, DType dtype) {
  if (op_info(op).type_rule == TypeRule::kPredicate) return DType::kBool;
  if (op_info(op).type_rule != TypeRule::kTotalOrder) return dtype;
  if (dtype_size(dtype) == 2) return DType::kI16;
  return dtype_size(dtype) == 4 ? DType::kI32 : DType::kI64;
}

void OpsKernel::compute(Op op, DType dtype) {
  Stmt stmt = make_stmt(Stmt::Kind::kCompute, result_type(op, dtype), {});
  stmt.op = op;
  for (DType type : operand_types(op, dtype)) stmt.operands.push_back(load(type));
  result(std::move(stmt));
}

Result<GlslShader> emit_one(Op op, DType dtype) {
  OpsKernel ops;
  ops.compute(op, dtype);
  return emit_glsl(ops.finish(), {});
}

void expect_valid(const Kernel& kernel, const std::string& name, const Caps& caps = {}) {
  Status status = verify_kernel(kernel);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  Result<Kernel> again = parse_kernel(print_kernel(kernel), "printed");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(print_kernel(*again), print_kernel(kernel));
  Result<GlslShader> shader = emit_glsl(kernel, caps);
  ASSERT_TRUE(shader.ok()) << shader.error().to_string();
  if (!can_validate_glsl()) GTEST_SKIP() << "glslangValidator or spirv-val was not found";
  EXPECT_EQ(validate_glsl(*shader, name), "") << shader->text;
}

Caps without_wide_types() {
  Caps caps;
  caps.int64 = caps.float64 = false;
  return caps;
}

class EachType : public testing::TestWithParam<DType> {};

// All ops of a type in one shader, so that the compiler runs 13 times, not 500.
TEST_P(EachType, OpsCompile) {
  DType dtype = GetParam();
  OpsKernel ops;
  int unsupported = 0;
  for (int i = 0; i <= static_cast<int>(Op::kHosted); ++i) {
    auto op = static_cast<Op>(i);
    if (op_info(op).type_rule == TypeRule::kNotElementwise || op_body(op, dtype) == nullptr)
      continue;
    Result<GlslShader> alone = emit_one(op, dtype);
    if (alone.ok()) {
      ops.compute(op, dtype);
      continue;
    }
    EXPECT_EQ(alone.error().code, ErrorCode::kUnsupported) << alone.error().to_string();
    ++unsupported;
  }
  // f64: atan2 cbrt cosine erf exponential(_minus_one) log(_plus_one) logistic power
  // reduce_precision remainder sine tan tanh.
  EXPECT_EQ(unsupported, dtype == DType::kF64 ? 14 : 0);
  Kernel kernel = ops.finish();
  expect_valid(kernel, std::string("ops_") + dtype_name(dtype));
  if (dtype == DType::kF64) return;
  expect_valid(kernel, std::string("pairs_") + dtype_name(dtype), without_wide_types());
}

TEST_P(EachType, ConversionsAndBitcastsCompile) {
  DType from = GetParam();
  OpsKernel ops;
  for (int i = 0; i < kNumDTypes; ++i) {
    auto to = static_cast<DType>(i);
    ops.result(make_stmt(Stmt::Kind::kConvert, to, {ops.load(from)}));
    bool both_bool = (from == DType::kBool) == (to == DType::kBool);
    if (dtype_size(from) == dtype_size(to) && both_bool)
      ops.result(make_stmt(Stmt::Kind::kBitcast, to, {ops.load(from)}));
  }
  expect_valid(ops.finish(), std::string("converts_") + dtype_name(from));
}

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) types.push_back(static_cast<DType>(i));
  return types;
}

INSTANTIATE_TEST_SUITE_P(EmitGlsl, EachType, testing::ValuesIn(all_types()),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace tuff
