// Convolution calls against plain loops: odd shapes, strides, layouts, types.
#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/convolution/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/convolution_calls.h"

namespace tuff::test {
namespace {

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
  auto created = on_another_thread(
      [&] { return cpu::create_onednn_convolution(call, true, table(), owner()); });
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
  expect_all_kinds(
      forward({3, 2, 1, 1}, {1, 1, 1, 8}, {3, 2, 1, 8}, {1, 2}, {0, 0}, {0, 0}, {1, 1}, 1),
      "a stride beyond the row");
  expect_all_kinds(
      forward({2, 3, 2, 16}, {1, 2, 16, 17}, {2, 3, 1, 17}, {1, 4}, {0, 0}, {0, 2}, {1, 1}, 1),
      "a stride beyond the row, padded");
  expect_all_kinds(
      forward({2, 2, 3, 16}, {2, 1, 16, 8}, {2, 2, 2, 8}, {2, 2}, {0, 0}, {2, 0}, {1, 1}, 1),
      "windows in the padding");
  expect_all_kinds(
      forward({1, 4, 5, 32}, {3, 2, 32, 16}, {1, 4, 6, 16}, {2, 1}, {4, 2}, {1, 0}, {1, 1}, 1),
      "windows in the padding before the rows");
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

// Weights that may change, then the same ones under a name, then other factors, then other
// weights.
void expect_post_ops_in(std::pair<DType, DType> types, bool stable_weights, ConvolutionCall call) {
  Tensors t(call);
  int64_t channels = call.destination.sizes[1];
  PostOperands post(channels, static_cast<int64_t>(t.destination.size()));
  call.post_ops = PostOperands::ops();
  auto [in, out] = types;
  call.source.dtype = call.weights.dtype = in, call.destination.dtype = out;
  auto created = cpu::create_onednn_convolution(call, stable_weights, table(), owner());
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
    auto created = cpu::create_onednn_convolution(call, true, table(), owner(), 1);
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

// oneDNN does what is before the gate; a result of many pieces, and one of less than one.
TEST(CpuConvolution, GateInAPassOfItsOwn) {
  const ConvolutionCall calls[] = {
      forward({1, 65, 63, 3}, {3, 3, 3, 40}, {1, 33, 32, 40}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1),
      forward({2, 5, 6, 6}, {3, 3, 2, 9}, {2, 5, 6, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3)};
  for (const ConvolutionCall& plain : calls)
    for (const PostOpList& list : gate_lists()) {
      ConvolutionCall call = plain;
      call.post_ops = list;
      ASSERT_TRUE(ends_in_gate(call) && takes_bounds(call));
      expect_one_pass(
          call, list,
          [](const ConvolutionCall& c) {
            return cpu::create_onednn_convolution(c, true, table(), owner()).value();
          },
          static_cast<float>(tolerance("long_product")));
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
    auto created = cpu::create_onednn_convolution(call, true, table(), owner());
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
  auto created = cpu::create_onednn_convolution(call, true, table(), owner());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  cpu::CallOperand operands[] = {operand(t.source), operand(t.weights), operand(t.destination)};
  ASSERT_TRUE((*created)->run(operands).ok());
  EXPECT_EQ(t.destination, want);
}

}  // namespace
}  // namespace tuff::test
#endif
