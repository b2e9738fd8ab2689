// Convolution calls, their sums by plain loops, and what is expected of those that do all in one
// pass.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {

// A forward convolution in NHWC x HWIO, groups split off the last dimension.
inline ConvolutionCall forward(const Shape& input, const Shape& kernel, const Shape& output,
                               const std::vector<int64_t>& strides, const std::vector<int64_t>& low,
                               const std::vector<int64_t>& high,
                               const std::vector<int64_t>& dilations, int64_t groups) {
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

inline size_t place(const StridedTensor& t, std::initializer_list<int64_t> index) {
  int64_t at = t.offset;
  const int64_t* stride = t.strides.data();
  for (int64_t i : index) at += i * *stride++;
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

inline std::vector<float> naive(const ConvolutionCall& call, const Tensors& t) {
  std::vector<float> result(t.destination.size());
  for_each_product(call,
                   [&](size_t s, size_t w, size_t d) { result[d] += t.source[s] * t.weights[w]; });
  return result;
}

inline float apply(const PostOp& op, float x, float y) {
  switch (op.kind) {
    case PostOp::Kind::kAdd: return x + y;
    case PostOp::Kind::kSubtract: return x - y;
    case PostOp::Kind::kMultiply: return x * y;
    case PostOp::Kind::kDivide: return x / y;
    case PostOp::Kind::kMinimum: return std::min(x, y);
    case PostOp::Kind::kSilu: return x / (1 + std::exp(-x));
    case PostOp::Kind::kHardSwish: return x * std::clamp(x / 6 + 0.5f, 0.0f, 1.0f);
    default: return std::max(x, y);
  }
}

// The largest one, relative to the largest element of `want`; infinite where one is NaN.
inline float difference(const std::vector<float>& got, const std::vector<float>& want) {
  float most = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    float apart = std::abs(got[i] - want[i]);
    most = std::isnan(apart) ? INFINITY : std::max(most, apart);
    largest = std::max(largest, std::abs(want[i]));
  }
  return most == 0 ? 0 : most / largest;
}

// `list` has at most one operand by column and one by element.
// tolerance: of the largest result. In place: what is added lies where the result goes.
template <typename Create>
void expect_one_pass(ConvolutionCall call, const PostOpList& list, const Create& create,
                     float tolerance) {
  Tensors t(call);
  auto channels = static_cast<size_t>(call.destination.sizes[1]);
  std::vector<float> column = numbers(call.destination.sizes[1], 5);
  std::vector<float> full = numbers(num_elements(call.destination.sizes), 7);
  std::vector<float> sums = naive(call, t);
  call.post_ops = list;
  cpu::LibraryCallPtr convolution = create(call);
  for (uint64_t version : {0, 7, 7, 8}) {
    if (version == 8) {
      t.weights = numbers(static_cast<int64_t>(t.weights.size()), 8);
      sums = naive(call, t);
    }
    std::vector<float> want = sums, apart(want.size()), in_place = full;
    std::vector<cpu::CallOperand> operands{operand(t.source), operand(t.weights, version)};
    for (const PostOp& op : list) {
      for (size_t i = 0; i < want.size(); ++i) {
        float y = op.with == PostOp::With::kColumn    ? column[i % channels]
                  : op.with == PostOp::With::kElement ? full[i]
                                                      : op.value;
        want[i] = apply(op, want[i], y);
      }
      if (op.has_operand())
        operands.push_back(operand(op.with == PostOp::With::kColumn ? column : full));
    }
    operands.push_back(operand(apart));
    ASSERT_TRUE(convolution->run(operands).ok());
    ASSERT_LE(difference(apart, want), tolerance) << "version " << version;
    for (cpu::CallOperand& o : operands)
      if (o.data == operand(full).data || o.data == operand(apart).data) o = operand(in_place);
    ASSERT_TRUE(convolution->run(operands).ok());
    ASSERT_LE(difference(in_place, want), tolerance) << "in place, version " << version;
  }
}

// Post-ops that one pass can do.
inline std::vector<PostOpList> one_pass_lists() {
  using Kind = PostOp::Kind;
  using With = PostOp::With;
  const PostOp bias{Kind::kAdd, With::kColumn}, less{Kind::kSubtract, With::kValue, 0, 3};
  const PostOp times{Kind::kMultiply, With::kValue, 0, 2}, scale{Kind::kMultiply, With::kColumn};
  const PostOp huge{Kind::kMultiply, With::kValue, 0, 0x1p50f};
  const PostOp residual{Kind::kAdd, With::kElement}, relu{Kind::kMaximum, With::kValue, 0, 0};
  const PostOp least{Kind::kMaximum, With::kValue, 0, 3}, most{Kind::kMinimum, With::kValue, 0, 60};
  return {{},
          {bias},
          {scale},
          {relu},
          {residual},
          {less, times, bias, residual, relu},
          {times, relu},
          {bias, least},
          {most},
          {bias, relu, most},
          {huge, residual, relu},
          {scale, huge, residual}};
}

// Those that end in a function of the result.
inline std::vector<PostOpList> gate_lists() {
  using With = PostOp::With;
  const PostOp bias{PostOp::Kind::kAdd, With::kColumn},
      residual{PostOp::Kind::kAdd, With::kElement};
  const PostOp silu{PostOp::Kind::kSilu}, hard_swish{PostOp::Kind::kHardSwish};
  return {{silu}, {bias, silu}, {bias, hard_swish}, {bias, residual, silu}};
}

}  // namespace tuff::test
