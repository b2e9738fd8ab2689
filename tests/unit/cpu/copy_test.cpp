// Copies in pieces whose loops lie otherwise in the result than in what they read.
#include "backend/cpu/indexing/copy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

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

// Each row twice, twice over, as the gradient of a pool does it: rows of any length, and loops that
// change places where the inner one has few.
TEST(CpuCopyRows, RepeatsShortRows) {
  for (DType type : {DType::kU8, DType::kBF16, DType::kF32, DType::kF64})
    for (int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 129, 400})
      for (auto [lines, rows] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 40}}) {
        const int64_t size = dtype_size(type), count = lines * rows * n;
        std::vector<uint8_t> from(static_cast<size_t>(count * size));
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 37 % 251);
        std::vector<uint8_t> to(from.size() * 4, 255);
        CopyCall call{type, 1, 4 * count, {}};
        call.pieces.push_back({0,
                               0,
                               0,
                               0,
                               {{lines, rows * n, 4 * rows * n},
                                {2, 0, 2 * rows * n},
                                {rows, n, 2 * n},
                                {2, 0, n},
                                {n, 1, 1}}});
        auto copy = cpu::create_copy(call, table());
        ASSERT_TRUE(copy->run(std::array{operand(from), operand(to)}).ok());
        const auto row_bytes = static_cast<size_t>(n * size);
        for (int64_t i = 0; i < 4 * lines * rows; ++i) {
          const int64_t line = i / (4 * rows), row = i % (2 * rows) / 2;
          ASSERT_EQ(std::memcmp(to.data() + static_cast<size_t>(i) * row_bytes,
                                from.data() + static_cast<size_t>(line * rows + row) * row_bytes,
                                row_bytes),
                    0)
              << n << " elements of " << size << " bytes, row " << i;
        }
      }
}

// Wherever the result's row begins in its page behind the source's: rows are copied forwards or
// from their ends.
TEST(CpuCopyRows, LieAnywhere) {
  constexpr int64_t kRoom = 4096 / sizeof(float), kMost = 5000;
  std::vector<float> memory(4 * kMost + 2 * kRoom, 0);
  auto* aligned =
      reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory.data()) + 4095) / 4096 * 4096);
  for (int64_t n : {7, 64, 65, 100, 1000, 5000})
    for (int64_t behind : {0, 1, 3, 16, 100, 127, 129, 1023}) {
      float *from = aligned, *to = aligned + 2 * kMost / kRoom * kRoom + behind;
      for (int64_t i = 0; i < n; ++i) from[i] = static_cast<float>(i), to[i] = to[n] = -1;
      CopyCall call{DType::kF32, 1, n, {{0, 0, 0, 0, {{n, 1, 1}}}}};
      const std::array operands{cpu::CallOperand{reinterpret_cast<std::byte*>(from), 0},
                                cpu::CallOperand{reinterpret_cast<std::byte*>(to), 0}};
      ASSERT_TRUE(cpu::create_copy(call, table())->run(operands).ok());
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(to[i], static_cast<float>(i)) << n << ", " << behind;
      ASSERT_EQ(to[n], -1) << n << ", " << behind;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CpuCopy,
                         testing::Values(Sizes{1, 1}, Sizes{3, 5}, Sizes{16, 16}, Sizes{9, 130},
                                         Sizes{257, 33}, Sizes{256, 1024}, Sizes{5, 5000}));

}  // namespace
}  // namespace tuff::test
