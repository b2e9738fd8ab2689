#include "backend/cpu/gemm/dot_product.h"

#include <algorithm>

#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/gemm/dot_rows.h"
#include "backend/cpu/gemm/few_vectors.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/product_rows.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// With more columns panels pay, with fewer rows or shorter sums lanes are idle.
constexpr int64_t kMaxColumns = 4, kLeastRows = 32, kLeastDepth = 64;
// Of a task: far more than the processor's prefetch looks ahead.
constexpr int64_t kTaskBytes = 1 << 18;

bool has_few_columns(const MatmulCall& call, const LaneTable& table) {
  if (!has_plain_rows(call) || call.a_col != 1) return false;
  // Vectors of each matrix of a batch are read as they lie.
  if (!shares_b(call) && (call.b_row != 1 || call.b_type() != DType::kF32)) return false;
  if (table.dot_rows[static_cast<size_t>(call.a_type())] == nullptr) return false;
  const int64_t rows = call.m * num_elements(call.batch);
  return call.n <= kMaxColumns && rows >= kLeastRows && call.k >= kLeastDepth &&
         FewVectors::can_read(call.b_row, call.b_type());
}

ProductRows rows_of_a(const MatmulCall& call) {
  std::vector<int64_t> sizes = call.batch, strides = call.a_batch_strides;
  sizes.push_back(call.m), strides.push_back(call.a_row);
  return ProductRows(std::move(sizes), std::move(strides), call.a_col, call.k);
}

// Elements from one matrix's vectors to each other one's, by the number in the batch; a single one
// where all have the same.
std::vector<int64_t> offsets_of_b(const MatmulCall& call) {
  std::vector<int64_t> offsets{0};
  for (size_t d = 0; d < call.batch.size() && !shares_b(call); ++d) {
    std::vector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < call.batch[d]; ++i)
        next.push_back(offset + i * call.b_batch_strides[d]);
    offsets = std::move(next);
  }
  return offsets;
}

// The transpose's rows are the product's columns, which post-ops may tell apart; those of a batch
// are one column each.
bool is_transposed_dot(const MatmulCall& call, const LaneTable& table) {
  const bool by_rows = call.c_col == 1 && (call.m == 1 || call.c_row == call.n);
  const bool of_batch = call.m == 1 && !has_columns(call.post_ops);
  if (!by_rows || !(call.batch.empty() || of_batch) || !is_one_pass(call.post_ops)) return false;
  MatmulCall other = transposed(call);
  other.post_ops.clear();
  other.c_row = other.n, other.c_col = 1;  // as far as has_few_columns asks
  return has_few_columns(other, table);
}

class DotProduct : public LibraryCall {
 public:
  DotProduct(const MatmulCall& call, const LaneTable& table)
      : swapped_(!has_few_columns(call, table)),
        call_(swapped_ ? transposed(call) : call),
        table_(table),
        rows_(call_.m * num_elements(call_.batch)),
        b_offsets_(offsets_of_b(call_)),
        matrix_rows_(rows_ / matrices()),
        a_row_(rows_of_a(call_).distance()),
        columns_(call_.n, call_.k, call_.b_col, call_.b_row, call_.b_type()),
        result_(rows_ * call_.n, call_.c_offset, call_.result_type),
        one_pass_(call.post_ops, swapped_ ? call_.n : rows_, swapped_ ? rows_ : call_.n, table),
        task_rows_(std::clamp<int64_t>(kTaskBytes / (call_.k * dtype_size(call_.a_type())), 4,
                                       ceil_div(matrix_rows_, 4))),
        matrix_tasks_(ceil_div(matrix_rows_, task_rows_)) {}

  Status run(std::span<const CallOperand> operands) override {
    DotRows product{.columns = call_.n, .depth = call_.k, .a_row = a_row_};
    const CallOperand &matrix = operands[swapped_ ? 1 : 0], &columns = operands[swapped_ ? 0 : 1];
    product.a = matrix.data + call_.a_offset * dtype_size(call_.a_type());
    TUFF_ASSIGN(product.b,
                columns_.read(columns.data + call_.b_offset * dtype_size(call_.b_type()), table_));
    product.b_column = columns_.distance();
    TUFF_ASSIGN(product.c, result_.begin(operands.back().data));
    product.c_row = swapped_ ? 1 : call_.n, product.c_column = swapped_ ? rows_ : 1;
    one_pass_.begin(operands.subspan(2), product.c);
    product.addend = one_pass_.addend();
    product.factors = one_pass_.scales() ? one_pass_.factors().data() : nullptr;
    product.shifts = one_pass_.shifts();
    product.step_row = swapped_ ? 1 : 0, product.step_column = swapped_ ? 0 : 1;
    product.least = one_pass_.least(), product.most = one_pass_.most();
    const int64_t tasks = matrices() * matrix_tasks_;
    const double flops = 2.0 * static_cast<double>(rows_ * call_.n) * static_cast<double>(call_.k);
    const int threads =
        flops < kMinParallelFlops ? 1 : static_cast<int>(std::min<int64_t>(max_threads(), tasks));
    SplitRange range(tasks, threads);
    in_parallel(threads, [&](int part) {
      for (int64_t task, next; range.take(part, task, next);) multiply(product, task);
    });
    one_pass_.finish();
    result_.finish(table_, operands.back().data);
    return {};
  }

 private:
  int64_t matrices() const { return static_cast<int64_t>(b_offsets_.size()); }

  void multiply(const DotRows& product, int64_t task) const {
    const int64_t matrix = task / matrix_tasks_, row = task % matrix_tasks_ * task_rows_;
    const int64_t first = matrix * matrix_rows_ + row;
    DotRows part = product;
    part.rows = std::min(task_rows_, matrix_rows_ - row);
    part.b += b_offsets_[static_cast<size_t>(matrix)];
    part.a =
        static_cast<const std::byte*>(part.a) + first * part.a_row * dtype_size(call_.a_type());
    part.c += first * part.c_row;
    if (part.addend != nullptr) part.addend += first * part.c_row;
    if (part.factors != nullptr) part.factors += first * part.step_row;
    if (part.shifts != nullptr) part.shifts += first * part.step_row;
    table_.dot_rows[static_cast<size_t>(call_.a_type())](part);
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
  const int64_t rows_;
  const std::vector<int64_t> b_offsets_;  // see offsets_of_b
  const int64_t matrix_rows_, a_row_;
  FewVectors columns_;
  FloatResult result_;
  OnePass one_pass_;
  const int64_t task_rows_, matrix_tasks_;  // of a matrix
};

}  // namespace

bool is_dot_product(const MatmulCall& call, const LaneTable& table) {
  if (has_few_columns(call, table)) return !rows_of_a(call).apart();
  return is_transposed_dot(call, table);
}

LibraryCallPtr create_dot_product(const MatmulCall& call, const LaneTable& table) {
  return std::make_unique<DotProduct>(call, table);
}

}  // namespace tuff::cpu
