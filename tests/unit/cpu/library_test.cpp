// Matmul and convolution calls against plain loops: odd shapes, strides, batches.
#ifdef TUFF_HAS_ONEDNN
#include <gtest/gtest.h>

#include <numeric>

#include "backend/cpu/convolution.h"
#include "backend/cpu/gemm.h"

namespace tuff::test {
namespace {

// Small integers: sums are exact in any order.
std::vector<float> numbers(int64_t n, int salt) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>((i * 29 + static_cast<size_t>(salt)) % 15) - 7);
  return values;
}

cpu::CallOperand operand(std::vector<float>& values, uint64_t version = 0) {
  return {reinterpret_cast<std::byte*>(values.data()), version};
}

struct Naive {
  const MatmulCall& call;
  const std::vector<float>&a, &b;
  std::vector<float>& c;

  void run(size_t dim, int64_t a0, int64_t b0, int64_t c0) {
    if (dim < call.batch.size()) {
      for (int64_t i = 0; i < call.batch[dim]; ++i)
        run(dim + 1, a0 + i * call.a_batch_strides[dim], b0 + i * call.b_batch_strides[dim],
            c0 + i * call.c_batch_strides[dim]);
      return;
    }
    for (int64_t i = 0; i < call.m; ++i)
      for (int64_t j = 0; j < call.n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < call.k; ++l)
          sum += a[static_cast<size_t>(a0 + i * call.a_row + l * call.a_col)] *
                 b[static_cast<size_t>(b0 + l * call.b_row + j * call.b_col)];
        c[static_cast<size_t>(c0 + i * call.c_row + j * call.c_col)] = sum;
      }
  }
};

// Four runs: contents that may change, then the same ones thrice (plain, packed,
// the packed copy again), then others under new versions.
void expect_naive(const MatmulCall& call, const std::string& what) {
  std::vector<float> a = numbers(40000, 1), b = numbers(40000, 2), c(40000, 5), want = c;
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  auto created = cpu::create_matmul(call, true, true);
  ASSERT_TRUE(created.ok()) << what << created.error().to_string();
  for (uint64_t version : {0, 7, 7, 7}) {
    std::fill(c.begin(), c.end(), 5.0f);
    cpu::CallOperand operands[] = {operand(a, version), operand(b, version), operand(c)};
    Status status = (*created)->run(operands);
    ASSERT_TRUE(status.ok()) << what << status.error().to_string();
    ASSERT_EQ(c, want) << what << " version " << version;
  }
  a = numbers(40000, 3), b = numbers(40000, 4);
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  for (int run = 0; run < 2; ++run) {  // the second packs anew
    std::fill(c.begin(), c.end(), 5.0f);
    cpu::CallOperand operands[] = {operand(a, 8), operand(b, 9), operand(c)};
    ASSERT_TRUE((*created)->run(operands).ok());
    ASSERT_EQ(c, want) << what << " after a change";
  }
}

MatmulCall call_of(int64_t m, int64_t n, int64_t k) {
  MatmulCall call;
  call.m = m, call.n = n, call.k = k;
  call.a_row = k, call.a_col = 1;
  call.b_row = n, call.b_col = 1;
  call.c_row = n, call.c_col = 1;
  return call;
}

TEST(CpuMatmul, ShapesAndTransposes) {
  const int64_t shapes[][3] = {{1, 1, 1},    {1, 17, 5},   {17, 1, 5},    {5, 7, 1},
                               {13, 29, 31}, {64, 64, 64}, {33, 100, 65}, {3, 5, 0}};
  for (auto& [m, n, k] : shapes)
    for (int transposed = 0; transposed < 8; ++transposed) {
      MatmulCall call = call_of(m, n, k);
      if (transposed & 1) call.a_row = 1, call.a_col = m;
      if (transposed & 2) call.b_row = 1, call.b_col = k;
      if (transposed & 4) call.c_row = 1, call.c_col = m;
      expect_naive(call, std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                             " transposed " + std::to_string(transposed));
    }
}

TEST(CpuMatmul, OffsetsAndStridesOfViews) {
  MatmulCall call = call_of(9, 11, 6);
  call.a_offset = 3, call.a_row = 20;
  call.b_offset = 5, call.b_row = 31;
  call.c_offset = 1, call.c_row = 13;
  expect_naive(call, "padded rows");
  call.a_col = 2, call.b_col = 2;
  expect_naive(call, "no unit stride in A and B");
  call.c_row = 40, call.c_col = 3;
  expect_naive(call, "no unit stride in C");
  call.a_offset = 400, call.a_row = -20;
  expect_naive(call, "reversed rows of A");
  call = call_of(9, 11, 6);
  call.a_row = 0;
  expect_naive(call, "all rows of A the same");
  call.b_col = 0;
  expect_naive(call, "all columns of B the same");
}

TEST(CpuMatmul, Batches) {
  MatmulCall call = call_of(5, 6, 7);
  call.batch = {2, 3};
  call.a_batch_strides = {3 * 35, 35};
  call.b_batch_strides = {3 * 42, 42};
  call.c_batch_strides = {3 * 30, 30};
  expect_naive(call, "contiguous");
  call.b_batch_strides = {0, 0};
  expect_naive(call, "one B for all");
  call.b_batch_strides = {42, 0};
  expect_naive(call, "one B per outer batch");
  call.a_batch_strides = {0, 35};
  expect_naive(call, "A and B broadcast crosswise");
  // Heads of attention: [batch, sequence, head, feature] read per head.
  call = call_of(5, 6, 7);
  call.batch = {2, 3};
  call.a_batch_strides = {5 * 21, 7}, call.a_row = 21;
  call.b_batch_strides = {6 * 21, 7}, call.b_row = 1, call.b_col = 21;
  call.c_batch_strides = {5 * 18, 6}, call.c_row = 18;
  expect_naive(call, "heads");
  call.m = 1;
  call.a_row = 0, call.c_row = 0;
  expect_naive(call, "heads, one row");
  call.batch = {2, 1, 3};
  call.a_batch_strides = {105, 0, 7}, call.b_batch_strides = {126, 0, 7};
  call.c_batch_strides = {90, 0, 6};
  expect_naive(call, "three batch dimensions");
}

struct ConvolutionCase {
  const char* name;
  ConvolutionCall call;
};

int64_t at(const std::vector<int64_t>& shape, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  size_t dim = 0;
  for (int64_t i : index) offset = offset * shape[dim++] + i;
  return offset;
}

// Two spatial dimensions.
std::vector<float> naive(const ConvolutionCall& c, const std::vector<float>& x,
                         const std::vector<float>& w) {
  std::vector<float> y(static_cast<size_t>(num_elements(c.output)));
  int64_t ci_per = c.kernel[2], co_per = c.output[3] / c.groups;
  for (int64_t n = 0; n < c.output[0]; ++n)
    for (int64_t oh = 0; oh < c.output[1]; ++oh)
      for (int64_t ow = 0; ow < c.output[2]; ++ow)
        for (int64_t co = 0; co < c.output[3]; ++co) {
          float sum = 0;
          for (int64_t kh = 0; kh < c.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < c.kernel[1]; ++kw) {
              int64_t h = oh * c.strides[0] - c.padding_low[0] + kh * c.rhs_dilation[0];
              int64_t v = ow * c.strides[1] - c.padding_low[1] + kw * c.rhs_dilation[1];
              if (h < 0 || h >= c.input[1] || v < 0 || v >= c.input[2]) continue;
              for (int64_t ci = 0; ci < ci_per; ++ci)
                sum += x[static_cast<size_t>(at(c.input, {n, h, v, co / co_per * ci_per + ci}))] *
                       w[static_cast<size_t>(at(c.kernel, {kh, kw, ci, co}))];
            }
          y[static_cast<size_t>(at(c.output, {n, oh, ow, co}))] = sum;
        }
  return y;
}

TEST(CpuConvolution, StridesPaddingDilationGroups) {
  const ConvolutionCase cases[] = {
      {"1x1", {{2, 5, 6, 8}, {1, 1, 8, 16}, {2, 5, 6, 16}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},
      {"3x3 same", {{1, 7, 9, 3}, {3, 3, 3, 5}, {1, 7, 9, 5}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {"stride 2, uneven padding",
       {{1, 8, 9, 4}, {3, 3, 4, 6}, {1, 4, 5, 6}, {2, 2}, {0, 1}, {1, 1}, {1, 1}, 1}},
      {"dilated", {{1, 9, 9, 2}, {3, 3, 2, 4}, {1, 5, 5, 4}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, 1}},
      {"groups", {{1, 6, 6, 8}, {3, 3, 4, 6}, {1, 6, 6, 6}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}},
      {"depthwise", {{1, 6, 6, 8}, {3, 3, 1, 8}, {1, 6, 6, 8}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 8}},
      {"7x7 of images",
       {{1, 32, 32, 3}, {7, 7, 3, 16}, {1, 16, 16, 16}, {2, 2}, {3, 3}, {2, 2}, {1, 1}, 1}}};
  for (auto& [name, call] : cases) {
    std::vector<float> x = numbers(num_elements(call.input), 1);
    std::vector<float> w = numbers(num_elements(call.kernel), 2);
    std::vector<float> y(static_cast<size_t>(num_elements(call.output)));
    auto created = cpu::create_convolution(call);
    ASSERT_TRUE(created.ok()) << name << created.error().to_string();
    for (uint64_t version : {0, 3, 3, 4}) {
      if (version == 4) w = numbers(num_elements(call.kernel), 6);
      std::fill(y.begin(), y.end(), -1.0f);
      cpu::CallOperand operands[] = {operand(x), operand(w, version), operand(y)};
      Status status = (*created)->run(operands);
      ASSERT_TRUE(status.ok()) << name << status.error().to_string();
      ASSERT_EQ(y, naive(call, x, w)) << name << " version " << version;
    }
  }
}

TEST(CpuConvolution, OneDimension) {
  ConvolutionCall call{{1, 10, 2}, {3, 2, 4}, {1, 8, 4}, {1}, {0}, {0}, {1}, 1};
  ConvolutionCall flat{{1, 1, 10, 2}, {1, 3, 2, 4}, {1, 1, 8, 4}, {1, 1},
                       {0, 0},        {0, 0},       {1, 1},       1};
  std::vector<float> x = numbers(20, 1), w = numbers(24, 2), y(32);
  auto created = cpu::create_convolution(call);
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  cpu::CallOperand operands[] = {operand(x), operand(w), operand(y)};
  ASSERT_TRUE((*created)->run(operands).ok());
  EXPECT_EQ(y, naive(flat, x, w));
}

TEST(CpuConvolution, NegativePaddingIsRefused) {
  ConvolutionCall call{{1, 10, 2}, {3, 2, 4}, {1, 7, 4}, {1}, {-1}, {0}, {1}, 1};
  auto created = cpu::create_convolution(call);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tuff::test
#endif
