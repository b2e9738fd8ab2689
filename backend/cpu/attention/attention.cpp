#include "backend/cpu/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/kernels/execute_kernel.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Scores of a task: with the keys and values beside them they fit a cache of 512 KiB.
constexpr int64_t kMaxScoreBytes = 64 << 10;
// Keys and values are copied, where they must be, in blocks of this many columns of scores, or of
// as many as so many bytes hold. A matrix of one block is copied once for all of its tasks, one of
// several for each.
constexpr int64_t kMinPacked = 1024, kMaxPackedBytes = 4 << 20;
constexpr int64_t kRowUnit = 12;  // a multiple of what products compute at once
// Neighbouring tasks, which share keys, are taken together; enough turns for threads to
// make up for one that is held up.
constexpr int64_t kTurnsPerThread = 8;

float* floats(const AlignedBytes& bytes) { return reinterpret_cast<float*>(bytes.get()); }

// The right side of a product, as products want it: where it lies, or copied.
class RightSide {
 public:
  // Matrices of `cols` columns with these strides, read in blocks of at most block_rows x
  // block_cols. False: no memory.
  bool create(int64_t cols, int64_t row, int64_t col, int64_t block_rows, int64_t block_cols) {
    row_ = row, col_ = col;
    copies_ = col != 1 || cols % kProductColumns != 0;
    if (copies_) copy_ = allocate_aligned(block_rows * round_up(block_cols, kProductColumns) * 4);
    return !copies_ || copy_ != nullptr;
  }
  // Sets the right side of `product`, its k x n at `from`. `name`: of these contents in this
  // run.
  void read(const float* from, int64_t name, const LaneTable& table, RowProduct& product) {
    product.b = from, product.b_row = row_;
    if (!copies_) return;
    product.b = floats(copy_), product.b_row = round_up(product.n, kProductColumns);
    if (name != name_)
      table.pack_columns(product.k, product.n, from, row_, col_, floats(copy_), product.b_row);
    name_ = name;
  }
  void forget() { name_ = -1; }

 private:
  int64_t row_ = 0, col_ = 0, name_ = -1;
  bool copies_ = false;
  AlignedBytes copy_;
};

class Attention : public LibraryCall {
 public:
  Attention(const AttentionCall& call, const LaneTable& table) : call_(call), table_(table) {}

  Status create() {
    if (call_.logits) {
      TUFF_ASSIGN(logits_, prepare_kernel(*call_.logits, table_));
    }
    choose_blocks();
    take_scale();
    workers_.resize(parallel_ ? static_cast<size_t>(max_threads()) : 1);
    for (Worker& worker : workers_)
      if (!prepare(worker))
        return Error{ErrorCode::kOutOfMemory,
                     "The scores of an attention's rows (" + std::to_string(score_bytes()) +
                         " bytes) do not fit in the machine's memory.",
                     ""};
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    auto threads = static_cast<int>(workers_.size());
    SharedRange tasks(tasks_, std::max<int64_t>(1, tasks_ / (threads * kTurnsPerThread)));
    in_parallel(threads, [&](int part) {
      Worker& worker = workers_[static_cast<size_t>(part)];
      worker.keys.forget();
      worker.values.forget();
      for (int64_t task, last; tasks.take(task, last);)
        for (; task < last; ++task) run_task(worker, task, operands);
    });
    return {};
  }

 private:
  struct Worker {
    AlignedBytes scores, scales, result, logits_slots, logits_scratch;
    RightSide keys, values;
    std::vector<BufferView> views;  // of the logits kernel
  };

  int64_t score_bytes() const { return rows_per_task_ * call_.columns * 4; }
  bool by_columns() const { return call_.result.col != 1 && call_.outs > 1; }

  // Tasks are blocks of rows of one matrix, whole grid points of the kernel.
  void choose_blocks() {
    int64_t unit = round_up(kRowUnit, call_.logits_rows);
    int64_t block = kMaxScoreBytes / (call_.columns * 4) / unit * unit;
    rows_per_task_ = std::min(std::max(block, unit), call_.rows);
    row_blocks_ = (call_.rows + rows_per_task_ - 1) / rows_per_task_;
    int64_t matrices = num_elements(call_.batch);
    tasks_ = matrices * row_blocks_;
    double flops = 2.0 * static_cast<double>(matrices * call_.rows) *
                   static_cast<double>(call_.columns * (call_.depth + call_.outs));
    parallel_ = tasks_ > 1 && flops >= kMinParallelFlops;
    const int64_t column_bytes = std::max({call_.depth, call_.outs, int64_t{1}}) * 4;
    packed_ = std::min(call_.columns, std::max(kMinPacked, kMaxPackedBytes / column_bytes));
  }

  // The product can do the first post-op where that is a multiplication.
  void take_scale() {
    if (call_.post_ops.empty()) return;
    const PostOp& first = call_.post_ops.front();
    int exponent = 0;
    bool exact = std::abs(std::frexp(first.value, &exponent)) == 0.5f && std::abs(exponent) < 100;
    if (first.kind == PostOp::Kind::kMultiply)
      scale_ = first.value;
    else if (first.kind == PostOp::Kind::kDivide && exact)
      scale_ = 1 / first.value;
    else
      return;
    call_.post_ops.erase(call_.post_ops.begin());
  }

  bool prepare(Worker& worker) const {
    worker.scores = allocate_aligned(score_bytes());
    worker.scales = allocate_aligned(rows_per_task_ * 4);
    if (by_columns()) worker.result = allocate_aligned(rows_per_task_ * call_.outs * 4);
    if (logits_) {
      worker.logits_slots =
          allocate_aligned(static_cast<int64_t>(LaneInterpreter::slot_bytes(*logits_)));
      worker.logits_scratch = allocate_aligned(logits_->scratch_bytes);
      worker.views.resize(logits_->buffers.size());
    }
    const BatchMatrix &keys = call_.keys, &values = call_.values;
    return worker.keys.create(call_.columns, keys.col, keys.row, call_.depth, packed_) &&
           worker.values.create(call_.outs, values.row, values.col, packed_, call_.outs) &&
           worker.scores != nullptr && worker.scales != nullptr &&
           (!by_columns() || worker.result != nullptr) &&
           (!logits_ || (worker.logits_slots != nullptr && worker.logits_scratch != nullptr));
  }

  // The matrix of batch element `element`, from `row` on, in the memory of its operand.
  float* place(const BatchMatrix& matrix, const CallOperand& operand, int64_t element,
               int64_t row) const {
    int64_t at = matrix.offset + row * matrix.row;
    for (size_t d = call_.batch.size(); d-- > 0; element /= call_.batch[d])
      at += element % call_.batch[d] * matrix.batch[d];
    return reinterpret_cast<float*>(operand.data) + at;
  }

  void run_task(Worker& worker, int64_t task, std::span<const CallOperand> operands) {
    int64_t element = task / row_blocks_, row = task % row_blocks_ * rows_per_task_;
    int64_t rows = std::min(rows_per_task_, call_.rows - row);
    compute_scores(worker, element, row, rows, operands);
    if (logits_) compute_logits(worker, element, row, rows, operands);
    for (int64_t r = 0; r < rows; ++r) {
      float* scores = floats(worker.scores) + r * call_.columns;
      floats(worker.scales)[r] = 1 / table_.exp_row(call_.columns, scores, scores);
    }
    compute_result(worker, element, row, rows, operands);
  }

  void compute_scores(Worker& worker, int64_t element, int64_t row, int64_t rows,
                      std::span<const CallOperand> operands) {
    const float* keys = place(call_.keys, operands[1], element, 0);
    RowProduct product{.m = rows, .k = call_.depth, .scale = scale_};
    product.a = place(call_.queries, operands[0], element, row);
    product.a_row = call_.queries.row, product.a_col = call_.queries.col;
    product.c_row = call_.columns;
    for (int64_t first = 0; first < call_.columns; first += packed_) {
      product.n = std::min(packed_, call_.columns - first);
      product.c = floats(worker.scores) + first;
      worker.keys.read(keys + first * call_.keys.row, element * call_.columns + first, table_,
                       product);
      table_.multiply_rows(product);
    }
    for (const PostOp& op : call_.post_ops) apply(op, rows * call_.columns, worker);
  }

  void apply(const PostOp& op, int64_t count, const Worker& worker) const {
    constexpr int kSecondIsOneElement = 0b10;
    auto* scores = floats(worker.scores);
    table_.compute[static_cast<size_t>(op_of(op.kind))][static_cast<size_t>(DType::kF32)]
                  [kSecondIsOneElement](count, scores, scores, &op.value, nullptr);
  }

  // The kernel sees all rows of the batch element; those in memory are `rows` from `row` on.
  void compute_logits(Worker& worker, int64_t element, int64_t row, int64_t rows,
                      std::span<const CallOperand> operands) {
    int64_t row_bytes = call_.columns * 4;
    worker.views[0] = {worker.scores.get() - row * row_bytes, call_.rows * row_bytes};
    for (size_t i = 1; i < worker.views.size(); ++i) worker.views[i].data = operands[2 + i].data;
    LaneInterpreter interpreter(*logits_, call_.logits_params, worker.views,
                                worker.logits_slots.get(), worker.logits_scratch.get(), false);
    int64_t points = (call_.rows + call_.logits_rows - 1) / call_.logits_rows;
    int64_t point = element * points + row / call_.logits_rows;
    interpreter.run_points(point, point + (rows + call_.logits_rows - 1) / call_.logits_rows);
  }

  void compute_result(Worker& worker, int64_t element, int64_t row, int64_t rows,
                      std::span<const CallOperand> operands) {
    float* result = place(call_.result, operands.back(), element, row);
    const float* values = place(call_.values, operands[2], element, 0);
    RowProduct product{.m = rows, .n = call_.outs, .a_row = call_.columns, .a_col = 1};
    product.c = by_columns() ? floats(worker.result) : result;
    product.c_row = by_columns() ? call_.outs : call_.result.row;
    for (int64_t first = 0; first < call_.columns; first += packed_) {
      product.k = std::min(packed_, call_.columns - first);
      product.a = floats(worker.scores) + first;
      if (first > 0) product.addend = product.c, product.addend_row = product.c_row;
      if (first + product.k == call_.columns) product.row_scales = floats(worker.scales);
      worker.values.read(values + first * call_.values.row, element * call_.columns + first, table_,
                         product);
      table_.multiply_rows(product);
    }
    if (!by_columns()) return;
    for (int64_t o = 0; o < call_.outs; ++o)
      for (int64_t r = 0; r < rows; ++r)
        result[r * call_.result.row + o * call_.result.col] = product.c[r * call_.outs + o];
  }

  AttentionCall call_;
  const LaneTable& table_;
  std::optional<KernelProgram> logits_;
  float scale_ = 1;
  int64_t rows_per_task_ = 1, row_blocks_ = 1, tasks_ = 0;
  int64_t packed_ = 0;  // columns of a block
  bool parallel_ = false;
  std::vector<Worker> workers_;
};

}  // namespace

Result<LibraryCallPtr> create_attention(const AttentionCall& call, const LaneTable& table) {
  auto attention = std::make_unique<Attention>(call, table);
  TUFF_RETURN_IF_ERROR(attention->create());
  return LibraryCallPtr(std::move(attention));
}

}  // namespace tuff::cpu
