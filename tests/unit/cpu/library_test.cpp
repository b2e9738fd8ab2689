// Matmul and convolution calls against plain loops: odd shapes, strides,
// batches, types.
#ifdef TUFF_HAS_ONEDNN
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <numeric>

#include "backend/cpu/converted_gemm.h"
#include "backend/cpu/convolution.h"
#include "backend/cpu/gemm.h"
#include "ir/literal.h"

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

// Calls run on other threads than the one that made them.
template <typename Make>
auto on_another_thread(const Make& make) {
  return std::async(std::launch::async, make).get();
}

const cpu::LaneTable& table() { return cpu::lane_table(cpu::best_isa_level()); }

// Types of operands and results.
constexpr std::pair<DType, DType> kTypes[] = {{DType::kF32, DType::kF32},
                                              {DType::kBF16, DType::kBF16},
                                              {DType::kBF16, DType::kF32},
                                              {DType::kF16, DType::kF16},
                                              {DType::kF16, DType::kF32}};

std::string type_names(std::pair<DType, DType> types) {
  return std::string(" ") + dtype_name(types.first) + " to " + dtype_name(types.second);
}

// Values as they lie in memory, each rounded once.
struct Stored {
  DType dtype;
  std::vector<std::byte> bytes;

  Stored(const std::vector<float>& values, DType type)
      : dtype(type), bytes(values.size() * static_cast<size_t>(dtype_size(type))) {
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half = type == DType::kBF16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i]);
      if (type == DType::kF32)
        std::memcpy(&bytes[4 * i], &values[i], 4);
      else
        std::memcpy(&bytes[2 * i], &half, 2);
    }
  }
  cpu::CallOperand operand(uint64_t version = 0) { return {bytes.data(), version}; }
};

// An element's bits; those of +0 for both zeros.
uint32_t bits_of(const Stored& values, size_t offset, size_t size) {
  uint32_t bits = 0;
  std::memcpy(&bits, &values.bytes[offset], size);
  uint32_t sign = uint32_t{1} << (8 * size - 1);
  return bits == sign ? 0 : bits;
}

size_t differences(const Stored& a, const Stored& b) {
  auto size = static_cast<size_t>(dtype_size(a.dtype));
  size_t count = 0;
  for (size_t i = 0; i < a.bytes.size(); i += size)
    count += bits_of(a, i, size) != bits_of(b, i, size);
  return count;
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

// Four runs: contents that may change, then the same ones thrice (plain,
// packed, the packed copy again), then others under new versions.
void expect_naive_in(std::pair<DType, DType> types, MatmulCall call, const std::string& what) {
  std::vector<float> a = numbers(40000, 1), b = numbers(40000, 2), c(40000, 5), want = c;
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  auto [in, out] = types;
  call.operand_type = in, call.result_type = out;
  auto created = on_another_thread([&] { return cpu::create_matmul(call, true, true, table()); });
  ASSERT_TRUE(created.ok()) << what << created.error().to_string();
  Stored a_stored(a, in), b_stored(b, in), expected(want, out);
  for (uint64_t version : {0, 7, 7, 7}) {
    Stored result(c, out);
    cpu::CallOperand operands[] = {a_stored.operand(version), b_stored.operand(version),
                                   result.operand()};
    Status status = (*created)->run(operands);
    ASSERT_TRUE(status.ok()) << what << status.error().to_string();
    ASSERT_EQ(differences(result, expected), 0u) << what << " version " << version;
  }
  a = numbers(40000, 3), b = numbers(40000, 4);
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  Stored a_changed(a, in), b_changed(b, in), changed(want, out);
  for (int run = 0; run < 2; ++run) {  // the second packs anew
    Stored result(c, out);
    cpu::CallOperand operands[] = {a_changed.operand(8), b_changed.operand(9), result.operand()};
    ASSERT_TRUE((*created)->run(operands).ok());
    ASSERT_EQ(differences(result, changed), 0u) << what << " after a change";
  }
}

void expect_naive(const MatmulCall& call, const std::string& what) {
  for (auto types : kTypes) expect_naive_in(types, call, what + type_names(types));
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

// full - (x + bias) / 0.5 * scale, small integers throughout.
struct PostOperands {
  std::vector<float> bias, scale, full;
  PostOperands(int64_t columns, int64_t elements)
      : bias(numbers(columns + 3, 5)), scale(numbers(columns, 6)), full(numbers(elements, 7)) {}
  static PostOpList ops() {
    using Kind = PostOp::Kind;
    using With = PostOp::With;
    return {{Kind::kAdd, With::kColumn, 3},
            {Kind::kDivide, With::kValue, 0, 0.5f},
            {Kind::kMultiply, With::kColumn},
            {Kind::kSubtract, With::kElement},
            {Kind::kMultiply, With::kValue, 0, -1.0f}};
  }
  void apply(std::vector<float>& result, int64_t columns) const {
    for (size_t i = 0; i < result.size(); ++i) {
      size_t column = i % static_cast<size_t>(columns);
      result[i] = full[i] - (result[i] + bias[column + 3]) * 2 * scale[column];
    }
  }
};

TEST(CpuMatmul, PostOps) {
  const int64_t shapes[][3] = {{1, 17, 5}, {5, 7, 3}, {64, 64, 64}, {33, 100, 65}};
  for (auto [in, out] : kTypes)
    for (auto& [m, n, k] : shapes) {
      MatmulCall call = call_of(m, n, k);
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> c(static_cast<size_t>(m * n)), want = c;
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      PostOperands post(n, m * n);
      post.apply(want, n);
      call.post_ops = PostOperands::ops();
      call.operand_type = in, call.result_type = out;
      auto created = cpu::create_matmul(call, true, true, table());
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      Stored a_stored(a, in), b_stored(b, in), expected(want, out), result(c, out);
      for (uint64_t version : {0, 7, 7, 7}) {
        cpu::CallOperand operands[] = {a_stored.operand(version), b_stored.operand(version),
                                       operand(post.bias),        operand(post.scale),
                                       operand(post.full),        result.operand()};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(differences(result, expected), 0u)
            << m << "x" << n << "x" << k << type_names({in, out}) << " version " << version;
      }
    }
}

// What is added or subtracted lies where the result goes: a donated argument.
TEST(CpuMatmul, PostOpsUpdateInPlace) {
  const int64_t shapes[][3] = {{1, 17, 5}, {5, 7, 3}, {64, 64, 2000}, {33, 100, 65}, {7, 3, 1}};
  for (auto& [m, n, k] : shapes)
    for (bool columns : {false, true}) {
      MatmulCall call = call_of(m, n, k);
      if (columns) call.c_row = 1, call.c_col = m;
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> old = numbers(m * n, 7), other = numbers(m * n, 8), want(old.size());
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      for (size_t i = 0; i < want.size(); ++i) want[i] = old[i] - (want[i] + other[i]) * 0.5f;
      using Kind = PostOp::Kind;
      using With = PostOp::With;
      call.post_ops = {{Kind::kAdd, With::kElement},
                       {Kind::kMultiply, With::kValue, 0, 0.5f},
                       {Kind::kSubtract, With::kElement},
                       {Kind::kMultiply, With::kValue, 0, -1.0f}};
      EXPECT_TRUE(updates_in_place(call, 2) && updates_in_place(call, 3));
      EXPECT_FALSE(updates_in_place(call, 0) || updates_in_place(call, 4));
      auto created = cpu::create_matmul(call, true, true, table());
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      for (uint64_t version : {0, 7, 7}) {
        std::vector<float> apart(old.size()), in_place = old;
        cpu::CallOperand operands[] = {operand(a, version), operand(b, version), operand(other),
                                       operand(old), operand(apart)};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(apart, want) << m << "x" << n << "x" << k << " version " << version;
        operands[3] = operands[4] = operand(in_place);
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(in_place, want) << m << "x" << n << "x" << k << " version " << version;
      }
    }
}

// Larger than what is converted at a time, in each direction, with a rest.
TEST(CpuMatmul, ConvertedInPieces) {
  const int64_t shapes[][3] = {{70, 60, 20001}, {1100, 1030, 3}, {7, 2100, 600}, {1, 4100, 300}};
  for (auto& [m, n, k] : shapes)
    for (bool transposed : {false, true}) {
      MatmulCall call = call_of(m, n, k);
      if (transposed) call.a_row = 1, call.a_col = m, call.b_row = 1, call.b_col = k;
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> c(static_cast<size_t>(m * n)), want = c;
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      PostOperands post(n, m * n);
      post.apply(want, n);
      call.post_ops = PostOperands::ops();
      call.operand_type = call.result_type = DType::kBF16;
      auto created = cpu::create_converted_matmul(call, table());
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      Stored a_stored(a, DType::kBF16), b_stored(b, DType::kBF16), expected(want, DType::kBF16);
      Stored result(c, DType::kBF16);
      cpu::CallOperand operands[] = {a_stored.operand(),  b_stored.operand(), operand(post.bias),
                                     operand(post.scale), operand(post.full), result.operand()};
      ASSERT_TRUE((*created)->run(operands).ok());
      ASSERT_EQ(differences(result, expected), 0u) << m << "x" << n << "x" << k;
    }
}

TEST(CpuMatmul, ConvertedBatchByBatch) {
  MatmulCall call = call_of(110, 90, 130);
  call.batch = {3, 20, 2};
  call.a_batch_strides = {20 * 110 * 130, 110 * 130, 0};
  call.b_batch_strides = {2 * 90 * 130, 0, 90 * 130};
  call.c_batch_strides = {40 * 110 * 90, 2 * 110 * 90, 110 * 90};
  std::vector<float> a = numbers(60 * 110 * 130, 1), b = numbers(6 * 90 * 130, 2);
  std::vector<float> c(120 * 110 * 90), want = c;
  Naive{call, a, b, want}.run(0, 0, 0, 0);
  call.operand_type = call.result_type = DType::kF16;
  auto created = cpu::create_converted_matmul(call, table());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  Stored a_stored(a, DType::kF16), b_stored(b, DType::kF16), expected(want, DType::kF16);
  Stored result(c, DType::kF16);
  cpu::CallOperand operands[] = {a_stored.operand(), b_stored.operand(), result.operand()};
  ASSERT_TRUE((*created)->run(operands).ok());
  ASSERT_EQ(differences(result, expected), 0u);
}

// Strides of a tensor of these three sizes whose dimensions lie in memory in `order`.
std::array<int64_t, 3> strides_in(const std::array<int64_t, 3>& sizes,
                                  const std::array<size_t, 3>& order) {
  std::array<int64_t, 3> strides{};
  int64_t stride = 1;
  for (size_t i = 3; i-- > 0; stride *= sizes[order[i]]) strides[order[i]] = stride;
  return strides;
}

// A bias and a residual, with operands in any order in memory.
void expect_post_ops_of_batches(int64_t batch, int64_t m, int64_t n, int64_t k) {
  std::vector<float> bias = numbers(n, 5), full = numbers(batch * m * n, 7);
  std::array<size_t, 3> a_order{0, 1, 2};
  do {
    for (int variant = 0; variant < 4; ++variant) {
      bool shared_b = variant & 1, columns_of_b = variant & 2;
      MatmulCall call = call_of(m, n, k);
      auto a = strides_in({batch, m, k}, a_order);
      call.batch = {batch};
      call.a_batch_strides = {a[0]}, call.a_row = a[1], call.a_col = a[2];
      call.b_batch_strides = {shared_b ? 0 : k * n};
      if (columns_of_b) call.b_row = 1, call.b_col = k;
      call.c_batch_strides = {m * n};
      std::vector<float> left = numbers(batch * m * k, 1), right = numbers(batch * k * n, 2);
      std::vector<float> got(full.size()), want = got;
      Naive{call, left, right, want}.run(0, 0, 0, 0);
      for (size_t i = 0; i < want.size(); ++i)
        want[i] = want[i] + bias[i % static_cast<size_t>(n)] - full[i];
      call.post_ops = {{PostOp::Kind::kAdd, PostOp::With::kColumn},
                       {PostOp::Kind::kSubtract, PostOp::With::kElement}};
      auto created = cpu::create_matmul(call, true, true, table());
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      for (uint64_t version : {0, 7, 7}) {
        cpu::CallOperand operands[] = {operand(left, version), operand(right, version),
                                       operand(bias), operand(full), operand(got)};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(got, want) << batch << "x" << m << "x" << n << "x" << k << " order of A "
                             << a_order[0] << a_order[1] << a_order[2] << " variant " << variant
                             << " version " << version;
      }
    }
  } while (std::next_permutation(a_order.begin(), a_order.end()));
}

TEST(CpuMatmul, PostOpsOfBatches) {
  expect_post_ops_of_batches(8, 8, 32, 128);
  expect_post_ops_of_batches(3, 5, 7, 11);
  expect_post_ops_of_batches(2, 1, 17, 64);
  expect_post_ops_of_batches(1, 33, 100, 65);
  expect_post_ops_of_batches(5, 16, 1, 3);
}

// A forward convolution in NHWC x HWIO, groups split off the last dimension.
ConvolutionCall forward(const Shape& input, const Shape& kernel, const Shape& output,
                        const std::vector<int64_t>& strides, const std::vector<int64_t>& low,
                        const std::vector<int64_t>& high, const std::vector<int64_t>& dilations,
                        int64_t groups) {
  auto channels_last = [](const Shape& shape) {
    std::vector<int64_t> steps = row_major_strides(shape);
    StridedTensor t{{shape.front(), shape.back()}, {steps.front(), steps.back()}, 0};
    t.sizes.insert(t.sizes.end(), shape.begin() + 1, shape.end() - 1);
    t.strides.insert(t.strides.end(), steps.begin() + 1, steps.end() - 1);
    return t;
  };
  ConvolutionCall call;
  call.source = channels_last(input);
  call.destination = channels_last(output);
  std::vector<int64_t> steps = row_major_strides(kernel);
  size_t spatial = kernel.size() - 2;
  int64_t co = kernel.back() / groups;
  call.weights = {{groups, co, kernel[spatial]}, {co, 1, steps[spatial]}, 0};
  for (size_t d = 0; d < spatial; ++d) {
    call.weights.sizes.push_back(kernel[d]);
    call.weights.strides.push_back(steps[d]);
  }
  call.strides = strides, call.dilations = dilations;
  call.padding_low = low, call.padding_high = high;
  return call;
}

size_t place(const StridedTensor& t, const std::vector<int64_t>& index) {
  int64_t at = t.offset;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * t.strides[d];
  return static_cast<size_t>(at);
}

// Calls visit(source, weights, destination) with the elements of every product.
// Two spatial dimensions.
template <typename Visit>
void for_each_product(const ConvolutionCall& c, const Visit& visit) {
  const auto &src = c.source.sizes, &wei = c.weights.sizes, &dst = c.destination.sizes;
  for (int64_t n = 0; n < dst[0]; ++n)
    for (int64_t o = 0; o < dst[1]; ++o)
      for (int64_t i = 0; i < wei[2]; ++i)
        for (int64_t y = 0; y < dst[2] * dst[3]; ++y)
          for (int64_t t = 0; t < wei[3] * wei[4]; ++t) {
            int64_t y0 = y / dst[3], y1 = y % dst[3], t0 = t / wei[4], t1 = t % wei[4];
            int64_t h = y0 * c.strides[0] + t0 * c.dilations[0] - c.padding_low[0];
            int64_t w = y1 * c.strides[1] + t1 * c.dilations[1] - c.padding_low[1];
            if (h < 0 || h >= src[2] || w < 0 || w >= src[3]) continue;
            int64_t group = o / wei[1];
            visit(place(c.source, {n, group * wei[2] + i, h, w}),
                  place(c.weights, {group, o % wei[1], i, t0, t1}),
                  place(c.destination, {n, o, y0, y1}));
          }
}

struct Tensors {
  std::vector<float> source, weights, destination;
  explicit Tensors(const ConvolutionCall& c)
      : source(numbers(num_elements(c.source.sizes), 1)),
        weights(numbers(num_elements(c.weights.sizes), 2)),
        destination(numbers(num_elements(c.destination.sizes), 3)) {}

  // Binding 0, 1 or 2 of a call of this kind.
  std::vector<float>& binding(ConvolutionCall::Kind kind, int i) {
    std::vector<float>* forward[] = {&source, &weights, &destination};
    std::vector<float>* data[] = {&destination, &weights, &source};
    std::vector<float>* gradient[] = {&source, &destination, &weights};
    return kind == ConvolutionCall::Kind::kForward        ? *forward[i]
           : kind == ConvolutionCall::Kind::kBackwardData ? *data[i]
                                                          : *gradient[i];
  }
};

StridedTensor& result_of(ConvolutionCall& call) {
  return call.kind == ConvolutionCall::Kind::kForward        ? call.destination
         : call.kind == ConvolutionCall::Kind::kBackwardData ? call.source
                                                             : call.weights;
}

void expect_products_in(std::pair<DType, DType> types, ConvolutionCall call,
                        const std::string& what) {
  auto [in, out] = types;
  call.source.dtype = call.weights.dtype = call.destination.dtype = in;
  result_of(call).dtype = out;
  Tensors t(call);
  auto created = on_another_thread([&] { return cpu::create_convolution(call, table()); });
  ASSERT_TRUE(created.ok()) << what << created.error().to_string();
  for (uint64_t version : {0, 3, 3, 4}) {
    if (version == 4)
      t.binding(call.kind, 1) = numbers(static_cast<int64_t>(t.binding(call.kind, 1).size()), 6);
    Tensors want = t;
    std::vector<float>& sums = want.binding(call.kind, 2);
    std::fill(sums.begin(), sums.end(), 0.0f);
    for_each_product(call, [&](size_t s, size_t w, size_t d) {
      if (call.kind == ConvolutionCall::Kind::kForward)
        want.destination[d] += want.source[s] * want.weights[w];
      else if (call.kind == ConvolutionCall::Kind::kBackwardData)
        want.source[s] += want.destination[d] * want.weights[w];
      else
        want.weights[w] += want.source[s] * want.destination[d];
    });
    Stored a(t.binding(call.kind, 0), in), b(t.binding(call.kind, 1), in);
    Stored result(t.binding(call.kind, 2), out), expected(sums, out);
    cpu::CallOperand operands[] = {a.operand(), b.operand(version), result.operand()};
    Status status = (*created)->run(operands);
    ASSERT_TRUE(status.ok()) << what << status.error().to_string();
    ASSERT_EQ(differences(result, expected), 0u) << what << " version " << version;
  }
}

void expect_products(const ConvolutionCall& call, const std::string& what) {
  for (auto types : kTypes) expect_products_in(types, call, what + type_names(types));
}

void expect_all_kinds(ConvolutionCall call, const std::string& name) {
  using Kind = ConvolutionCall::Kind;
  for (Kind kind : {Kind::kForward, Kind::kBackwardData, Kind::kBackwardWeights}) {
    call.kind = kind;
    expect_products(call, name + ", kind " + std::to_string(static_cast<int>(kind)));
  }
}

TEST(CpuConvolution, StridesPaddingDilationGroupsAndGradients) {
  expect_all_kinds(
      forward({2, 5, 6, 8}, {1, 1, 8, 16}, {2, 5, 6, 16}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1),
      "1x1");
  expect_all_kinds(
      forward({1, 7, 9, 3}, {3, 3, 3, 5}, {1, 7, 9, 5}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1),
      "3x3 same");
  expect_all_kinds(
      forward({1, 8, 9, 4}, {3, 3, 4, 6}, {1, 4, 5, 6}, {2, 2}, {0, 1}, {1, 1}, {1, 1}, 1),
      "stride 2, uneven padding");
  expect_all_kinds(
      forward({1, 9, 9, 2}, {3, 3, 2, 4}, {1, 5, 5, 4}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, 1),
      "dilated");
  expect_all_kinds(
      forward({1, 6, 6, 8}, {3, 3, 4, 6}, {1, 6, 6, 6}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2),
      "groups");
  expect_all_kinds(
      forward({1, 6, 6, 8}, {3, 3, 1, 8}, {1, 6, 6, 8}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 8),
      "depthwise");
  expect_all_kinds(
      forward({1, 32, 32, 3}, {7, 7, 3, 16}, {1, 16, 16, 16}, {2, 2}, {3, 3}, {2, 2}, {1, 1}, 1),
      "7x7 of images");
  expect_all_kinds(
      forward({2, 9, 8, 3}, {2, 2, 3, 5}, {2, 3, 3, 5}, {3, 3}, {0, 0}, {0, 0}, {1, 1}, 1),
      "a rest that no window reaches");
}

TEST(CpuConvolution, OtherLayouts) {
  ConvolutionCall call =
      forward({2, 7, 9, 3}, {3, 2, 3, 5}, {2, 7, 9, 5}, {1, 1}, {1, 1}, {1, 0}, {1, 1}, 1);
  call.source.strides = {189, 63, 9, 1};  // channels first
  call.destination.strides = {315, 63, 9, 1};
  expect_all_kinds(call, "channels first");
  call.kind = ConvolutionCall::Kind::kForward;
  call.weights.offset = 2 * call.weights.strides[3], call.weights.strides[3] *= -1;
  expect_products(call, "a flipped kernel");
}

TEST(CpuConvolution, PostOps) {
  ConvolutionCall call =
      forward({2, 7, 9, 3}, {3, 3, 3, 20}, {2, 7, 9, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1);
  Tensors t(call);
  std::vector<float> want(t.destination.size());
  for_each_product(call,
                   [&](size_t s, size_t w, size_t d) { want[d] += t.source[s] * t.weights[w]; });
  PostOperands post(20, static_cast<int64_t>(want.size()));
  post.apply(want, 20);
  call.post_ops = PostOperands::ops();
  for (auto [in, out] : kTypes) {
    call.source.dtype = call.weights.dtype = in, call.destination.dtype = out;
    auto created = cpu::create_convolution(call, table());
    ASSERT_TRUE(created.ok()) << created.error().to_string();
    Stored source(t.source, in), weights(t.weights, in), result(t.destination, out);
    cpu::CallOperand operands[] = {source.operand(),    weights.operand(),  operand(post.bias),
                                   operand(post.scale), operand(post.full), result.operand()};
    ASSERT_TRUE((*created)->run(operands).ok());
    EXPECT_EQ(differences(result, Stored(want, out)), 0u) << type_names({in, out});
  }
}

TEST(CpuConvolution, BiasInOtherLayouts) {
  const int64_t n = 2, h = 7, w = 9, c = 20;
  const std::vector<int64_t> layouts[] = {{h * w * c, 1, w * c, c},   // channels last
                                          {h * w * c, h * w, w, 1},   // channels first
                                          {w * c, 1, n * w * c, c},   // rows outside images
                                          {c, 1, n * w * c, n * c}};  // pixels outside images
  for (const std::vector<int64_t>& strides : layouts) {
    ConvolutionCall call =
        forward({n, h, w, 3}, {3, 3, 3, c}, {n, h, w, c}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1);
    call.destination.strides = strides;
    Tensors t(call);
    std::vector<float> want(t.destination.size()), bias = numbers(c, 5);
    for_each_product(call,
                     [&](size_t s, size_t k, size_t d) { want[d] += t.source[s] * t.weights[k]; });
    for (size_t i = 0; i < want.size(); ++i)
      want[i] += bias[i / static_cast<size_t>(strides[1]) % static_cast<size_t>(c)];
    call.post_ops = {{PostOp::Kind::kAdd, PostOp::With::kColumn}};
    auto created = cpu::create_convolution(call, table());
    ASSERT_TRUE(created.ok()) << created.error().to_string();
    cpu::CallOperand operands[] = {operand(t.source), operand(t.weights), operand(bias),
                                   operand(t.destination)};
    ASSERT_TRUE((*created)->run(operands).ok());
    EXPECT_EQ(t.destination, want) << "strides " << strides[0] << " " << strides[1];
  }
}

TEST(CpuConvolution, OneDimension) {
  ConvolutionCall call = forward({1, 10, 2}, {3, 2, 4}, {1, 8, 4}, {1}, {0}, {0}, {1}, 1);
  ConvolutionCall flat =
      forward({1, 1, 10, 2}, {1, 3, 2, 4}, {1, 1, 8, 4}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1);
  Tensors t(flat);
  std::vector<float> want(t.destination.size());
  for_each_product(flat,
                   [&](size_t s, size_t w, size_t d) { want[d] += t.source[s] * t.weights[w]; });
  auto created = cpu::create_convolution(call, table());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  cpu::CallOperand operands[] = {operand(t.source), operand(t.weights), operand(t.destination)};
  ASSERT_TRUE((*created)->run(operands).ok());
  EXPECT_EQ(t.destination, want);
}

}  // namespace
}  // namespace tuff::test
#endif
