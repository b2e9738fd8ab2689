// One kernel per rule that breaks it, and that alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/kernel/kernel.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {
namespace {

using testing::HasSubstr;

// What verify_kernel says of the statements in a grid of one loop %0 < p0.
std::string complaint(const std::string& body) {
  std::string text =
      "kernel test lanes 8 params 1 { buffer b0: f32 read buffer b1: f32 write"
      " register r0: f32[4] shared s1: i32[8] grid %0 < p0 { " +
      body + " } }";
  Result<Kernel> kernel = parse_kernel(text, "test");
  if (!kernel.ok()) return "does not parse: " + kernel.error().to_string();
  Status status = verify_kernel(*kernel);
  return status.ok() ? "" : status.error().message;
}

Kernel valid_kernel() {
  return *parse_kernel(
      "kernel test lanes 8 params 1 { buffer b0: f32 readwrite register r0: f32[1]"
      " grid %0 < p0 { lane %1 < 8 { %2 = f32 load b0[%1] %3 = f32 add %2, 1.0"
      " store b0[%1] = %3 } } }",
      "test");
}

std::string complaint(const Kernel& kernel) {
  Status status = verify_kernel(kernel);
  return status.ok() ? "" : status.error().message;
}

Stmt& lane_stmt(Kernel& kernel, size_t i) { return kernel.body[0].body[i]; }

TEST(VerifyKernel, AcceptsAValidKernel) { EXPECT_EQ(complaint(valid_kernel()), ""); }

TEST(VerifyKernel, Words) {
  auto words = [](const std::string& buffer, const std::string& statement) {
    Result<Kernel> kernel = parse_kernel("kernel test lanes 8 params 0 { buffer b0: " + buffer +
                                             " grid { lane %0 < 8 { " + statement + " } } }",
                                         "test");
    return kernel.ok() ? complaint(*kernel) : kernel.error().to_string();
  };
  EXPECT_EQ(words("f32 read words 2", "%1, %2 = load_word b0[%0] if true"), "");
  EXPECT_THAT(words("f32 read words 3", "%1, %2, %3 = load_word b0[%0]"), HasSubstr("as words"));
  EXPECT_THAT(words("f32 read words 8", ""), HasSubstr("as words"));
  EXPECT_EQ(words("f32 readwrite words 2", "store_word b0[%0] = 1.0, 2.0 if true"), "");
  EXPECT_EQ(words("i32 write words 2", "store_word b0[%0] = 1, 2 if true"), "");
  EXPECT_THAT(words("i32 write words 2", "store_word b0[%0] = 1"), HasSubstr("operands"));
  EXPECT_THAT(words("i32 write words 2", "store_word b0[%0] = 1, 2.0"), HasSubstr("a value"));
  EXPECT_THAT(words("i32 write words 2", "store b0[%0] = 1"), HasSubstr("buffers of words"));
  EXPECT_THAT(words("i32 read words 2", "store_word b0[%0] = 1, 2"), HasSubstr("declared read"));
  EXPECT_THAT(words("f32 read words 2", "%1 = f32 load b0[%0]"), HasSubstr("buffers of words"));
  EXPECT_THAT(words("f32 read", "%1 = load_word b0[%0]"), HasSubstr("buffers of words"));
  EXPECT_THAT(words("f32 read words 2", "%1 = load_word b0[%0]"), HasSubstr("one value"));
  EXPECT_THAT(words("f32 read words 2", "%1, %2 = load_word b0[%0] if 1"), HasSubstr("the guard"));
}

TEST(VerifyKernel, Declarations) {
  Kernel kernel = valid_kernel();
  kernel.family = "two words";
  EXPECT_THAT(complaint(kernel), HasSubstr("not a word"));
  kernel = valid_kernel();
  kernel.lanes = 0;
  EXPECT_THAT(complaint(kernel), HasSubstr("lane count"));
  kernel = valid_kernel();
  kernel.arrays[0].count = 0;
  EXPECT_THAT(complaint(kernel), HasSubstr("0 elements"));
  kernel = valid_kernel();
  kernel.grid[0].extent = Operand::value(0, DType::kI32);
  EXPECT_THAT(complaint(kernel), HasSubstr("extent of grid loop %0"));
}

TEST(VerifyKernel, Form) {
  Kernel kernel = valid_kernel();
  lane_stmt(kernel, 1).operands.pop_back();
  EXPECT_THAT(complaint(kernel), HasSubstr("it has 1 operands"));
  kernel = valid_kernel();
  lane_stmt(kernel, 1).op = Op::kConvert;
  EXPECT_THAT(complaint(kernel), HasSubstr("not a plain elementwise op"));
  kernel = valid_kernel();
  lane_stmt(kernel, 0).target = 7;
  EXPECT_THAT(complaint(kernel), HasSubstr("not declared"));
  kernel = valid_kernel();
  lane_stmt(kernel, 0).body = {Stmt{}};
  EXPECT_THAT(complaint(kernel), HasSubstr("cannot have a body"));
  EXPECT_THAT(complaint("unroll %1 < p0 { }"), HasSubstr("not an immediate"));
}

TEST(VerifyKernel, MessagesPrintTheStatement) {
  EXPECT_THAT(complaint("unroll %1 < p0 { }"), HasSubstr("\nunroll %1 < p0 {"));
}

TEST(VerifyKernel, Operands) {
  EXPECT_THAT(complaint("%1 = i32 add %0, p3"), HasSubstr("parameter p3"));
  Kernel kernel = valid_kernel();
  lane_stmt(kernel, 1).operands[1] = Operand::immediate(DType::kF32, uint64_t{1} << 40);
  EXPECT_THAT(complaint(kernel), HasSubstr("bits outside f32"));
}

TEST(VerifyKernel, Scopes) {
  EXPECT_THAT(complaint("serial %1 < 4 { %2 = i32 add %1, 1 } %3 = i32 add %2, 1"),
              HasSubstr("%2 is used where it is not defined"));
  EXPECT_THAT(complaint("serial %1 < 4 { } %2 = i32 add %1, 1"), HasSubstr("%1 is used"));
  EXPECT_THAT(complaint("%1 = i32 add %0, 1 %1 = i32 add %0, 2"), HasSubstr("defined twice"));
  Kernel kernel = valid_kernel();
  lane_stmt(kernel, 1).operands[0].dtype = DType::kI32;
  EXPECT_THAT(complaint(kernel), HasSubstr("%2 is f32 and used as i32"));
  kernel = valid_kernel();
  kernel.num_values = 3;
  EXPECT_THAT(complaint(kernel), HasSubstr("num_values"));
}

TEST(VerifyKernel, Types) {
  EXPECT_THAT(complaint("%1 = i32 add %0, 1.0"), HasSubstr("an operand is f32, not i32"));
  EXPECT_THAT(complaint("%1 = i32 lt %0, 1"), HasSubstr("the result is i32, not i1"));
  EXPECT_THAT(complaint("%1 = i32 tanh %0"), HasSubstr("tanh is not defined for i32"));
  EXPECT_THAT(complaint("%1 = i64 bitcast %0"), HasSubstr("differ in width"));
  EXPECT_THAT(complaint("%1 = i64 pack %0, %0"), HasSubstr("the result is not ui64"));
  EXPECT_THAT(complaint("%1 = ui64 pack %0, true"), HasSubstr("an operand has not 32 bits"));
  EXPECT_THAT(complaint("%1 = i32 load b0[%0]"), HasSubstr("the result is i32, not f32"));
  EXPECT_THAT(complaint("%1 = f32 load b0[1.0]"), HasSubstr("the index is f32"));
  EXPECT_THAT(complaint("%1 = f32 load b0[0] if %0 else 0.0"), HasSubstr("the guard is i32"));
  EXPECT_THAT(complaint("lane %1 < 8 { store b1[%1] = %1 }"), HasSubstr("the value is i32"));
  EXPECT_THAT(complaint("serial %1 < 1.0 { }"), HasSubstr("the extent is f32"));
}

TEST(VerifyKernel, Access) {
  EXPECT_THAT(complaint("%1 = f32 load b1[%0]"), HasSubstr("declared write"));
  EXPECT_THAT(complaint("lane %1 < 8 { store b0[%1] = 0.0 }"), HasSubstr("declared read"));
}

TEST(VerifyKernel, Lanes) {
  EXPECT_THAT(complaint("lane %1 < 8 { lane %2 < 8 { } }"), HasSubstr("do not nest"));
  EXPECT_THAT(complaint("lane %1 < 9 { }"), HasSubstr("8 lanes only"));
  EXPECT_THAT(complaint("store b1[0] = 0.0"), HasSubstr("stores stand inside"));
  EXPECT_THAT(complaint("write s1[0] = 0"), HasSubstr("written inside"));
  EXPECT_THAT(complaint("%1 = f32 read r0[0]"), HasSubstr("registers are read inside"));
  EXPECT_THAT(complaint("lane %1 < 8 { %2 = reduce_lanes r0 (%3, %4) { } -> %3 }"),
              HasSubstr("between lane loops"));
  EXPECT_THAT(complaint("%2 = reduce_lanes s1 (%3, %4) { } -> %3"), HasSubstr("shared array"));
  EXPECT_THAT(complaint("%2 = reduce_lanes r0 (%3, %4) { %5 = f32 load b0[0] } -> %5"),
              HasSubstr("only computes"));
}

TEST(VerifyKernel, While) {
  auto with = [](const std::string& lanes, const std::string& body) {
    Result<Kernel> kernel = parse_kernel(
        "kernel test lanes " + lanes +
            " params 0 { register r0: i1[1] register r1: f32[1] grid { " + body + " } }",
        "test");
    return kernel.ok() ? complaint(*kernel) : "does not parse: " + kernel.error().to_string();
  };
  EXPECT_EQ(with("1", "lane %0 < 1 { while r0 { write r0[0] = false } }"), "");
  EXPECT_EQ(with("2", "lane %0 < 1 { while r0 { write r0[0] = false } }"), "");
  EXPECT_THAT(with("2", "lane %0 < 2 { while r0 { } }"), HasSubstr("of a single lane"));
  EXPECT_THAT(with("1", "while r0 { }"), HasSubstr("of a single lane"));
  EXPECT_THAT(with("1", "lane %0 < 1 { while r1 { } }"), HasSubstr("not a register of i1"));
  EXPECT_THAT(with("1", "lane %0 < 1 { while r0 { %1 = i1 read r0[0] } write r0[0] = %1 }"),
              HasSubstr("used where it is not defined"));
}

TEST(VerifyKernel, StepsOfALoop) {
  EXPECT_EQ(complaint("%2 = reduce_lanes r0 of 8 (%3, %4) { } -> %3"), "");
  EXPECT_THAT(complaint("%2 = reduce_lanes r0 of 9 (%3, %4) { } -> %3"), HasSubstr("8 lanes only"));
  EXPECT_EQ(complaint("serial %1 < 4 { %2 = i1 eq %1, 2 if %2 { lane %3 < 8 { } break_unless %2 }"
                      " barrier break_unless true }"),
            "");
  EXPECT_THAT(complaint("break_unless true"), HasSubstr("no loop to leave"));
  EXPECT_THAT(complaint("serial %1 < 4 { unroll %2 < 2 { break_unless true } }"),
              HasSubstr("no loop to leave"));
  EXPECT_THAT(complaint("lane %1 < 8 { barrier }"), HasSubstr("between lane loops"));
  EXPECT_THAT(complaint("lane %1 < 8 { if true { } }"), HasSubstr("between lane loops"));
  EXPECT_THAT(complaint("serial %1 < 4 { break_unless %1 }"), HasSubstr("the condition is i32"));
  EXPECT_THAT(complaint("if true { %1 = f32 load b0[0] } lane %2 < 8 { store b1[%2] = %1 }"),
              HasSubstr("used where it is not defined"));
}

TEST(VerifyKernel, UniformAccessOutsideLanesIsFine) {
  EXPECT_EQ(complaint("%1 = i32 read s1[3] %2 = f32 load b0[%1]"), "");
}

TEST(VerifyKernel, Ranges) {
  EXPECT_THAT(complaint("lane %1 < 8 { write r0[4] = 0.0 }"), HasSubstr("values 4 to 4"));
  EXPECT_THAT(complaint("lane %1 < 8 { unroll %2 < 2 { unroll %3 < 3 { %4 = i32 multiply %2, 2"
                        " %5 = i32 add %4, %3 %6 = f32 read r0[%5] } } }"),
              HasSubstr("values 0 to 4"));
  EXPECT_EQ(complaint("lane %1 < 8 { %2 = i32 subtract 7, %1 %3 = i32 read s1[%2] }"), "");
  // %1 - %1 is 0, which a range of two independent variables would not say.
  EXPECT_EQ(complaint("lane %1 < 8 { %2 = i32 subtract %1, %1 %3 = i32 read s1[%2] }"), "");
}

// Two subgroups side by side, each with a matrix of 16 x 16.
Kernel matrix_kernel() {
  return *parse_kernel(
      "kernel test lanes 64 params 0 { shared s0: ui32[192] shared s1: ui32[384]"
      " shared s2: f32[512] register r3: ui32[384] matrices f16 f32 m 16 n 16 k 16 subgroup 32"
      " rows 1 columns 1 across 2 depth 16 a_along_k 0 a_pitch 12 b_along_k 1 b_pitch 12"
      " grid { matrix_clear matrix_multiply s0, s1 matrix_store s2, 0 } }",
      "test");
}

TEST(VerifyKernel, UnrolledLoopsHaveAnEnd) {
  std::string body = "{ unroll %2 < 1024 { lane %3 < 1 { write r0[0] = 1.0 } } }";
  EXPECT_EQ(complaint("unroll %1 < 500 " + body), "");
  EXPECT_THAT(complaint("unroll %1 < 1024 " + body), HasSubstr("2098177 statements"));
}

TEST(VerifyKernel, MatricesFitTheirWorkgroup) {
  EXPECT_EQ(complaint(matrix_kernel()), "");
  auto changed = [](auto change) {
    Kernel kernel = matrix_kernel();
    change(*kernel.matrices);
    return complaint(kernel);
  };
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.subgroup = 48; }), HasSubstr("64 lanes"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.across = 3; }), HasSubstr("64 lanes"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.rows = 0; }), HasSubstr("(0)"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.rows = 1 << 20; }), HasSubstr("(1048576)"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.depth = 24; }), HasSubstr("depth (24)"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.shape.element = DType::kF64; }),
              HasSubstr("f64"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.a_pitch = 7; }), HasSubstr("A do not fit"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.b_pitch = 7; }), HasSubstr("B do not fit"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.a_pitch = 13; }), HasSubstr("an array of 192"));
  EXPECT_THAT(changed([](SubgroupMatrices& m) { m.b_pitch = 13; }), HasSubstr("an array of 384"));
  Kernel kernel = matrix_kernel();
  kernel.lanes = int64_t{1} << 40;
  EXPECT_THAT(complaint(kernel), HasSubstr("too many subgroups"));
}

TEST(VerifyKernel, MatrixStatements) {
  auto changed = [](size_t i, auto change) {
    Kernel kernel = matrix_kernel();
    change(kernel.body[i]);
    return complaint(kernel);
  };
  EXPECT_THAT(changed(0, [](Stmt& s) { s.arrays = {0}; }), HasSubstr("it has an array"));
  EXPECT_THAT(changed(1, [](Stmt& s) { s.arrays = {0}; }), HasSubstr("no two arrays"));
  EXPECT_THAT(changed(1, [](Stmt& s) { s.arrays = {0, 9}; }), HasSubstr("not declared"));
  EXPECT_THAT(changed(1, [](Stmt& s) { s.arrays = {0, 2}; }), HasSubstr("of f32, not ui32"));
  EXPECT_THAT(changed(1, [](Stmt& s) { s.arrays = {0, 3}; }), HasSubstr("not shared"));
  EXPECT_THAT(changed(2, [](Stmt& s) { s.arrays.clear(); }), HasSubstr("no array"));
  EXPECT_THAT(changed(2, [](Stmt& s) { s.operands = {Operand::i32(1)}; }),
              HasSubstr("none of the 1"));
  EXPECT_THAT(changed(2, [](Stmt& s) { s.operands.clear(); }), HasSubstr("0 operands"));
  Kernel kernel = matrix_kernel();
  kernel.matrices.reset();
  EXPECT_THAT(complaint(kernel), HasSubstr("no matrices"));
  EXPECT_THAT(complaint("lane %1 < 8 { matrix_clear }"), HasSubstr("the kernel has no matrices"));
  kernel = matrix_kernel();
  Stmt lane;
  lane.kind = Stmt::Kind::kLane;
  lane.operands = {Operand::i32(64)};
  lane.body = {kernel.body[0]};
  kernel.body[0] = lane;
  kernel.num_values = 1;
  EXPECT_THAT(complaint(kernel), HasSubstr("between lane loops"));
}

}  // namespace
}  // namespace tuff
