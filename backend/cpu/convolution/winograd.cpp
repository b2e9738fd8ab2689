#include "backend/cpu/convolution/winograd.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// Tiles of a task: weights are read once for so many.
constexpr int64_t kMinBlockTiles = 32, kMaxBlockTiles = 48;
constexpr int64_t kTasksPerThread = 4;
// Between what is one transformed point's and the next one's: they should not all lie in the same
// lines of a cache.
constexpr int64_t kGap = 16;
constexpr int64_t kTaps = kWinogradWindow * kWinogradWindow;
constexpr int64_t kMaxPoints = kMaxWinogradSide * kMaxWinogradSide;
constexpr int64_t kMaxPixels = kMaxWinogradTile * kMaxWinogradTile;

// Images of pixels, channels last.
struct Images {
  int64_t offset = 0, count = 0, height = 0, width = 0, channels = 0;

  explicit Images(const StridedTensor& tensor)
      : offset(tensor.offset),
        count(tensor.sizes[0]),
        height(tensor.sizes[2]),
        width(tensor.sizes[3]),
        channels(tensor.sizes[1]) {}
  bool contains(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }
  int64_t place(int64_t image, int64_t y, int64_t x) const {
    return ((image * height + y) * width + x) * channels;
  }
};

class Winograd : public LibraryCall {
 public:
  Winograd(const ConvolutionCall& call, bool stable_weights, const LaneTable& table,
           DerivedOwner& owner)
      : table_(table),
        tile_(winograd_tile(call)),
        side_(tile_ + kWinogradWindow - 1),
        points_(side_ * side_),
        fns_(table.winograd[tile_ / 2 - 1]),
        weights_(call.weights),
        source_(call.source),
        result_(call.destination),
        low_y_(call.padding_low[0]),
        low_x_(call.padding_low[1]),
        one_pass_(call.post_ops, result_.count * result_.height * result_.width, result_.channels,
                  table),
        zeros_(static_cast<size_t>(source_.channels)) {
    tile_rows_ = ceil_div(result_.height, tile_);
    tile_columns_ = ceil_div(result_.width, tile_);
    panels_ = ceil_div(result_.channels, kPanelColumns);
    choose_tasks();
    if (stable_weights) kept_.emplace(owner, DerivedKind::kWinogradFilters, packed_bytes());
  }

  Status run(std::span<const CallOperand> operands) override {
    Run whole;
    whole.source = reinterpret_cast<const float*>(operands[0].data) + source_.offset;
    whole.result = reinterpret_cast<float*>(operands.back().data) + result_.offset;
    one_pass_.begin(operands.subspan(2), whole.result);
    DerivedOperand::Use kept;
    if (kept_) kept = kept_->use(operands[1].version);
    TUFF_RETURN_IF_ERROR(pack(operands[1], kept.bytes));
    SharedRange tasks(blocks_ * groups_, 1);
    bool done = in_parts(task_floats(), [&](float* memory) {
      Run run = whole;
      run.transformed = memory;
      run.sums = memory + points_ * source_step_;
      int64_t block = -1;
      for (int64_t task, last; tasks.take(task, last);) {
        if (task / groups_ != block) transform_source(run, block = task / groups_);
        multiply_group(run, block, task % groups_);
      }
    });
    if (!done) return no_memory("intermediate results", task_floats() * 4);
    packed_of_run_ = nullptr;
    one_pass_.finish();
    return {};
  }

 private:
  // What a part of a run works on.
  struct Run {
    const float* source = nullptr;
    float* result = nullptr;
    float* transformed = nullptr;  // [points, tiles of a block, source's channels]
    float* sums = nullptr;         // [points, tiles of a block, columns of a group]
  };

  // Blocks of tiles; those of a block that differ in the panels of weights, after each other.
  void choose_tasks() {
    int64_t tiles = result_.count * tile_rows_ * tile_columns_;
    double flops = 2.0 * static_cast<double>(tiles * points_) *
                   static_cast<double>(source_.channels * result_.channels);
    threads_ = flops < kMinParallelFlops ? 1 : max_threads();
    int64_t wanted = threads_ == 1 ? 1 : kTasksPerThread * threads_;
    block_tiles_ = std::clamp(ceil_div(tiles, wanted), kMinBlockTiles, kMaxBlockTiles);
    blocks_ = ceil_div(tiles, block_tiles_);
    if (blocks_ > 1) blocks_ = ceil_div(blocks_, threads_) * threads_;  // an equal share for each
    block_tiles_ = ceil_div(tiles, blocks_);
    blocks_ = ceil_div(tiles, block_tiles_);
    group_panels_ = ceil_div(panels_, std::min(ceil_div(wanted, blocks_), panels_));
    groups_ = ceil_div(panels_, group_panels_);
    source_step_ = block_tiles_ * source_.channels + kGap;
    sums_columns_ = group_panels_ * kPanelColumns;
    sums_step_ = block_tiles_ * sums_columns_ + kGap;
  }

  int64_t task_floats() const { return points_ * (source_step_ + sums_step_); }

  // part(memory) on each thread, with so many floats for each; false where there is no memory.
  template <typename Part>
  bool in_parts(int64_t floats, const Part& part) const {
    std::atomic<bool> has_memory = true;
    in_parallel(threads_, [&](int) {
      auto* memory = reinterpret_cast<float*>(thread_memory(static_cast<size_t>(floats) * 4));
      if (memory == nullptr)
        has_memory = false;
      else
        part(memory);
    });
    return has_memory;
  }

  struct Tile {
    int64_t image = 0, y = 0, x = 0;  // of its first result
  };
  Tile tile_at(int64_t tile) const {
    int64_t row = tile / tile_columns_;
    return {row / tile_rows_, row % tile_rows_ * tile_, tile % tile_columns_ * tile_};
  }
  // Calls visit(tile, its number in the block).
  template <typename Visit>
  void for_each_tile(int64_t block, const Visit& visit) const {
    for (int64_t i = 0; i < tiles_of(block); ++i) visit(tile_at(block * block_tiles_ + i), i);
  }
  int64_t tiles_of(int64_t block) const {
    int64_t tiles = result_.count * tile_rows_ * tile_columns_;
    return std::min(block_tiles_, tiles - block * block_tiles_);
  }

  void transform_source(const Run& run, int64_t block) const {
    int64_t first = block * block_tiles_, count = tiles_of(block);
    const float* pixels[2][kMaxPoints];  // of this tile and the next one
    find_source(run, first, pixels[0]);
    for (int64_t i = 0; i < count; ++i) {
      find_source(run, first + std::min(i + 1, count - 1), pixels[(i + 1) % 2]);
      fns_.source(source_.channels, pixels[i % 2], pixels[(i + 1) % 2],
                  run.transformed + i * source_.channels, source_step_);
    }
  }

  void find_source(const Run& run, int64_t number, const float** pixels) const {
    Tile tile = tile_at(number);
    for (int64_t p = 0; p < points_; ++p) {
      int64_t y = tile.y + p / side_ - low_y_, x = tile.x + p % side_ - low_x_;
      pixels[p] =
          source_.contains(y, x) ? run.source + source_.place(tile.image, y, x) : zeros_.data();
    }
  }

  void multiply_group(const Run& run, int64_t block, int64_t group) const {
    int64_t first = group * group_panels_, last = std::min(first + group_panels_, panels_);
    RowProduct product{.m = tiles_of(block), .k = source_.channels};
    product.a_row = source_.channels, product.a_col = 1;
    product.b_row = kPanelColumns, product.c_row = sums_columns_;
    for (int64_t p = 0; p < points_; ++p) {
      product.a = run.transformed + p * source_step_;
      for (int64_t panel = first; panel < last; ++panel) {
        product.n = std::min(kPanelColumns, result_.channels - panel * kPanelColumns);
        product.b = packed_panel(p, panel);
        bool ends = panel + 1 == last && p + 1 == points_;
        product.next_b = ends               ? nullptr
                         : panel + 1 < last ? packed_panel(p, panel + 1)
                                            : packed_panel(p + 1, first);
        product.c = run.sums + p * sums_step_ + (panel - first) * kPanelColumns;
        table_.multiply_rows(product);
      }
    }
    int64_t column = first * kPanelColumns, end = std::min(last * kPanelColumns, result_.channels);
    store_results(run, block, column, end - column);
  }

  void store_results(const Run& run, int64_t block, int64_t column, int64_t columns) const {
    float* pixels[kMaxPixels];
    const float* addends[kMaxPixels];
    const float* addend = one_pass_.addend();
    WinogradResult result{.columns = columns, .step = sums_step_, .pixels = pixels};
    if (addend != nullptr) result.addends = addends;
    if (one_pass_.shifts() != nullptr) result.shifts = one_pass_.shifts() + column;
    result.least = one_pass_.least(), result.most = one_pass_.most();
    for_each_tile(block, [&](const Tile& tile, int64_t i) {
      for (int64_t p = 0; p < tile_ * tile_; ++p) {
        int64_t y = tile.y + p / tile_, x = tile.x + p % tile_;
        bool there = result_.contains(y, x);
        int64_t place = there ? result_.place(tile.image, y, x) + column : 0;
        pixels[p] = there ? run.result + place : nullptr;
        if (addend != nullptr) addends[p] = addend + place;
      }
      result.sums = run.sums + i * sums_columns_;
      fns_.result(result);
      if (RowsFn function = one_pass_.function())
        for (int64_t p = 0; p < tile_ * tile_; ++p)
          if (pixels[p] != nullptr) function(1, columns, pixels[p], columns);
    });
  }

  int64_t packed_bytes() const { return points_ * panels_ * source_.channels * kPanelColumns * 4; }
  float* packed_panel(int64_t point, int64_t panel) const {
    return packed_ + (point * panels_ + panel) * source_.channels * kPanelColumns;
  }

  // Where the weights go that nobody keeps: this thread's memory, behind what it needs for its
  // part, or for one run what is too large for that.
  std::byte* memory_of_run() {
    const int64_t part_bytes = std::max(task_floats(), tap_floats()) * 4;
    if (packed_bytes() > kMaxBytesOfRun) {
      packed_of_run_ = allocate_aligned(packed_bytes());
      return packed_of_run_.get();
    }
    std::byte* memory = thread_memory(static_cast<size_t>(part_bytes + packed_bytes()));
    return memory == nullptr ? nullptr : memory + part_bytes;
  }
  int64_t tap_floats() const { return kTaps * source_.channels * kPanelColumns; }

  // The weights times the factors of their columns, transformed: [points, panels, channels].
  Status pack(const CallOperand& weights, std::byte* kept) {
    const std::vector<float>& factors = one_pass_.factors();
    std::byte* memory = kept != nullptr ? kept : memory_of_run();
    if (memory == nullptr) return no_memory("packed weights", packed_bytes());
    packed_ = reinterpret_cast<float*>(memory);
    if (kept != nullptr && kept_->holds(weights.version, factors)) return {};
    const float* from = reinterpret_cast<const float*>(weights.data) + weights_.offset;
    if (kept != nullptr) kept_->set(0);  // of nothing, should this fail
    SharedRange panels(panels_, 1);
    bool done = in_parts(tap_floats(), [&](float* taps) {
      for (int64_t panel, last; panels.take(panel, last);) pack_panel(from, factors, panel, taps);
    });
    if (!done) return no_memory("packed weights", tap_floats() * 4);
    if (kept != nullptr) kept_->set(weights.version, factors);
    return {};
  }

  void pack_panel(const float* weights, const std::vector<float>& factors, int64_t panel,
                  float* taps) const {
    int64_t column = panel * kPanelColumns,
            count = std::min(kPanelColumns, result_.channels - column);
    int64_t tap_step = source_.channels * kPanelColumns, point_step = panels_ * tap_step;
    const std::vector<int64_t>& strides = weights_.strides;
    for (int64_t t = 0; t < kTaps; ++t)
      table_.pack_columns(source_.channels, count,
                          weights + column * strides[1] + t / kWinogradWindow * strides[3] +
                              t % kWinogradWindow * strides[4],
                          strides[2], strides[1], taps + t * tap_step, kPanelColumns);
    if (one_pass_.scales())
      for (int64_t row = 0; row < kTaps * source_.channels; ++row)
        for (int64_t c = 0; c < count; ++c) taps[row * kPanelColumns + c] *= factors[column + c];
    for (int64_t row = 0; row < source_.channels; ++row)
      fns_.weights(kPanelColumns, taps + row * kPanelColumns, tap_step,
                   packed_panel(0, panel) + row * kPanelColumns, point_step);
  }

  static Error no_memory(const char* what, int64_t size_bytes) {
    return Error{ErrorCode::kOutOfMemory,
                 std::string("The ") + what + " of a convolution (" + std::to_string(size_bytes) +
                     " bytes) do not fit in the machine's memory.",
                 ""};
  }

  const LaneTable& table_;
  const int64_t tile_, side_, points_;  // of a tile's results, its source; side_ squared
  const WinogradFns fns_;
  const StridedTensor weights_;
  const Images source_, result_;
  const int64_t low_y_, low_x_;  // padding
  OnePass one_pass_;
  const std::vector<float> zeros_;  // a pixel of the padding
  int64_t tile_rows_ = 0, tile_columns_ = 0, panels_ = 0;
  int threads_ = 1;
  int64_t blocks_ = 0, block_tiles_ = 0, groups_ = 0, group_panels_ = 0, sums_columns_ = 0;
  int64_t source_step_ = 0, sums_step_ = 0;  // from point to point, of a task's memory
  std::optional<DerivedOperand> kept_;
  float* packed_ = nullptr;  // of this run
  AlignedBytes packed_of_run_;
};

}  // namespace

LibraryCallPtr create_winograd(const ConvolutionCall& call, bool stable_weights,
                               const LaneTable& table, DerivedOwner& owner) {
  return std::make_unique<Winograd>(call, stable_weights, table, owner);
}

}  // namespace tuff::cpu
