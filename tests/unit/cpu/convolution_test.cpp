// Convolution calls against plain loops: odd shapes, strides, layouts, types.
#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/pointwise.h"
#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

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
  auto created = on_another_thread([&] { return cpu::create_convolution(call, true, table()); });
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

std::vector<float> naive(const ConvolutionCall& call, const Tensors& t) {
  std::vector<float> result(t.destination.size());
  for_each_product(call,
                   [&](size_t s, size_t w, size_t d) { result[d] += t.source[s] * t.weights[w]; });
  return result;
}

// Weights that may change, then the same ones under a name, then other factors, then other
// weights.
void expect_post_ops_in(std::pair<DType, DType> types, bool stable_weights, ConvolutionCall call) {
  Tensors t(call);
  int64_t channels = call.destination.sizes[1];
  PostOperands post(channels, static_cast<int64_t>(t.destination.size()));
  call.post_ops = PostOperands::ops();
  auto [in, out] = types;
  call.source.dtype = call.weights.dtype = in, call.destination.dtype = out;
  auto created = cpu::create_convolution(call, stable_weights, table());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  uint64_t versions[] = {0, 7, 7, 7, 7, 8, 8, 9};
  for (size_t run = 0; run < std::size(versions); ++run) {
    if (run == 3) post.scale = numbers(channels, 9);
    if (run >= 5)
      t.weights = numbers(static_cast<int64_t>(t.weights.size()), static_cast<int>(versions[run]));
    std::vector<float> want = naive(call, t);
    post.apply(want, channels);
    Stored source(t.source, in), weights(t.weights, in), result(t.destination, out);
    cpu::CallOperand operands[] = {source.operand(),   weights.operand(versions[run]),
                                   operand(post.bias), operand(post.scale),
                                   operand(post.full), result.operand()};
    ASSERT_TRUE((*created)->run(operands).ok());
    ASSERT_EQ(differences(result, Stored(want, out)), 0u) << type_names(types) << " run " << run;
  }
}

void expect_post_ops(const ConvolutionCall& call) {
  for (auto types : kTypes)
    for (bool stable_weights : {false, true}) expect_post_ops_in(types, stable_weights, call);
}

TEST(CpuConvolution, PostOps) {
  expect_post_ops(
      forward({2, 7, 9, 3}, {3, 3, 3, 20}, {2, 7, 9, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
}

// Pixels that see only padding, groups, dilation: oneDNN computes these by gemm.
TEST(CpuConvolution, PostOpsOfUnusualConvolutions) {
  expect_post_ops(
      forward({2, 1, 3, 2}, {1, 1, 2, 2}, {2, 1, 3, 2}, {1, 2}, {0, 1}, {0, 2}, {1, 1}, 1));
  expect_post_ops(
      forward({2, 5, 6, 6}, {3, 3, 2, 9}, {2, 5, 6, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3));
  expect_post_ops(
      forward({1, 9, 9, 4}, {3, 3, 4, 5}, {1, 5, 5, 5}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, 1));
  expect_post_ops(
      forward({1, 4, 4, 3}, {1, 1, 3, 17}, {1, 4, 4, 17}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, 1));
}

float apply(const PostOp& op, float x, float y) {
  switch (op.kind) {
    case PostOp::Kind::kAdd: return x + y;
    case PostOp::Kind::kSubtract: return x - y;
    case PostOp::Kind::kMultiply: return x * y;
    case PostOp::Kind::kDivide: return x / y;
    default: return std::max(x, y);
  }
}

// `list` has at most one operand by column and one by element.
void expect_pointwise(ConvolutionCall call, const PostOpList& list) {
  Tensors t(call);
  auto channels = static_cast<size_t>(call.destination.sizes[1]);
  std::vector<float> column = numbers(call.destination.sizes[1], 5);
  std::vector<float> full = numbers(num_elements(call.destination.sizes), 7);
  call.post_ops = list;
  ASSERT_TRUE(is_shallow_pointwise(call));
  cpu::LibraryCallPtr pointwise = cpu::create_pointwise(call, table());
  for (uint64_t version : {0, 7, 7, 8}) {
    if (version == 8) t.weights = numbers(static_cast<int64_t>(t.weights.size()), 8);
    std::vector<float> want = naive(call, t), apart(want.size()), in_place = full;
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
    ASSERT_TRUE(pointwise->run(operands).ok());
    ASSERT_EQ(apart, want) << "version " << version;
    for (cpu::CallOperand& o : operands)
      if (o.data == operand(full).data || o.data == operand(apart).data) o = operand(in_place);
    ASSERT_TRUE(pointwise->run(operands).ok());
    ASSERT_EQ(in_place, want) << "in place, version " << version;
  }
}

TEST(CpuPointwise, ShapesAndPostOps) {
  using Kind = PostOp::Kind;
  using With = PostOp::With;
  const PostOp bias{Kind::kAdd, With::kColumn}, less{Kind::kSubtract, With::kValue, 0, 3};
  const PostOp times{Kind::kMultiply, With::kValue, 0, 2}, scale{Kind::kMultiply, With::kColumn};
  const PostOp huge{Kind::kMultiply, With::kValue, 0, 0x1p50f};
  const PostOp residual{Kind::kAdd, With::kElement}, relu{Kind::kMaximum, With::kValue, 0, 0};
  const PostOpList lists[] = {{},
                              {bias},
                              {scale},
                              {relu},
                              {residual},
                              {less, times, bias, residual, relu},
                              {times, relu},
                              {huge, residual, relu},
                              {scale, huge, residual}};
  struct {
    int64_t n, side, in, out, stride, results;
  } shapes[] = {{1, 1, 1, 1, 1, 1},     {2, 5, 3, 20, 1, 5},  {1, 7, 64, 130, 1, 7},
                {3, 13, 70, 17, 1, 13}, {2, 8, 33, 70, 2, 4}, {3, 17, 5, 66, 2, 9},
                {1, 23, 40, 65, 3, 8},  {2, 6, 17, 33, 1, 4}};
  for (auto& [n, side, in, out, stride, results] : shapes)
    for (const PostOpList& list : lists) {
      ConvolutionCall call =
          forward({n, side, side, in}, {1, 1, in, out}, {n, results, results, out},
                  {stride, stride}, {0, 0}, {0, 0}, {1, 1}, 1);
      SCOPED_TRACE("shape " + std::to_string(side) + "x" + std::to_string(in) + "x" +
                   std::to_string(out) + ", list " + std::to_string(&list - lists));
      expect_pointwise(call, list);
    }
}

// What is added lies where the result goes: a residual that nothing else needs.
TEST(CpuConvolution, ResidualInPlace) {
  using Kind = PostOp::Kind;
  using With = PostOp::With;
  for (bool strided : {false, true}) {
    ConvolutionCall call = strided ? forward({2, 1, 3, 2}, {1, 1, 2, 2}, {2, 1, 3, 2}, {1, 2},
                                             {0, 1}, {0, 2}, {1, 1}, 1)
                                   : forward({2, 7, 9, 3}, {1, 1, 3, 20}, {2, 7, 9, 20}, {1, 1},
                                             {0, 0}, {0, 0}, {1, 1}, 1);
    Tensors t(call);
    std::vector<float> factors = numbers(call.destination.sizes[1], 5), want = naive(call, t);
    for (size_t i = 0; i < want.size(); ++i)
      want[i] = want[i] * factors[i % factors.size()] + t.destination[i];
    call.post_ops = {{Kind::kMultiply, With::kColumn}, {Kind::kAdd, With::kElement}};
    EXPECT_TRUE(updates_in_place(call, 3));
    EXPECT_FALSE(updates_in_place(call, 0) || updates_in_place(call, 2));
    auto created = cpu::create_convolution(call, true, table(), 1);
    ASSERT_TRUE(created.ok()) << created.error().to_string();
    for (uint64_t version : {0, 7, 7}) {
      std::vector<float> apart(want.size()), in_place = t.destination;
      cpu::CallOperand operands[] = {operand(t.source), operand(t.weights, version),
                                     operand(factors), operand(t.destination), operand(apart)};
      ASSERT_TRUE((*created)->run(operands).ok());
      ASSERT_EQ(apart, want) << strided << " version " << version;
      operands[3] = operands[4] = operand(in_place);
      ASSERT_TRUE((*created)->run(operands).ok());
      ASSERT_EQ(in_place, want) << strided << " version " << version;
    }
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
    auto created = cpu::create_convolution(call, true, table());
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
  auto created = cpu::create_convolution(call, true, table());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  cpu::CallOperand operands[] = {operand(t.source), operand(t.weights), operand(t.destination)};
  ASSERT_TRUE((*created)->run(operands).ok());
  EXPECT_EQ(t.destination, want);
}

}  // namespace
}  // namespace tuff::test
#endif
