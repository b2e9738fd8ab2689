#include "backend/cpu/gemm/panel_product.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "backend/cpu/thread_memory.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

constexpr int64_t kMaxBlockRows = 192, kMinBlockRows = 48;
// Deeper products are long enough for their results' memory to come meanwhile.
constexpr int64_t kMaxFetchedDepth = 512;
// Below this, waking a second thread takes longer.
constexpr double kMinParallelFlops = 2e6;

// What a core's own second cache holds, where the system tells.
int64_t second_cache_bytes() {
  static const int64_t bytes = [] {
    constexpr int64_t kUsual = int64_t{1} << 20;
    int64_t told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return told <= 0 ? kUsual : std::clamp(told, kUsual / 4, 2 * kUsual);
  }();
  return bytes;
}

}  // namespace

PanelProduct::PanelProduct(PanelProductCall call, const LaneTable& table, DerivedOwner& owner)
    : call_(std::move(call)),
      table_(table),
      rows_of_a_(call_.row_sizes, call_.row_strides, call_.a_col, call_.depth),
      rows_(rows_of_a_.count()),
      one_pass_(call_.post_ops, rows_, call_.columns, table),
      threads_(max_threads()) {
  choose_tasks();
  if (call_.keeps_panels) kept_.emplace(owner, DerivedKind::kPanels, panels_bytes());
}

// A task is a block of rows and a panel, or a group of panels that is packed for it. Of a panel, as
// much is taken at once as leaves most of the second cache to what comes next and to the rows.
void PanelProduct::choose_tasks() {
  panels_ = ceil_div(call_.columns, kPanelColumns);
  block_depth_ = even_part(call_.depth, second_cache_bytes() / (8 * kPanelColumns * 4), 16);
  int64_t fitting = second_cache_bytes() / (4 * 4 * block_depth_);
  block_rows_ = even_part(rows_, std::clamp(fitting, kMinBlockRows, kMaxBlockRows), 1);
  row_blocks_ = ceil_div(rows_, block_rows_);
  int64_t slices = second_cache_bytes() / (4 * kPanelColumns * 4 * block_depth_);
  group_ = std::clamp<int64_t>(slices, 1, std::max<int64_t>(panels_ / (4 * threads_), 1));
  double flops =
      2.0 * static_cast<double>(rows_ * call_.columns) * static_cast<double>(call_.depth);
  parallel_ = row_blocks_ * panels_ > 1 && flops >= kMinParallelFlops;
}

Status PanelProduct::run(std::span<const CallOperand> operands) {
  RowProduct product{.a_row = rows_of_a_.dense_row(), .a_col = 1, .b_row = kPanelColumns};
  const CallOperand& a = operands[call_.swapped ? 1 : 0];
  product.a = reinterpret_cast<const float*>(a.data) + call_.a_offset;
  product.c = reinterpret_cast<float*>(operands.back().data) + call_.c_offset;
  product.c_row = product.addend_row = call_.columns;
  one_pass_.begin(operands.subspan(2), product.c);
  Weights weights;
  pack(operands[call_.swapped ? 0 : 1], weights);
  product.addend = one_pass_.addend();
  product.column_shifts = one_pass_.shifts();
  product.least = one_pass_.least();
  bool packed = weights.panels != nullptr;
  SplitRange tasks(packed ? row_blocks_ * panels_ : ceil_div(panels_, group_), threads());
  const auto bytes = static_cast<size_t>(part_floats(weights)) * 4;
  std::atomic<bool> has_memory = true;
  in_parallel(threads(), [&](int part) {
    auto* memory = bytes == 0 ? nullptr : reinterpret_cast<float*>(thread_memory(bytes));
    if (bytes > 0 && memory == nullptr)
      has_memory = false;
    else if (packed)
      run_packed(product, weights, part, tasks, memory);
    else
      run_packing(product, weights, part, tasks, memory);
  });
  if (!has_memory) return no_memory_for_part(static_cast<int64_t>(bytes));
  one_pass_.finish();
  return {};
}

// What a thread needs: copies of rows, and of a group of panels what is taken at once where all of
// them are not packed.
int64_t PanelProduct::part_floats(const Weights& weights) const {
  return copied_floats() + (weights.panels == nullptr ? group_ * kPanelColumns * block_depth_ : 0);
}

void PanelProduct::run_packed(const RowProduct& product, const Weights& weights, int part,
                              SplitRange& tasks, float* memory) const {
  RowProduct rows = product;
  int64_t block = -1;
  auto at = [&](int64_t panel) { return weights.panels + panel * panel_floats(); };
  for (int64_t task, next; tasks.take(part, task, next); rows.fetch_a = false) {
    int64_t panel = task % panels_;
    if (task / panels_ != block) take_rows(product, block = task / panels_, memory, rows);
    multiply_panel(rows, panel, at(panel), next < 0 ? nullptr : at(next % panels_));
  }
}

void PanelProduct::run_packing(const RowProduct& product, const Weights& weights, int part,
                               SplitRange& tasks, float* memory) const {
  RowProduct rows = product;
  float* slices = memory + copied_floats();
  int64_t taken = -1;
  for (int64_t task, next; tasks.take(part, task, next);) {
    int64_t first = task * group_, count = std::min(group_, panels_ - first);
    for (int64_t l = 0; l < call_.depth || l == 0; l += block_depth_) {
      int64_t depth = std::min(block_depth_, call_.depth - l);
      auto at = [&](int64_t i) { return slices + i * kPanelColumns * depth; };
      for (int64_t i = 0; i < count; ++i) pack_slice(weights.plain, first + i, l, depth, at(i));
      for (int64_t block = 0; block < row_blocks_; ++block) {
        if (block != taken) take_rows(product, taken = block, memory, rows);
        for (int64_t i = 0; i < count; ++i, rows.fetch_a = false)
          multiply_slice(rows, first + i, l, at(i), nullptr);
      }
    }
  }
}

// Makes `rows` the part of `product` that a block of rows is.
void PanelProduct::take_rows(const RowProduct& product, int64_t block, float* copy,
                             RowProduct& rows) const {
  int64_t row = block * block_rows_;
  rows.m = std::min(block_rows_, rows_ - row);
  rows.a = rows_of_a_.side_by_side(table_, product.a, row, rows.m, copy);
  rows.fetch_a = true;
  rows.c = product.c + row * call_.columns;
  if (product.addend != nullptr) rows.addend = product.addend + row * call_.columns;
}

// A panel's columns of a block of rows. b: the panel's weights; next: those of the one after it,
// null: none.
void PanelProduct::multiply_panel(const RowProduct& rows, int64_t panel, const float* b,
                                  const float* next) const {
  for (int64_t l = 0; l < call_.depth || l == 0; l += block_depth_) {
    const float* after = b + (l + block_depth_) * kPanelColumns;
    multiply_slice(rows, panel, l, b + l * kPanelColumns,
                   l + block_depth_ < call_.depth ? after : next);
  }
}

// The part of that from row `from` of the weights on: sums over parts of the depth are added up in
// C.
void PanelProduct::multiply_slice(const RowProduct& rows, int64_t panel, int64_t from,
                                  const float* b, const float* next) const {
  const int64_t column = panel * kPanelColumns;
  RowProduct part = rows;
  part.n = std::min(kPanelColumns, call_.columns - column);
  part.k = std::min(block_depth_, call_.depth - from);
  part.a += from;
  part.b = b, part.next_b = next;
  part.c += column;
  if (from > 0)
    part.addend = part.c, part.addend_row = part.c_row;
  else if (part.addend != nullptr)
    part.addend += column;
  part.fetch_c = from == 0 && call_.depth <= kMaxFetchedDepth;
  bool ends = from + part.k == call_.depth;
  part.column_shifts =
      ends && rows.column_shifts != nullptr ? rows.column_shifts + column : nullptr;
  part.least = ends ? rows.least : RowProduct{}.least;
  table_.multiply_rows(part);
  if (RowsFn function = one_pass_.function(); ends && function != nullptr)
    function(part.m, part.n, part.c, part.c_row);
}

int64_t PanelProduct::panel_floats() const { return kPanelColumns * call_.depth; }
int64_t PanelProduct::panels_bytes() const { return panels_ * panel_floats() * 4; }

// All panels are kept where that pays and there is room.
void PanelProduct::pack(const CallOperand& operand, Weights& weights) {
  weights.plain = reinterpret_cast<const float*>(operand.data) + call_.b_offset;
  if (kept_) weights.kept = kept_->use(operand.version);
  if (weights.kept.bytes == nullptr) {
    weights.panels = pack_for_this_run(weights.plain);
    return;
  }
  auto* panels = reinterpret_cast<float*>(weights.kept.bytes);
  weights.panels = panels;
  if (kept_->holds(operand.version, one_pass_.factors())) return;
  pack_panels(weights.plain, panels);
  kept_->set(operand.version, one_pass_.factors());
}

// In this thread's memory, behind what it needs for its part. Null where they are too large, or
// where it is better that each thread packs what it needs: what it has just packed is in its second
// cache, but copies of rows would be made for each group of panels.
const float* PanelProduct::pack_for_this_run(const float* weights) const {
  bool copies_again = rows_of_a_.needs_copy() && row_blocks_ > 1;
  if (!copies_again || panels_bytes() > kMaxBytesOfRun) return nullptr;
  int64_t part_bytes = copied_floats() * 4;
  std::byte* memory = thread_memory(static_cast<size_t>(part_bytes + panels_bytes()));
  if (memory == nullptr) return nullptr;
  auto* panels = reinterpret_cast<float*>(memory + part_bytes);
  pack_panels(weights, panels);
  return panels;
}

void PanelProduct::pack_panels(const float* weights, float* to) const {
  SharedRange panels(panels_, 1);
  in_parallel(threads(), [&](int) {
    for (int64_t panel, last; panels.take(panel, last);)
      pack_slice(weights, panel, 0, call_.depth, to + panel * panel_floats());
  });
}

// `depth` rows, `from` on, of a panel of the weights times the factors of their columns.
void PanelProduct::pack_slice(const float* weights, int64_t panel, int64_t from, int64_t depth,
                              float* to) const {
  int64_t column = panel * kPanelColumns, count = std::min(kPanelColumns, call_.columns - column);
  table_.pack_columns(depth, count, weights + from * call_.b_row + column * call_.b_col,
                      call_.b_row, call_.b_col, to, kPanelColumns);
  if (!one_pass_.scales()) return;
  const float* own = one_pass_.factors().data() + column;
  for (int64_t l = 0; l < depth; ++l)
    for (int64_t c = 0; c < count; ++c) to[l * kPanelColumns + c] *= own[c];
}

}  // namespace tuff::cpu
