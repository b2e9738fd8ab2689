// Where plan_barriers puts barriers, told by the index of the statement behind
// each: "0" is the first statement of the grid, "1.0" the first in the second.
#include <gtest/gtest.h>

#include "shaders/emit/emit_glsl_barriers.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {
namespace {

void list(const Block& block, const std::string& path, const BarrierPlan& plan, std::string& out) {
  for (size_t i = 0; i < block.size(); ++i) {
    std::string at = path + std::to_string(i);
    if (auto it = plan.before.find(&block[i]); it != plan.before.end())
      out += at + (it->second ? "+buffers " : " ");
    list(block[i].body, at + ".", plan, out);
  }
}

std::string barriers(const std::string& body, int lanes = 8) {
  Result<Kernel> kernel =
      parse_kernel("kernel test lanes " + std::to_string(lanes) +
                       " params 1 { buffer b0: i32 readwrite"
                       " shared s0: i32[8] shared s1: i32[8] register r2: i32[1] grid { " +
                       body + " } }",
                   "test");
  EXPECT_TRUE(kernel.ok()) << kernel.error().to_string();
  Status status = verify_kernel(*kernel);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
  std::string out;
  list(kernel->body, "", plan_barriers(*kernel, {}), out);
  return out;
}

const std::string kWrite0 = "lane %10 < 8 { write s0[%10] = %10 } ";
const std::string kRead0 = "lane %11 < 8 { %12 = i32 read s0[0] } ";
const std::string kRead0Again = "lane %13 < 8 { %14 = i32 read s0[1] } ";
const std::string kWrite1 = "lane %15 < 8 { write s1[%15] = %15 } ";
const std::string kReduce = "%20 = reduce_lanes r2 (%21, %22) { } -> %21 ";
const std::string kReduceAgain = "%23 = reduce_lanes r2 (%24, %25) { } -> %24 ";

TEST(Barriers, BetweenWriteAndRead) {
  EXPECT_EQ(barriers(kWrite0 + kRead0), "1 ");
  EXPECT_EQ(barriers(kRead0 + kWrite0), "1 ");
  EXPECT_EQ(barriers(kRead0 + kRead0Again), "");
  EXPECT_EQ(barriers(kWrite0 + kWrite1), "");
}

TEST(Barriers, OneServesEverythingBefore) {
  EXPECT_EQ(barriers(kWrite0 + kWrite1 + kRead0 + "%30 = i32 read s1[0]"), "2 ");
}

TEST(Barriers, AroundTheBackEdge) {
  EXPECT_EQ(barriers("serial %1 < p0 { " + kWrite0 + kRead0 + "}"), "0.0 0.1 ");
  EXPECT_EQ(barriers("serial %1 < p0 { " + kRead0 + "} " + kWrite0), "1 ");
  // The write to s0 is behind the barrier that the read of s1 needs.
  EXPECT_EQ(barriers("serial %1 < p0 { " + kWrite0 + kRead0 + kWrite1 +
                     "lane %16 < 8 { %17 = i32 read s1[0] } }"),
            "0.1 0.3 ");
}

TEST(Barriers, UnrolledLoopsHaveABackEdgeToo) {
  EXPECT_EQ(barriers("unroll %1 < 2 { " + kWrite0 + kRead0 + "}"), "0.0 0.1 ");
}

TEST(Barriers, ReduceUsesItsScratchAgain) {
  EXPECT_EQ(barriers(kReduce), "");
  EXPECT_EQ(barriers(kReduce + kReduceAgain), "1 ");
  EXPECT_EQ(barriers("serial %1 < p0 { " + kReduce + "}"), "0.0 ");
  // It waits inside, so what was written before it can be read after it.
  EXPECT_EQ(barriers(kWrite0 + kReduce + kRead0), "");
}

TEST(Barriers, BuffersThatLanesPassValuesThrough) {
  const std::string store = "lane %2 < 8 { store b0[%2] = %2 } ";
  const std::string load = "lane %3 < 8 { %4 = i32 load b0[0] } ";
  EXPECT_EQ(barriers(store + load), "1+buffers ");
  EXPECT_EQ(barriers(load + store), "1 ");
  EXPECT_EQ(barriers(store + kReduce + load), "2+buffers ");
}

TEST(Barriers, OneLaneNeedsNone) {
  EXPECT_EQ(barriers("lane %1 < 1 { write s0[0] = 1 } lane %2 < 1 { %3 = i32 read s0[0] }", 1), "");
}

// Those that stand in the text are enough; what branches and loops leave is waited for after them.
TEST(Barriers, StepsOfALoop) {
  const std::string store = "lane %2 < 8 { store b0[%2] = %2 } ";
  const std::string load = "lane %3 < 8 { %4 = i32 load b0[0] } ";
  EXPECT_EQ(barriers(store + "barrier " + load), "");
  EXPECT_EQ(barriers(store + "if true { barrier } " + load), "2+buffers ");
  EXPECT_EQ(barriers("if true { " + store + "} " + load), "1+buffers ");
  EXPECT_EQ(barriers("serial %1 < p0 { " + store + "break_unless true barrier } " + load),
            "1+buffers ");
  EXPECT_EQ(barriers("serial %1 < p0 { " + store + "barrier break_unless true } " + load), "");
}

// Products wait for what lanes wrote, and lanes for the products that read it; the sums they
// store are waited for. Other arrays pass.
TEST(Barriers, AroundMatrices) {
  Result<Kernel> kernel = parse_kernel(
      "kernel test lanes 32 params 1 { shared s0: ui32[192] shared s1: ui32[192] shared s2: "
      "f32[256]"
      " shared s3: ui32[192] matrices f16 f32 m 16 n 16 k 16 subgroup 32 rows 1 columns 1 across 1"
      " depth 16 a_along_k 1 a_pitch 12 b_along_k 1 b_pitch 12 grid { matrix_clear"
      " lane %0 < 32 { write s0[%0] = ui32 1 write s1[%0] = ui32 1 }"
      " matrix_multiply s0, s1"
      " lane %1 < 32 { write s3[%1] = ui32 1 }"
      " lane %2 < 32 { write s0[%2] = ui32 1 }"
      " matrix_store s2, 0"
      " lane %3 < 32 { %4 = f32 read s2[%3] } } }",
      "test");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  Status status = verify_kernel(*kernel);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  std::string out;
  list(kernel->body, "", plan_barriers(*kernel, {}), out);
  EXPECT_EQ(out, "2 4 6 ");
}

}  // namespace
}  // namespace tuff
