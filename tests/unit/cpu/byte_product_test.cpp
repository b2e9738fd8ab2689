// Products of bytes at every level of the processor against plain loops: the extremes, whose sums
// neither 16 bits nor f32 hold, zero points and sizes that fill no block.
#include "backend/cpu/gemm/byte_product.h"

#include <gtest/gtest.h>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

using cpu::IsaLevel;

int32_t as_int(uint8_t byte, DType dtype) {
  return dtype == DType::kI8 ? static_cast<int8_t>(byte) : byte;
}

std::vector<uint8_t> bytes(int64_t count, uint32_t seed) {
  std::vector<uint8_t> values(static_cast<size_t>(count));
  uint32_t state = seed;
  for (uint8_t& value : values) {
    state = state * 1664525u + 1013904223u;
    constexpr uint8_t kExtremes[] = {0, 127, 128, 255};
    value = state >> 30 == 0 ? static_cast<uint8_t>(state >> 16) : kExtremes[state >> 20 & 3];
  }
  return values;
}

struct Problem {
  int64_t m, n, k;
  DType a_type = DType::kU8, b_type = DType::kI8;
  int32_t a_zero = 0, b_zero = 0;
  bool by_columns = false;  // how A and B lie
};

std::vector<int32_t> plain_sums(const Problem& p, const std::vector<uint8_t>& a,
                                const std::vector<uint8_t>& b) {
  std::vector<int32_t> sums;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const int64_t x = p.by_columns ? k * p.m + i : i * p.k + k;
        const int64_t w = p.by_columns ? j * p.k + k : k * p.n + j;
        sum += int64_t{as_int(a[static_cast<size_t>(x)], p.a_type) - p.a_zero} *
               (as_int(b[static_cast<size_t>(w)], p.b_type) - p.b_zero);
      }
      sums.push_back(static_cast<int32_t>(sum));
    }
  return sums;
}

void expect_sums(const Problem& p, IsaLevel level) {
  ByteProductCall call;
  call.a_type = p.a_type, call.b_type = p.b_type;
  call.rows = {{p.m, p.by_columns ? 1 : p.k}};
  call.depth = p.k, call.columns = p.n;
  call.a_col = p.by_columns ? p.m : 1;
  call.b_row = p.by_columns ? 1 : p.n, call.b_col = p.by_columns ? p.k : 1;
  call.a_zero.value = p.a_zero, call.b_zero.value = p.b_zero;
  const cpu::LaneTable& table = cpu::lane_table(level);
  cpu::DerivedOwner keeps(int64_t{1} << 30);
  auto product = cpu::create_byte_product(call, true, table, keeps, nullptr);
  ASSERT_TRUE(product.ok());
  for (uint64_t version : {0, 7, 7, 8}) {
    std::vector<uint8_t> a = bytes(p.m * p.k, 1), b = bytes(p.k * p.n, version == 8 ? 3 : 2);
    std::vector<int32_t> got(static_cast<size_t>(p.m * p.n), -1);
    std::vector<cpu::CallOperand> operands{{reinterpret_cast<std::byte*>(a.data()), 0},
                                           {reinterpret_cast<std::byte*>(b.data()), version},
                                           {reinterpret_cast<std::byte*>(got.data()), 0}};
    ASSERT_TRUE((*product)->run(operands).ok());
    ASSERT_EQ(got, plain_sums(p, a, b)) << p.m << "x" << p.n << "x" << p.k << " at "
                                        << cpu::isa_level_name(level) << ", version " << version;
  }
}

TEST(ByteProduct, SumsAreExact) {
  constexpr DType kI8 = DType::kI8, kU8 = DType::kU8;
  const Problem problems[] = {{3, 35, 2051},
                              {1, 1000, 2048, kU8, kI8, 3},
                              {130, 67, 64, kU8, kI8, 128},
                              {64, 160, 128, kI8, kI8, -5, 9},
                              {33, 96, 192, kI8, kU8, 7, 100},
                              {17, 16, 256, kU8, kU8, 255, 255},
                              {15, 15, 63, kU8, kU8, 0, 128, true},
                              {200, 40, 100, kI8, kI8, 0, 0, true},
                              {49, 512, 576, kU8, kI8, 114},
                              {1, 1, 1, kI8, kU8, -128, 255},
                              {2, 3, 0, kI8, kU8, 1, 2}};
  for (int level = 0; level < cpu::kNumIsaLevels; ++level)
    for (const Problem& problem : problems)
      if (cpu::isa_level_available(static_cast<IsaLevel>(level)))
        expect_sums(problem, static_cast<IsaLevel>(level));
}

}  // namespace
}  // namespace tuff::test
