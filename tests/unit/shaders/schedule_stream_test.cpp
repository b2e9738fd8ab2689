// Which products of few rows stream their large operand, and how rows are shared by workgroups.
#include <gtest/gtest.h>

#include "shaders/schedule/contraction_schedule.h"

namespace tuff {
namespace {

Caps gpu(int64_t subgroup = 64) {
  Caps caps;
  caps.device_class = DeviceClass::kDiscreteGpu;
  caps.subgroup_size = subgroup;
  caps.subgroup_shuffle = true;
  caps.max_group_invocations = 1024;
  caps.max_shared_bytes = 32 << 10;
  return caps;
}

ContractionProblem product(int64_t m, int64_t n, int64_t k, bool b_along_k, int64_t b_bytes = 4) {
  ContractionProblem problem;
  problem.sizes = {1, m, n, {k}};
  problem.a_along_k = true;
  problem.b_along_k = b_along_k;
  problem.b_bytes = b_bytes;
  return problem;
}

TEST(Streams, AreForFewRowsOnGpus) {
  EXPECT_TRUE(choose_stream_schedule(gpu(), product(1, 4096, 4096, false)));
  EXPECT_TRUE(choose_stream_schedule(gpu(), product(8, 4096, 4096, true)));
  EXPECT_FALSE(choose_stream_schedule(gpu(), product(128, 4096, 4096, false)));
  EXPECT_FALSE(choose_stream_schedule(gpu(), product(16, 4096, 4096, true)));
  Caps software = gpu(8);
  software.device_class = DeviceClass::kSoftwareRasteriser;
  EXPECT_FALSE(choose_stream_schedule(software, product(1, 4096, 4096, false)));
  ContractionProblem wide = product(1, 4096, 4096, false);
  wide.sum = DType::kF64;
  EXPECT_FALSE(choose_stream_schedule(gpu(), wide));
}

TEST(Streams, LoadWordsOfSixteenBytes) {
  for (bool along_k : {false, true})
    for (int64_t bytes : {1, 2, 4}) {
      auto s = choose_stream_schedule(gpu(), product(1, 4096, 4096, along_k, bytes));
      ASSERT_TRUE(s);
      EXPECT_EQ(s->run * bytes, bytes == 1 ? 8 : 16);
      EXPECT_GE(s->along_k ? s->unroll * s->lines : s->unroll, 8);
    }
  // Odd columns are no words.
  EXPECT_EQ(choose_stream_schedule(gpu(), product(1, 4097, 4096, false))->run, 1);
}

// What divides k leaves no round with a guard.
TEST(Streams, WalkWholeRounds) {
  for (int64_t k : {768, 1536, 3072, 4096})
    for (int64_t n : {512, 2304, 4096}) {
      auto s = choose_stream_schedule(gpu(), product(2, n, k, false));
      ASSERT_TRUE(s);
      EXPECT_EQ(k % s->round_steps(), 0) << n << " columns, k " << k;
      EXPECT_GE(s->unroll, 4);
    }
}

// GPT-2's products of a decode step: two subgroups on each SIMD of 80 cores.
TEST(Streams, FillADevice) {
  for (auto [n, k] : {std::pair{2304, 768}, {3072, 768}, {768, 3072}}) {
    ContractionProblem problem = product(2, n, k, false);
    auto s = choose_stream_schedule(gpu(), problem);
    ASSERT_TRUE(s);
    EXPECT_GE(s->groups(problem.sizes) * s->lanes(), 80 * 2 * 2 * 64);
    EXPECT_FALSE(choose_contraction_schedule(gpu(), problem).split);
  }
}

TEST(Streams, TakeEitherOperand) {
  ContractionProblem problem = product(5000, 1, 512, false);
  auto s = choose_stream_schedule(gpu(), problem);
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->swapped);
  EXPECT_TRUE(s->along_k);
  problem.windows = true;
  EXPECT_FALSE(choose_stream_schedule(gpu(), problem));
}

TEST(Streams, KeepToTheRegistersAndMemoryOfTheDevice) {
  Caps caps = gpu(16);
  caps.lane_registers = 128;
  caps.max_group_invocations = 256;
  caps.max_shared_bytes = 16 << 10;
  for (int64_t m : {1, 2, 3, 8})
    for (bool along_k : {false, true}) {
      ContractionProblem problem = product(m, 4096, 4096, along_k);
      auto s = choose_stream_schedule(caps, problem);
      EXPECT_TRUE(!s || is_legal_stream(*s, problem, caps));
    }
}

TEST(RowParts, AreForFewLongRows) {
  auto all = choose_row_parts(gpu(), 1, 1, 1 << 24, true);
  ASSERT_TRUE(all);
  EXPECT_GE(all->parts * all->lanes(), 20480);
  EXPECT_GE(all->parts * all->length, 1 << 24);
  EXPECT_EQ(all->length % (all->down * all->run * all->unroll), 0);
  EXPECT_TRUE(choose_row_parts(gpu(), 2, 2, 50257, true));
  EXPECT_FALSE(choose_row_parts(gpu(), 4096, 4096, 50257, true));  // rows enough
  EXPECT_FALSE(choose_row_parts(gpu(), 2, 2, 1024, true));         // not long
  auto columns = choose_row_parts(gpu(), 64, 64, 65536, false);
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->across, 64);
  EXPECT_LE(columns->parts, 32);
}

TEST(RowParts, OfACpuHaveAllColumns) {
  Caps cpu;
  for (int64_t rows : {1, 3, 7})
    for (int64_t columns : {1 << 16, 65537, 1 << 24}) {
      auto parts = choose_row_parts(cpu, rows, rows, columns, true);
      ASSERT_TRUE(parts) << rows << " x " << columns;
      EXPECT_GE(parts->parts * parts->length, columns);
      EXPECT_LT((parts->parts - 1) * parts->length, columns);
      EXPECT_EQ(parts->length % parts->down, 0);
    }
  EXPECT_FALSE(choose_row_parts(cpu, 8, 8, 1 << 24, true));   // rows enough
  EXPECT_FALSE(choose_row_parts(cpu, 1, 1, 4096, true));      // not long
  EXPECT_FALSE(choose_row_parts(cpu, 1, 1, 1 << 24, false));  // lanes own rows
}

TEST(RowSchedule, LanesOfACpuOwnShortRows) {
  Caps cpu;
  auto lanes_own = [&](int64_t rows, int64_t columns) {
    return !choose_row_schedule(cpu, rows, rows, columns, 1, true)->lanes_over_columns;
  };
  EXPECT_TRUE(lanes_own(300'000, 3));
  EXPECT_TRUE(lanes_own(1000, 100));
  EXPECT_FALSE(lanes_own(1000, 1000));
  EXPECT_FALSE(lanes_own(1, 100));  // one lane would do all of it
  const RowFolds native{.count = 2, .native = true};
  EXPECT_FALSE(choose_row_schedule(cpu, 1000, 1000, 3, 1, true, native)->lanes_over_columns);
  EXPECT_TRUE(choose_row_schedule(cpu, 1000, 1000, 100, 1, true, native)->lanes_over_columns);
  Caps gpu;
  gpu.device_class = DeviceClass::kDiscreteGpu;
  EXPECT_TRUE(choose_row_schedule(gpu, 300'000, 300'000, 3, 1, true)->lanes_over_columns);
}

}  // namespace
}  // namespace tuff
