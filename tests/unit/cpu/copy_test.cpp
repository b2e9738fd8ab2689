// Copies in pieces whose loops lie otherwise in the result than in what they read.
#include "backend/cpu/indexing/copy.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

struct Sizes {
  int64_t rows, columns;
};

class CpuCopy : public testing::TestWithParam<Sizes> {};

// Two matrices, turned, their elements in turns: what a transpose of complex numbers is.
TEST_P(CpuCopy, InterleavesTransposes) {
  const auto [rows, columns] = GetParam();
  std::vector<float> a = numbers(rows * columns, 1), b = numbers(rows * columns, 2);
  std::vector<float> to(static_cast<size_t>(2 * rows * columns), -7);
  CopyCall call{DType::kF32, 2, 2 * rows * columns, {}};
  for (uint32_t i : {0u, 1u})
    call.pieces.push_back({i, 0, 0, i, {{columns, 1, 2 * rows}, {rows, columns, 2}}});
  auto copy = cpu::create_copy(call, table());
  ASSERT_TRUE(copy->run(std::array{operand(a), operand(b), operand(to)}).ok());
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      const auto from = static_cast<size_t>(r * columns + c);
      const auto at = static_cast<size_t>(2 * (c * rows + r));
      ASSERT_EQ(to[at], a[from]) << r << ", " << c;
      ASSERT_EQ(to[at + 1], b[from]) << r << ", " << c;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CpuCopy,
                         testing::Values(Sizes{1, 1}, Sizes{3, 5}, Sizes{16, 16}, Sizes{9, 130},
                                         Sizes{257, 33}, Sizes{256, 1024}, Sizes{5, 5000}));

}  // namespace
}  // namespace tuff::test
