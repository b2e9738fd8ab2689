// The text form: round trips, immediates, and errors with a place. The goldens of
// emit_glsl_test.cpp are round-tripped there.
#include "shaders/kernel/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tuff {
namespace {

using testing::HasSubstr;

Operand round_trip(const Operand& operand) {
  Kernel kernel;
  kernel.family = "test";
  kernel.num_values = 1;
  Stmt stmt;
  stmt.kind = Stmt::Kind::kConvert;
  stmt.operands = {operand};
  kernel.body = {stmt};
  std::string text = print_kernel(kernel);
  Result<Kernel> parsed = parse_kernel(text, "test");
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed.ok()) return {};
  EXPECT_EQ(print_kernel(*parsed), text);
  return parsed->body[0].operands[0];
}

// The kernel that the text says, which prints as the same text.
Kernel round_tripped(const std::string& text) {
  Result<Kernel> kernel = parse_kernel(text, "test");
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().to_string());
  if (!kernel.ok()) return {};
  EXPECT_EQ(print_kernel(*kernel), text);
  return *kernel;
}

TEST(KernelText, EveryHalfRoundTrips) {
  for (uint64_t bits = 0; bits <= 0xffff; bits += 7)
    for (DType dtype : {DType::kF16, DType::kBF16, DType::kI16, DType::kU16})
      ASSERT_EQ(round_trip(Operand::immediate(dtype, bits)), Operand::immediate(dtype, bits));
}

TEST(KernelText, WideImmediatesRoundTrip) {
  for (uint64_t bits = 1; bits != 0; bits *= 0x10003) {  // ends: the product loses its low bits
    if (bits >> 60 == 15) break;
    auto low = static_cast<uint32_t>(bits >> 7);
    for (DType dtype : {DType::kI32, DType::kU32, DType::kF32})
      ASSERT_EQ(round_trip(Operand::immediate(dtype, low)), Operand::immediate(dtype, low));
    for (DType dtype : {DType::kI64, DType::kU64, DType::kF64})
      ASSERT_EQ(round_trip(Operand::immediate(dtype, bits)), Operand::immediate(dtype, bits));
  }
  EXPECT_EQ(round_trip(Operand::i32(INT32_MIN)), Operand::i32(INT32_MIN));
  EXPECT_EQ(round_trip(Operand::boolean(true)), Operand::boolean(true));
  EXPECT_EQ(round_trip(Operand::immediate(DType::kF32, 0x80000000)).bits, 0x80000000u);
  EXPECT_EQ(round_trip(Operand::immediate(DType::kF32, 1)).bits, 1u);
  EXPECT_EQ(round_trip(Operand::immediate(DType::kF64, 1)).bits, 1u);
}

TEST(KernelText, WordsRoundTrip) {
  const char* text =
      "kernel k lanes 4 params 0 {\n"
      "  buffer b0: f16 read address words 8\n"
      "  buffer b1: f32 read words 2\n"
      "  buffer b2: i32 write words 2\n"
      "  grid {\n"
      "    lane %0 < 4 {\n"
      "      store_word b2[%0] = 1, 2 if true\n"
      "      %1, %2, %3, %4, %5, %6, %7, %8 = load_word b0[%0]\n"
      "      %9, %10 = load_word b1[%0] if true\n"
      "      %11 = ui64 pack %9, %10\n"
      "    }\n"
      "  }\n"
      "}\n";
  EXPECT_TRUE(verify_kernel(round_tripped(text)).ok());
}

TEST(KernelText, SpacesAndCommentsDoNotMatter) {
  const char* loose =
      "// a kernel\nkernel k lanes 1 params 0 {buffer b0:f32 write address\n"
      "grid{lane %0<1{store b0[%0]=1.0 if true}}} // end";
  Result<Kernel> kernel = parse_kernel(loose, "test");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_EQ(print_kernel(*kernel),
            "kernel k lanes 1 params 0 {\n"
            "  buffer b0: f32 write address\n"
            "  grid {\n"
            "    lane %0 < 1 {\n"
            "      store b0[%0] = 1.0 if true\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(KernelText, StepsOfALoopRoundTrip) {
  const char* text =
      "kernel k lanes 4 params 1 {\n"
      "  buffer b0: i1 write aliased\n"
      "  register r0: f32[1]\n"
      "  grid {\n"
      "    %2 = reduce_lanes r0 of 2 (%3, %4) {\n"
      "    } -> %3\n"
      "    serial %0 < p0 {\n"
      "      %1 = i1 eq %0, 2\n"
      "      if %1 {\n"
      "        barrier\n"
      "      }\n"
      "      break_unless %1\n"
      "    }\n"
      "  }\n"
      "}\n";
  round_tripped(text);
}

TEST(KernelText, MatricesRoundTrip) {
  std::string text =
      "kernel k lanes 64 params 0 {\n"
      "  shared s0: ui32[384]\n"
      "  shared s1: ui32[384]\n"
      "  shared s2: f32[512]\n"
      "  matrices f16 f32 m 16 n 16 k 16 subgroup 32 rows 1 columns 1 across 2 depth 16 "
      "a_along_k 0 a_pitch 12 b_along_k 1 b_pitch 12\n"
      "  grid {\n"
      "    matrix_clear\n"
      "    matrix_multiply s0, s1\n"
      "    matrix_store s2, 0\n"
      "  }\n"
      "}\n";
  SubgroupMatrices matrices{{16, 16, 16}, 32, 1, 1, 2, 16, false, true, 12, 12};
  EXPECT_EQ(round_tripped(text).matrices, matrices);
}

std::string error_of(const std::string& body) {
  Result<Kernel> kernel =
      parse_kernel("kernel k lanes 1 params 0 {\n  register r0: f32[1]\n  grid {\n" + body, "f.k");
  return kernel.ok() ? "" : kernel.error().to_string();
}

TEST(KernelText, ErrorsNameThePlace) {
  EXPECT_THAT(error_of("    %0 = f32 add %1, 1.0\n"), HasSubstr("f.k:4:20: "));
  EXPECT_THAT(error_of("    %0 = f32 add %1, 1.0\n"), HasSubstr("%1 is not defined"));
  EXPECT_THAT(error_of("%0 = f32 plus 1.0, 1.0"), HasSubstr("(plus)"));
  EXPECT_THAT(error_of("%0 = f31 add 1.0, 1.0"), HasSubstr("(f31)"));
  EXPECT_THAT(error_of("%0 = i8 add i8 300, i8 1"), HasSubstr("(300)"));
  EXPECT_THAT(error_of("%0 = f32 read s0[0]"), HasSubstr("no such array"));
  EXPECT_THAT(error_of("%0, %1 = f32 add 1.0, 1.0"), HasSubstr("only reduce_lanes"));
  EXPECT_THAT(error_of("serial %0 < 4 {"), HasSubstr("the end of the text"));
  EXPECT_THAT(error_of("} } }"), HasSubstr("the end of the text is expected"));
  EXPECT_THAT(error_of("%4294967295 = f32 add 1.0, 1.0 } }"), HasSubstr("too large"));
}

TEST(KernelText, DeepNestingIsAnErrorNotACrash) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "serial %0 < 4 {";
  EXPECT_THAT(error_of(deep), HasSubstr("too deep"));
}

TEST(KernelText, EveryPrefixIsAnError) {
  const std::string text =
      "kernel rows lanes 8 params 1 { buffer b0: f32 readwrite register r0: f32[1]"
      " grid %0 < p0, %1 < 2 { lane %2 < 8 { %3 = f32 load b0[%2] if true else f32 0x7fc00000"
      " write r0[0] = %3 } %4 = reduce_lanes r0 (%5, %6) { %7 = f32 add %5, %6 } -> %7 } }";
  ASSERT_TRUE(parse_kernel(text, "test").ok());
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(parse_kernel(text.substr(0, n), "t").ok());
}

}  // namespace
}  // namespace tuff
