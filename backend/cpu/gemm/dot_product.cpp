#include "backend/cpu/gemm/dot_product.h"

#include <algorithm>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/gemm/dot_rows.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/product_rows.h"
#include "backend/cpu/gemm/small_product.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// With more columns panels pay, with fewer rows or shorter sums lanes are idle.
constexpr int64_t kMaxColumns = 4, kLeastRows = 32, kLeastDepth = 64;
// Of a task: far more than the processor's prefetch looks ahead.
constexpr int64_t kTaskBytes = 1 << 18;

bool has_few_columns(const MatmulCall& call) {
  if (!is_all_f32(call) || !is_panel_product(call) || call.a_col != 1) return false;
  const int64_t rows = call.m * num_elements(call.batch);
  return call.n <= kMaxColumns && rows >= kLeastRows && call.k >= kLeastDepth;
}

ProductRows rows_of_a(const MatmulCall& call) {
  std::vector<int64_t> sizes = call.batch, strides = call.a_batch_strides;
  sizes.push_back(call.m), strides.push_back(call.a_row);
  return ProductRows(std::move(sizes), std::move(strides), call.a_col, call.k);
}

// The transpose's rows are the product's columns, which post-ops tell apart; it has no batch.
bool is_transposed_dot(const MatmulCall& call) {
  const bool by_rows = call.c_col == 1 && (call.m == 1 || call.c_row == call.n);
  return by_rows && call.batch.empty() && is_one_pass(call.post_ops) && has_few_columns([&] {
           MatmulCall other = transposed(call);
           other.post_ops.clear();
           other.c_row = other.n, other.c_col = 1;  // as far as has_few_columns asks
           return other;
         }());
}

class DotProduct : public LibraryCall {
 public:
  DotProduct(const MatmulCall& call, const LaneTable& table)
      : swapped_(!has_few_columns(call)),
        call_(swapped_ ? transposed(call) : call),
        table_(table),
        rows_(call_.m * num_elements(call_.batch)),
        a_row_(rows_of_a(call_).distance()),
        one_pass_(call.post_ops, swapped_ ? call_.n : rows_, swapped_ ? rows_ : call_.n, table),
        task_rows_(std::clamp<int64_t>(kTaskBytes / (4 * call_.k), 4, ceil_div(rows_, 4))) {}

  Status run(std::span<const CallOperand> operands) override {
    DotRows product{.columns = call_.n, .depth = call_.k, .a_row = a_row_};
    product.a = floats_of(operands[swapped_ ? 1 : 0]) + call_.a_offset;
    TUFF_RETURN_IF_ERROR(take_columns(operands[swapped_ ? 0 : 1], product));
    product.c = floats_of(operands.back()) + call_.c_offset;
    product.c_row = swapped_ ? 1 : call_.n, product.c_column = swapped_ ? rows_ : 1;
    one_pass_.begin(operands.subspan(2), product.c);
    product.addend = one_pass_.addend();
    product.factors = one_pass_.scales() ? one_pass_.factors().data() : nullptr;
    product.shifts = one_pass_.shifts();
    product.step_row = swapped_ ? 1 : 0, product.step_column = swapped_ ? 0 : 1;
    product.least = one_pass_.least(), product.most = one_pass_.most();
    const int64_t tasks = ceil_div(rows_, task_rows_);
    const double flops = 2.0 * static_cast<double>(rows_ * call_.n) * static_cast<double>(call_.k);
    const int threads =
        flops < kMinParallelFlops ? 1 : static_cast<int>(std::min<int64_t>(max_threads(), tasks));
    SplitRange range(tasks, threads);
    in_parallel(threads, [&](int part) {
      for (int64_t task, next; range.take(part, task, next);) multiply(product, task * task_rows_);
    });
    one_pass_.finish();
    return {};
  }

 private:
  static float* floats_of(const CallOperand& operand) {
    return reinterpret_cast<float*>(operand.data);
  }

  // B's columns side by side: as they lie, or in a copy.
  Status take_columns(const CallOperand& operand, DotRows& product) {
    product.b = floats_of(operand) + call_.b_offset;
    product.b_column = call_.n == 1 ? 0 : call_.b_col;
    if (call_.b_row == 1) return {};
    const int64_t bytes = call_.n * call_.k * 4;
    if (columns_ == nullptr) columns_ = allocate_aligned(bytes);
    if (columns_ == nullptr) return no_memory_for_part(bytes);
    auto* to = reinterpret_cast<float*>(columns_.get());
    for (int64_t j = 0; j < call_.n; ++j)
      for (int64_t l = 0; l < call_.k; ++l)
        to[j * call_.k + l] = product.b[l * call_.b_row + j * call_.b_col];
    product.b = to, product.b_column = call_.k;
    return {};
  }

  void multiply(const DotRows& product, int64_t first) const {
    DotRows part = product;
    part.rows = std::min(task_rows_, rows_ - first);
    part.a += first * part.a_row;
    part.c += first * part.c_row;
    if (part.addend != nullptr) part.addend += first * part.c_row;
    if (part.factors != nullptr) part.factors += first * part.step_row;
    if (part.shifts != nullptr) part.shifts += first * part.step_row;
    table_.dot_rows(part);
    const RowsFn function = one_pass_.function();
    if (function == nullptr) return;
    if (swapped_)
      function(call_.n, part.rows, part.c, rows_);
    else
      function(part.rows, call_.n, part.c, call_.n);
  }

  const bool swapped_;
  const MatmulCall call_;  // of few columns
  const LaneTable& table_;
  const int64_t rows_, a_row_;
  OnePass one_pass_;
  const int64_t task_rows_;
  AlignedBytes columns_;
};

}  // namespace

bool is_dot_product(const MatmulCall& call) {
  if (has_few_columns(call)) return !rows_of_a(call).apart();
  return is_transposed_dot(call);
}

LibraryCallPtr create_dot_product(const MatmulCall& call, const LaneTable& table) {
  return std::make_unique<DotProduct>(call, table);
}

}  // namespace tuff::cpu
