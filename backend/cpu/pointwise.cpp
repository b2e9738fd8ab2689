#include "backend/cpu/pointwise.h"

#include <algorithm>

#include "backend/cpu/execute_kernel.h"
#include "backend/cpu/one_pass.h"
#include "backend/cpu/row_product.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

constexpr int64_t kPanel = 64;      // columns of weights that lie together
constexpr int64_t kBlockRows = 48;  // pixels of a task
constexpr int64_t kTasksPerThread = 8;
// Below this, waking a second thread takes longer.
constexpr double kMinParallelFlops = 2e6;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The pixels of the source that a convolution takes, in the order of the destination's.
class Pixels {
 public:
  explicit Pixels(const ConvolutionCall& call)
      : offset_(call.source.offset), depth_(call.source.sizes[1]) {
    const std::vector<int64_t>&sizes = call.destination.sizes, &strides = call.source.strides;
    sizes_ = {sizes[0]}, strides_ = {strides[0]};
    for (size_t d = 2; d < sizes.size(); ++d) {
      sizes_.push_back(sizes[d]);
      strides_.push_back(strides[d] * call.strides[d - 2]);
      gaps_ = gaps_ || call.source.sizes[d] != sizes[d];
    }
  }

  // How many elements of a pixel are copied: none where pixels lie side by side.
  int64_t copied_depth() const { return gaps_ ? depth_ : 0; }
  // `count` pixels from `first` on, one after the other; in `copy` where they lie apart.
  const float* side_by_side(const float* source, int64_t first, int64_t count, float* copy) const {
    source += offset_;
    if (!gaps_) return source + first * depth_;
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(source + place(first + i), depth_, copy + i * depth_);
    return copy;
  }

 private:
  int64_t place(int64_t pixel) const {
    int64_t at = 0;
    for (size_t d = sizes_.size(); d-- > 0; pixel /= sizes_[d])
      at += pixel % sizes_[d] * strides_[d];
    return at;
  }

  std::vector<int64_t> sizes_, strides_;  // [n, spatial..] of the destination's pixels
  int64_t offset_ = 0, depth_ = 0;
  bool gaps_ = false;
};

class Pointwise : public LibraryCall {
 public:
  Pointwise(const ConvolutionCall& call, const LaneTable& table)
      : table_(table),
        weights_(call.weights),
        pixels_(call),
        result_offset_(call.destination.offset),
        rows_(num_elements(call.destination.sizes) / call.destination.sizes[1]),
        columns_(call.destination.sizes[1]),
        depth_(call.source.sizes[1]),
        one_pass_(call.post_ops, rows_, columns_, table) {
    choose_tasks();
    copies_.resize(static_cast<size_t>(threads() * kBlockRows * pixels_.copied_depth()));
  }

  Status run(std::span<const CallOperand> operands) override {
    RowProduct product{.k = depth_, .a_row = depth_, .a_col = 1, .b_row = kPanel};
    product.a = reinterpret_cast<const float*>(operands[0].data);
    product.fetch_c = true;
    product.c = reinterpret_cast<float*>(operands.back().data) + result_offset_;
    product.c_row = product.addend_row = columns_;
    one_pass_.begin(operands.subspan(2), product.c);
    TUFF_RETURN_IF_ERROR(pack(operands[1], one_pass_.factors()));
    product.addend = one_pass_.addend();
    product.column_shifts = one_pass_.shifts();
    product.least = one_pass_.least();
    SharedRange tasks(row_blocks_ * column_groups_, 1);
    in_parallel(threads(), [&](int part) {
      float* copy = copies_.data() + part * kBlockRows * pixels_.copied_depth();
      for (int64_t task, last; tasks.take(task, last);) run_task(product, task, copy);
    });
    one_pass_.finish();
    return {};
  }

 private:
  // Blocks of pixels, those of the same panels of weights after each other.
  void choose_tasks() {
    panels_ = ceil_div(columns_, kPanel);
    row_blocks_ = ceil_div(rows_, kBlockRows);
    int64_t wanted = kTasksPerThread * threads_;
    column_groups_ = std::clamp<int64_t>(ceil_div(wanted, row_blocks_), 1, panels_);
    double flops = 2.0 * static_cast<double>(rows_ * columns_) * static_cast<double>(depth_);
    parallel_ = row_blocks_ * column_groups_ > 1 && flops >= kMinParallelFlops;
  }

  int threads() const { return parallel_ ? threads_ : 1; }

  void run_task(RowProduct product, int64_t task, float* copy) const {
    int64_t row = task % row_blocks_ * kBlockRows, group = task / row_blocks_;
    product.m = std::min(kBlockRows, rows_ - row);
    product.a = pixels_.side_by_side(product.a, row, product.m, copy);
    float* c = product.c + row * columns_;
    const float* addend = product.addend == nullptr ? nullptr : product.addend + row * columns_;
    const float* shifts = product.column_shifts;
    int64_t first = group * panels_ / column_groups_, last = (group + 1) * panels_ / column_groups_;
    for (int64_t panel = first; panel < last; ++panel) {
      int64_t column = panel * kPanel;
      product.fetch_a = panel == first;
      product.n = std::min(kPanel, columns_ - column);
      product.b = reinterpret_cast<const float*>(packed_.get()) + column * depth_;
      product.next_b = panel + 1 < last ? product.b + kPanel * depth_ : nullptr;
      product.c = c + column;
      if (addend != nullptr) product.addend = addend + column;
      if (shifts != nullptr) product.column_shifts = shifts + column;
      table_.multiply_rows(product);
    }
  }

  // The weights times the factors of their columns, panel by panel.
  Status pack(const CallOperand& weights, const std::vector<float>& factors) {
    bool same =
        weights.version != 0 && weights.version == packed_version_ && factors == packed_factors_;
    if (same) return {};
    int64_t size_bytes = panels_ * kPanel * depth_ * 4;
    if (packed_ == nullptr) packed_ = allocate_aligned(size_bytes);
    if (packed_ == nullptr)
      return Error{ErrorCode::kOutOfMemory,
                   "The packed weights of a convolution (" + std::to_string(size_bytes) +
                       " bytes) do not fit in the machine's memory.",
                   ""};
    const float* from = reinterpret_cast<const float*>(weights.data) + weights_.offset;
    SharedRange panels(panels_, 1);
    in_parallel(threads(), [&](int) {
      for (int64_t panel, last; panels.take(panel, last);) pack_panel(from, factors, panel);
    });
    packed_version_ = weights.version;
    packed_factors_ = factors;
    return {};
  }

  void pack_panel(const float* weights, const std::vector<float>& factors, int64_t panel) const {
    int64_t column = panel * kPanel, count = std::min(kPanel, columns_ - column);
    float* to = reinterpret_cast<float*>(packed_.get()) + column * depth_;
    table_.pack_columns(depth_, count, weights + column * weights_.strides[1], weights_.strides[2],
                        weights_.strides[1], to, kPanel);
    if (!one_pass_.scales()) return;
    const float* own = factors.data() + column;
    for (int64_t l = 0; l < depth_; ++l)
      for (int64_t c = 0; c < count; ++c) to[l * kPanel + c] *= own[c];
  }

  const LaneTable& table_;
  StridedTensor weights_;
  Pixels pixels_;
  int64_t result_offset_ = 0;
  int64_t rows_ = 0, columns_ = 0, depth_ = 0, panels_ = 0, row_blocks_ = 0, column_groups_ = 1;
  OnePass one_pass_;
  const int threads_ = max_threads();
  bool parallel_ = false;
  std::vector<float> copies_;  // of each thread: the pixels of a task
  AlignedBytes packed_;
  uint64_t packed_version_ = 0;
  std::vector<float> packed_factors_;
};

}  // namespace

LibraryCallPtr create_pointwise(const ConvolutionCall& call, const LaneTable& table) {
  return std::make_unique<Pointwise>(call, table);
}

}  // namespace tuff::cpu
