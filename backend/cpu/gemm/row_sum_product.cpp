#include "backend/cpu/gemm/row_sum_product.h"

#include <algorithm>
#include <atomic>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/gemm/few_vectors.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/row_sums.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// Smaller ones are over before others have begun.
constexpr int64_t kNarrowestMatrix = 64, kFewestProducts = 1 << 15;
// Of a task: rows of B long enough to be streams, sums that stay in a core's first cache.
constexpr int64_t kColumnsOfTask = 2048;
// Where columns make few tasks, the depth is divided, too: as long as parts are worth a thread's
// while.
constexpr int64_t kTasks = 16, kLeastPartBytes = 1 << 17;

bool has_few_rows(const MatmulCall& call, const LaneTable& table) {
  const auto b = static_cast<size_t>(call.b_type());
  return is_panel_product(call) && call.batch.empty() && call.b_col == 1 &&
         table.row_sums[b] != nullptr && call.m <= table.most_row_sums &&
         call.n >= kNarrowestMatrix && call.m * call.n * call.k >= kFewestProducts &&
         FewVectors::can_read(call.a_col, call.a_type());
}

// A matrix that lies by columns times one vector. The transpose's columns are the call's rows,
// which no post-op tells apart.
bool is_transposed(const MatmulCall& call, const LaneTable& table) {
  if (call.n != 1 || !call.batch.empty() || call.c_row != 1) return false;
  if (has_columns(call.post_ops)) return false;
  MatmulCall other = transposed(call);
  other.c_row = other.n;
  return has_few_rows(other, table);
}

class RowSumProduct : public LibraryCall {
 public:
  RowSumProduct(const MatmulCall& call, const LaneTable& table)
      : swapped_(!has_few_rows(call, table)),
        call_(swapped_ ? transposed(call) : call),
        table_(table),
        rows_(call_.m, call_.k, call_.a_row, call_.a_col, call_.a_type()),
        result_(call_.m * call_.n, call_.c_offset, call_.result_type),
        one_pass_(call_.post_ops, call_.m, call_.n, table),
        task_columns_(even_part(call_.n, kColumnsOfTask, 16)),
        blocks_(ceil_div(call_.n, task_columns_)),
        part_depth_(even_part(call_.k, ceil_div(call_.k, wanted_parts()))),
        parts_(ceil_div(call_.k, part_depth_)) {}

  Status run(std::span<const CallOperand> operands) override {
    RowSums product{.rows = call_.m};
    const CallOperand &rows = operands[swapped_ ? 1 : 0], &matrix = operands[swapped_ ? 0 : 1];
    TUFF_ASSIGN(product.a,
                rows_.read(rows.data + call_.a_offset * dtype_size(call_.a_type()), table_));
    product.a_row = rows_.distance();
    const std::byte* b = matrix.data + call_.b_offset * dtype_size(call_.b_type());
    product.b_row = call_.b_row;
    TUFF_ASSIGN(float* c, result_.begin(operands.back().data));
    one_pass_.begin(operands.subspan(2), c);
    // One block's at a time, or all parts'.
    const int64_t bytes = call_.m * (parts_ == 1 ? task_columns_ : parts_ * call_.n) * 4;
    if (parts_ > 1 && sums_ == nullptr) sums_ = allocate_aligned(bytes);
    std::atomic<bool> has_memory = parts_ == 1 || sums_ != nullptr;
    if (has_memory) {
      SplitRange tasks(blocks_ * parts_, threads());
      in_parallel(threads(), [&](int part) {
        std::byte* memory = parts_ > 1 ? sums_.get() : thread_memory(static_cast<size_t>(bytes));
        if (memory == nullptr) has_memory = false;
        for (int64_t task, next; memory != nullptr && tasks.take(part, task, next);)
          multiply(product, b, task, reinterpret_cast<float*>(memory), c);
      });
    }
    if (!has_memory) return no_memory_for_part(bytes);
    if (parts_ > 1) add_up(c);
    one_pass_.finish();
    result_.finish(table_, operands.back().data);
    return {};
  }

 private:
  int64_t wanted_parts() const {
    const int64_t bytes = call_.k * call_.n * dtype_size(call_.b_type());
    return std::clamp<int64_t>(bytes / kLeastPartBytes, 1, ceil_div(kTasks, blocks_));
  }

  int threads() const {
    const double flops =
        2.0 * static_cast<double>(call_.m * call_.n) * static_cast<double>(call_.k);
    if (flops < kMinParallelFlops) return 1;
    return static_cast<int>(std::min<int64_t>(max_threads(), blocks_ * parts_));
  }

  void multiply(const RowSums& product, const std::byte* b, int64_t task, float* sums,
                float* c) const {
    const int64_t part = task / blocks_, column = task % blocks_ * task_columns_;
    RowSums piece = product;
    piece.columns = std::min(task_columns_, call_.n - column);
    piece.depth = std::min(part_depth_, call_.k - part * part_depth_);
    piece.a += part * part_depth_;
    piece.b = b + (part * part_depth_ * call_.b_row + column) * dtype_size(call_.b_type());
    piece.sums = parts_ == 1 ? sums : sums + part * call_.m * call_.n + column;
    piece.sums_row = parts_ == 1 ? task_columns_ : call_.n;
    table_.row_sums[static_cast<size_t>(call_.b_type())](piece);
    if (parts_ > 1) return;
    for (int64_t i = 0; i < call_.m; ++i)
      store(sums + i * task_columns_, i, column, piece.columns, c + i * call_.n + column);
  }

  void add_up(float* c) {
    auto* sums = reinterpret_cast<float*>(sums_.get());
    const int64_t count = call_.m * call_.n;
    const LaneFn add =
        table_.compute[static_cast<size_t>(Op::kAdd)][static_cast<size_t>(DType::kF32)][0];
    for (int64_t part = 1; part < parts_; ++part)
      add(count, sums, sums, sums + part * count, nullptr);
    for (int64_t i = 0; i < call_.m; ++i) store(sums + i * call_.n, i, 0, call_.n, c + i * call_.n);
  }

  // What follows the sums of row i from a column on.
  void store(const float* sums, int64_t i, int64_t column, int64_t count, float* c) const {
    const float* factors = one_pass_.scales() ? one_pass_.factors().data() + column : nullptr;
    const float* addend = one_pass_.addend();
    if (addend != nullptr) addend += i * call_.n + column;
    const float* shifts = one_pass_.shifts();
    if (shifts != nullptr) shifts += column;
    const float least = one_pass_.least(), most = one_pass_.most();
    for (int64_t j = 0; j < count; ++j) {
      float sum = sums[j];
      if (factors != nullptr) sum *= factors[j];
      if (addend != nullptr) sum += addend[j];
      if (shifts != nullptr) sum += shifts[j];
      sum = sum < least ? least : sum;
      c[j] = sum > most ? most : sum;
    }
    if (one_pass_.function() != nullptr) one_pass_.function()(1, count, c, count);
  }

  const bool swapped_;
  const MatmulCall call_;  // of few rows
  const LaneTable& table_;
  FewVectors rows_;
  FloatResult result_;
  OnePass one_pass_;
  const int64_t task_columns_, blocks_, part_depth_, parts_;
  AlignedBytes sums_;  // of each part
};

}  // namespace

bool is_row_sum_product(const MatmulCall& call, const LaneTable& table) {
  return has_few_rows(call, table) || is_transposed(call, table);
}

LibraryCallPtr create_row_sum_product(const MatmulCall& call, const LaneTable& table) {
  return std::make_unique<RowSumProduct>(call, table);
}

}  // namespace tuff::cpu
