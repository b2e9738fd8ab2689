#include "backend/cpu/attention.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "backend/cpu/execute_kernel.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/scratchpad.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

using dnnl::memory;

// Scores of a task: with the keys and values beside them they fit a cache of 512 KiB.
constexpr int64_t kMaxScoreBytes = 256 << 10;
// Enough for threads to make up for one that is held up.
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kMinRows = 64, kRowUnit = 16;
// Below this, waking a second thread takes longer.
constexpr double kMinParallelFlops = 2e6;

// Matrices of `count` batch elements as oneDNN names them.
memory::desc matrices(int64_t count, int64_t batch_stride, int64_t rows, int64_t cols, int64_t row,
                      int64_t col) {
  if (rows == 1) row = col == 1 ? cols : 1;
  if (cols == 1) col = row == 1 ? rows : 1;
  if (count == 1) return {{rows, cols}, memory::data_type::f32, memory::dims{row, col}};
  return {{count, rows, cols}, memory::data_type::f32, memory::dims{batch_stride, row, col}};
}

// The two matmuls of a task of `rows` rows. The result is written by rows; one of columns
// is the transposed product.
struct Products {
  memory::desc queries, keys, scores, weights, values, result;
  dnnl::matmul::primitive_desc first, second;

  Products(const AttentionCall& c, int64_t count, int64_t rows, const PostOpList& post_ops) {
    auto stride = [&](const BatchMatrix& m) { return m.batch.empty() ? 0 : m.batch.back(); };
    queries = matrices(count, stride(c.queries), rows, c.depth, c.queries.row, c.queries.col);
    keys = matrices(count, stride(c.keys), c.depth, c.columns, c.keys.col, c.keys.row);
    scores = weights = matrices(count, rows * c.columns, rows, c.columns, c.columns, 1);
    values = matrices(count, stride(c.values), c.columns, c.outs, c.values.row, c.values.col);
    result = matrices(count, stride(c.result), rows, c.outs, c.result.row, c.result.col);
    if (by_columns(c)) {
      weights = matrices(count, rows * c.columns, c.columns, rows, 1, c.columns);
      values = matrices(count, stride(c.values), c.outs, c.columns, c.values.col, c.values.row);
      result = matrices(count, stride(c.result), c.outs, rows, c.result.col, c.result.row);
    }
    size_t columns_dim = scores.dims().size() - 1;
    PostOps scaling(post_ops, scores, columns_dim), none({}, result, columns_dim);
    first = {dnnl::matmul::desc(queries, keys, scores), scaling.attributes(), onednn_engine()};
    dnnl::matmul::desc product = by_columns(c) ? dnnl::matmul::desc(values, weights, result)
                                               : dnnl::matmul::desc(weights, values, result);
    second = {product, none.attributes(), onednn_engine()};
  }

  static bool by_columns(const AttentionCall& c) { return c.result.col != 1 && c.outs > 1; }
};

// A Products that one thread runs: with memory of its own.
class Runner {
 public:
  Runner(const Products& products, const PostOpList& post_ops, bool by_columns, float* scores)
      : scaling_(post_ops, products.scores, products.scores.dims().size() - 1),
        first_(products.first),
        second_(products.second),
        first_scratchpad_(products.first.scratchpad_desc()),
        second_scratchpad_(products.second.scratchpad_desc()),
        queries_(products.queries, onednn_engine(), nullptr),
        keys_(products.keys, onednn_engine(), nullptr),
        values_(products.values, onednn_engine(), nullptr),
        result_(products.result, onednn_engine(), nullptr) {
    memory weights(products.weights, onednn_engine(), scores);
    first_arguments_[DNNL_ARG_SRC] = queries_;
    first_arguments_[DNNL_ARG_WEIGHTS] = keys_;
    first_arguments_[DNNL_ARG_DST] = memory(products.scores, onednn_engine(), scores);
    scaling_.bind({}, first_arguments_);
    second_arguments_[DNNL_ARG_SRC] = by_columns ? values_ : weights;
    second_arguments_[DNNL_ARG_WEIGHTS] = by_columns ? weights : values_;
    second_arguments_[DNNL_ARG_DST] = result_;
  }

  void compute_scores(dnnl::stream& stream, float* queries, float* keys) {
    queries_.set_data_handle(queries);
    keys_.set_data_handle(keys);
    first_scratchpad_.bind(first_arguments_);
    first_arguments_.execute(first_, stream);
  }
  void compute_result(dnnl::stream& stream, float* values, float* result) {
    values_.set_data_handle(values);
    result_.set_data_handle(result);
    second_scratchpad_.bind(second_arguments_);
    second_arguments_.execute(second_, stream);
  }

 private:
  PostOps scaling_;
  dnnl::matmul first_, second_;
  Scratchpad first_scratchpad_, second_scratchpad_;
  memory queries_, keys_, values_, result_;
  PrimitiveArguments first_arguments_, second_arguments_;
};

class Attention : public LibraryCall {
 public:
  Attention(const AttentionCall& call, const LaneTable& table) : call_(call), table_(table) {}

  Status create() {
    if (call_.logits) {
      TUFF_ASSIGN(logits_, prepare_kernel(*call_.logits, table_));
    }
    choose_blocks();
    try {
      ThreadsFor one(0);  // each task is one thread's
      Products full(call_, heads_per_task_, rows_per_task_, call_.post_ops);
      std::optional<Products> last;
      if (call_.rows % rows_per_task_ != 0)
        last.emplace(call_, heads_per_task_, call_.rows % rows_per_task_, call_.post_ops);
      workers_.resize(static_cast<size_t>(max_threads()));
      for (Worker& worker : workers_) TUFF_RETURN_IF_ERROR(prepare(worker, full, last));
    } catch (const dnnl::error& error) {
      return onednn_error(error, "attention");
    }
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    std::optional<Error> error;
    std::mutex error_mutex;
    SharedRange tasks(tasks_, 1);
    in_parallel(parallel_ ? static_cast<int>(workers_.size()) : 1, [&](int part) {
      ThreadsFor one(0);
      try {
        for (int64_t task, last; tasks.take(task, last);)
          run_task(workers_[static_cast<size_t>(part)], task, operands);
      } catch (const dnnl::error& thrown) {
        std::lock_guard lock(error_mutex);
        error = onednn_error(thrown, "attention");
      }
    });
    if (error) return *std::move(error);
    return {};
  }

 private:
  struct Worker {
    AlignedBytes scores, logits_scratch;
    std::vector<BufferView> views;  // of the logits kernel
    std::optional<Runner> full, last;
    dnnl::stream stream{onednn_engine()};
  };

  // Tasks are blocks of rows of one matrix, or several small matrices that differ in the
  // last batch dimension.
  void choose_blocks() {
    int64_t row_bytes = call_.columns * 4, matrices = num_elements(call_.batch);
    int64_t wanted_tasks = kTasksPerThread * max_threads();
    // Each block packs the keys anew: not too few rows.
    int64_t block = std::min(kMaxScoreBytes / row_bytes,
                             std::max<int64_t>(kMinRows, matrices * call_.rows / wanted_tasks));
    // Whole grid points of the kernel.
    int64_t unit = (kRowUnit + call_.logits_rows - 1) / call_.logits_rows * call_.logits_rows;
    block = std::max(block - block % unit, std::min(unit, call_.rows));
    rows_per_task_ = std::clamp<int64_t>(block, 1, call_.rows);
    row_blocks_ = (call_.rows + rows_per_task_ - 1) / rows_per_task_;
    int64_t heads = call_.batch.empty() ? 1 : call_.batch.back();
    int64_t most = std::min(kMaxScoreBytes / (row_bytes * call_.rows), matrices / wanted_tasks);
    heads_per_task_ = row_blocks_ > 1 || !heads_follow() ? 1 : std::clamp<int64_t>(most, 1, heads);
    while (heads % heads_per_task_ != 0) --heads_per_task_;
    tasks_ = matrices / heads_per_task_ * row_blocks_;
    double flops = 2.0 * static_cast<double>(matrices * call_.rows) *
                   static_cast<double>(call_.columns * (call_.depth + call_.outs));
    parallel_ = tasks_ > 1 && flops >= kMinParallelFlops;
  }

  // oneDNN names the batch dimension of all operands by positive strides.
  bool heads_follow() const {
    const BatchMatrix* all[] = {&call_.queries, &call_.keys, &call_.values, &call_.result};
    return std::all_of(std::begin(all), std::end(all), [](const BatchMatrix* m) {
      return !m->batch.empty() && m->batch.back() > 0;
    });
  }

  Status prepare(Worker& worker, const Products& full, const std::optional<Products>& last) {
    int64_t bytes = heads_per_task_ * rows_per_task_ * call_.columns * 4;
    worker.scores = allocate_aligned(bytes);
    if (logits_) {
      worker.logits_scratch = allocate_aligned(LaneInterpreter::scratch_bytes(*logits_));
      worker.views.resize(logits_->buffers.size());
    }
    if (worker.scores == nullptr || (logits_ && worker.logits_scratch == nullptr))
      return Error{ErrorCode::kOutOfMemory,
                   "The scores of an attention's rows (" + std::to_string(bytes) +
                       " bytes) do not fit in the machine's memory.",
                   ""};
    auto* scores = reinterpret_cast<float*>(worker.scores.get());
    bool by_columns = Products::by_columns(call_);
    worker.full.emplace(full, call_.post_ops, by_columns, scores);
    if (last) worker.last.emplace(*last, call_.post_ops, by_columns, scores);
    return {};
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
    int64_t element = task / row_blocks_ * heads_per_task_;
    int64_t row = task % row_blocks_ * rows_per_task_;
    int64_t rows = std::min(rows_per_task_, call_.rows - row);
    Runner& runner = rows == rows_per_task_ ? *worker.full : *worker.last;
    runner.compute_scores(worker.stream, place(call_.queries, operands[0], element, row),
                          place(call_.keys, operands[1], element, 0));
    if (logits_)
      for (int64_t h = 0; h < heads_per_task_; ++h)
        compute_logits(worker, element + h, h * rows, row, rows, operands);
    auto* scores = reinterpret_cast<float*>(worker.scores.get());
    for (int64_t r = 0; r < heads_per_task_ * rows; ++r)
      table_.softmax_row(call_.columns, scores + r * call_.columns, scores + r * call_.columns);
    runner.compute_result(worker.stream, place(call_.values, operands[2], element, 0),
                          place(call_.result, operands.back(), element, row));
  }

  // The kernel sees all rows of the batch element; those in memory are `rows` from `row` on,
  // and begin at row `first` of the worker's scores.
  void compute_logits(Worker& worker, int64_t element, int64_t first, int64_t row, int64_t rows,
                      std::span<const CallOperand> operands) {
    int64_t row_bytes = call_.columns * 4;
    worker.views[0] = {worker.scores.get() + (first - row) * row_bytes, call_.rows * row_bytes};
    for (size_t i = 1; i < worker.views.size(); ++i) worker.views[i].data = operands[2 + i].data;
    LaneInterpreter interpreter(*logits_, call_.logits_params, worker.views,
                                worker.logits_scratch.get(), false);
    int64_t points = (call_.rows + call_.logits_rows - 1) / call_.logits_rows;
    int64_t point = element * points + row / call_.logits_rows;
    for (int64_t r = 0; r < rows; r += call_.logits_rows) interpreter.run_point(point++);
  }

  AttentionCall call_;
  const LaneTable& table_;
  std::optional<KernelProgram> logits_;
  int64_t rows_per_task_ = 1, row_blocks_ = 1, heads_per_task_ = 1, tasks_ = 0;
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
