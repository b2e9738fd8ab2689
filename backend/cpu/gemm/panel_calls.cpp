#include "backend/cpu/gemm/panel_calls.h"

#include <algorithm>

namespace tuff::cpu {

PanelProductCall pointwise_call(const ConvolutionCall& call, bool stable_weights) {
  const StridedTensor &source = call.source, &weights = call.weights;
  const std::vector<int64_t>& sizes = call.destination.sizes;
  PanelProductCall product;
  product.row_sizes = {sizes[0]}, product.row_strides = {source.strides[0]};
  for (size_t d = 2; d < sizes.size(); ++d) {
    product.row_sizes.push_back(sizes[d]);
    product.row_strides.push_back(source.strides[d] * call.strides[d - 2]);
  }
  product.a_offset = source.offset;
  product.depth = source.sizes[1], product.columns = sizes[1];
  product.b_offset = weights.offset, product.b_row = weights.strides[2];
  product.b_col = weights.strides[1];
  product.c_offset = call.destination.offset;
  product.post_ops = call.post_ops;
  product.keeps_panels = stable_weights;
  return product;
}

bool has_plain_rows(const MatmulCall& call) {
  int64_t step = call.n;  // of C's rows
  bool dense = call.c_col == 1 || call.n == 1;
  auto follows = [&](int64_t size, int64_t stride) {
    dense = dense && (size == 1 || stride == step);
    step *= size;
  };
  follows(call.m, call.c_row);
  for (size_t d = call.batch.size(); d-- > 0;) follows(call.batch[d], call.c_batch_strides[d]);
  bool by_columns = call.a_type() == DType::kF32 && call.a_row == 1;  // rows of A
  return dense && call.k > 0 && step > 0 && (call.a_col == 1 || call.k == 1 || by_columns) &&
         is_one_pass(call.post_ops);
}

bool is_panel_product(const MatmulCall& call) { return has_plain_rows(call) && shares_b(call); }

bool shares_b(const MatmulCall& call) {
  auto is_zero = [](int64_t stride) { return stride == 0; };
  return std::all_of(call.b_batch_strides.begin(), call.b_batch_strides.end(), is_zero);
}

namespace {

PanelProductCall plain_call(const MatmulCall& call, bool stable_b) {
  PanelProductCall product;
  product.a_type = call.a_type(), product.b_type = call.b_type();
  product.c_type = call.result_type;
  product.row_sizes = call.batch, product.row_strides = call.a_batch_strides;
  product.row_sizes.push_back(call.m);
  product.row_strides.push_back(call.a_row);
  product.a_offset = call.a_offset;
  product.a_col = call.k == 1 ? 1 : call.a_col;
  product.depth = call.k, product.columns = call.n;
  product.b_offset = call.b_offset, product.b_row = call.b_row, product.b_col = call.b_col;
  product.c_offset = call.c_offset;
  product.post_ops = call.post_ops;
  product.keeps_panels = stable_b;
  return product;
}

}  // namespace

bool has_columns(const PostOpList& post_ops) {
  return std::any_of(post_ops.begin(), post_ops.end(),
                     [](const PostOp& op) { return op.with == PostOp::With::kColumn; });
}

MatmulCall transposed(MatmulCall call) {
  std::swap(call.m, call.n);
  std::swap(call.a_batch_strides, call.b_batch_strides);
  std::swap(call.a_offset, call.b_offset);
  std::swap(call.a_narrow, call.b_narrow);
  std::swap(call.a_row, call.b_col);
  std::swap(call.a_col, call.b_row);
  std::swap(call.c_row, call.c_col);
  return call;
}

std::optional<PanelProductCall> panel_product_call(const MatmulCall& call, bool stable_a,
                                                   bool stable_b) {
  // What lies by columns and is read once, or hardly more often, is oneDNN's.
  constexpr int64_t kLeastRows = 128;
  auto pays = [](const MatmulCall& c, bool stable) {
    return is_panel_product(c) && (stable || c.m * num_elements(c.batch) >= kLeastRows);
  };
  if (pays(call, stable_b)) return plain_call(call, stable_b);
  if (call.c_col == 1 || has_columns(call.post_ops)) return std::nullopt;
  MatmulCall other = transposed(call);
  if (!pays(other, stable_a)) return std::nullopt;
  PanelProductCall product = plain_call(other, stable_a);
  product.swapped = true;
  return product;
}

}  // namespace tuff::cpu
