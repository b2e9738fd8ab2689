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
      rows_of_a_(call_.row_sizes, call_.row_strides, call_.a_col, call_.depth, call_.a_type),
      rows_(rows_of_a_.count()),
      one_pass_(call_.post_ops, rows_, call_.columns, table),
      threads_(max_threads()) {
  choose_tasks();
  if (call_.keeps_panels) kept_.emplace(owner, DerivedKind::kPanels, panels_bytes(call_.b_type));
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
  const std::byte* rows = a.data + call_.a_offset * dtype_size(call_.a_type);
  std::byte* result = operands.back().data + call_.c_offset * dtype_size(call_.c_type);
  AlignedBytes wide;  // what is rounded in the end
  if (call_.c_type != DType::kF32) {
    wide = allocate_aligned(rows_ * call_.columns * 4);
    if (wide == nullptr) return no_memory_for_part(rows_ * call_.columns * 4);
  }
  product.c = reinterpret_cast<float*>(wide != nullptr ? wide.get() : result);
  product.c_row = product.addend_row = call_.columns;
  one_pass_.begin(operands.subspan(2), product.c);
  Weights weights;
  pack(operands[call_.swapped ? 0 : 1], weights);
  product.addend = one_pass_.addend();
  product.column_shifts = one_pass_.shifts();
  product.least = one_pass_.least(), product.most = one_pass_.most();
  bool packed = weights.panels != nullptr;
  SplitRange tasks(packed ? row_blocks_ * panels_ : ceil_div(panels_, group_), threads());
  const auto bytes = static_cast<size_t>(part_floats(weights)) * 4;
  std::atomic<bool> has_memory = true;
  in_parallel(threads(), [&](int part) {
    auto* memory = bytes == 0 ? nullptr : reinterpret_cast<float*>(thread_memory(bytes));
    if (bytes > 0 && memory == nullptr)
      has_memory = false;
    else if (packed)
      run_packed(product, rows, weights, part, tasks, memory);
    else
      run_packing(product, rows, weights, part, tasks, memory);
  });
  if (!has_memory) return no_memory_for_part(static_cast<int64_t>(bytes));
  one_pass_.finish();
  if (wide != nullptr) round_result(product.c, result);
  return {};
}

void PanelProduct::round_result(const float* result, std::byte* to) const {
  const LaneFn round =
      table_.convert[static_cast<size_t>(DType::kF32)][static_cast<size_t>(call_.c_type)];
  SharedRange rows(rows_, std::max<int64_t>(1, rows_ / (8 * threads())));
  in_parallel(threads(), [&](int) {
    for (int64_t row, last; rows.take(row, last);)
      round((last - row) * call_.columns, to + row * call_.columns * dtype_size(call_.c_type),
            result + row * call_.columns, nullptr, nullptr);
  });
}

// What a thread needs: copies of rows, and of a group of panels what is taken at once where they
// are not all there as f32.
int64_t PanelProduct::part_floats(const Weights& weights) const {
  bool in_place = weights.panels != nullptr && weights.panels_type == DType::kF32;
  int64_t slices = in_place ? 0 : weights.panels != nullptr ? 1 : group_;
  return copied_floats() + slices * kPanelColumns * block_depth_;
}

void PanelProduct::run_packed(const RowProduct& product, const std::byte* a, const Weights& weights,
                              int part, SplitRange& tasks, float* memory) const {
  RowProduct rows = product;
  int64_t block = -1;
  for (int64_t task, next; tasks.take(part, task, next); rows.fetch_a = false) {
    if (task / panels_ != block) take_rows(product, a, block = task / panels_, memory, rows);
    multiply_panel(rows, weights, task % panels_, next < 0 ? -1 : next % panels_,
                   memory + copied_floats());
  }
}

void PanelProduct::run_packing(const RowProduct& product, const std::byte* a,
                               const Weights& weights, int part, SplitRange& tasks,
                               float* memory) const {
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
        if (block != taken) take_rows(product, a, taken = block, memory, rows);
        for (int64_t i = 0; i < count; ++i, rows.fetch_a = false)
          multiply_slice(rows, first + i, l, at(i), nullptr);
      }
    }
  }
}

// Makes `rows` the part of `product` that a block of rows is.
void PanelProduct::take_rows(const RowProduct& product, const std::byte* a, int64_t block,
                             float* copy, RowProduct& rows) const {
  int64_t row = block * block_rows_;
  rows.m = std::min(block_rows_, rows_ - row);
  rows.a = rows_of_a_.side_by_side(table_, a, row, rows.m, copy);
  rows.fetch_a = true;
  rows.c = product.c + row * call_.columns;
  if (product.addend != nullptr) rows.addend = product.addend + row * call_.columns;
}

// A panel's columns of a block of rows. next_panel: the one after it, -1: none.
void PanelProduct::multiply_panel(const RowProduct& rows, const Weights& weights, int64_t panel,
                                  int64_t next_panel, float* room) const {
  const bool in_place = weights.panels_type == DType::kF32;  // and to be asked for ahead of use
  auto slice = [&](int64_t of, int64_t from) {
    return slice_of(weights, of, from, std::min(block_depth_, call_.depth - from), room);
  };
  for (int64_t l = 0; l < call_.depth || l == 0; l += block_depth_) {
    const float* next = nullptr;
    if (in_place && l + block_depth_ < call_.depth)
      next = slice(panel, l + block_depth_);
    else if (in_place && next_panel >= 0)
      next = slice(next_panel, 0);
    multiply_slice(rows, panel, l, slice(panel, l), next);
  }
}

// `depth` rows, `from` on, of a panel that is there, as f32.
const float* PanelProduct::slice_of(const Weights& weights, int64_t panel, int64_t from,
                                    int64_t depth, float* room) const {
  const int64_t at = panel * panel_floats() + from * kPanelColumns;
  const std::byte* slice = weights.panels + at * dtype_size(weights.panels_type);
  if (weights.panels_type == DType::kF32) return reinterpret_cast<const float*>(slice);
  table_.convert[static_cast<size_t>(weights.panels_type)][static_cast<size_t>(DType::kF32)](
      depth * kPanelColumns, room, slice, nullptr, nullptr);
  scale_slice(panel, depth, room);
  return room;
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
  part.most = ends ? rows.most : RowProduct{}.most;
  table_.multiply_rows(part);
  if (RowsFn function = one_pass_.function(); ends && function != nullptr)
    function(part.m, part.n, part.c, part.c_row);
}

int64_t PanelProduct::panel_floats() const { return kPanelColumns * call_.depth; }
int64_t PanelProduct::panels_bytes(DType type) const {
  return panels_ * panel_floats() * dtype_size(type);
}

// All panels are kept where that pays and there is room, in the weights' own type: narrow ones are
// widened when they are used, and multiplied with factors then.
void PanelProduct::pack(const CallOperand& operand, Weights& weights) {
  weights.plain = operand.data + call_.b_offset * dtype_size(call_.b_type);
  if (kept_) weights.kept = kept_->use(operand.version);
  if (weights.kept.bytes == nullptr) {
    weights.panels = pack_for_this_run(weights.plain);
    return;
  }
  weights.panels = weights.kept.bytes;
  weights.panels_type = call_.b_type;
  const bool narrow = call_.b_type != DType::kF32;
  static const std::vector<float> kNone;  // a run allocates nothing, so no copy is made here
  const std::vector<float>& factors = narrow ? kNone : one_pass_.packed_factors();
  if (kept_->holds(operand.version, factors)) return;
  keep_panels(weights.plain, weights.kept.bytes);
  kept_->set(operand.version, factors);
}

// In this thread's memory, behind what it needs for its part. Null where they are too large. Null
// also where each thread had better pack what it needs: what it has just packed is in its second
// cache. Only copies of rows, which would be made for each group of panels, speak against that.
const std::byte* PanelProduct::pack_for_this_run(const std::byte* weights) const {
  bool copies_again = rows_of_a_.needs_copy() && row_blocks_ > 1;
  if (!copies_again || panels_bytes(DType::kF32) > kMaxBytesOfRun) return nullptr;
  int64_t part_bytes = copied_floats() * 4;
  std::byte* memory = thread_memory(static_cast<size_t>(part_bytes + panels_bytes(DType::kF32)));
  if (memory == nullptr) return nullptr;
  auto* panels = reinterpret_cast<float*>(memory + part_bytes);
  SharedRange range(panels_, 1);
  in_parallel(threads(), [&](int) {
    for (int64_t panel, last; range.take(panel, last);)
      pack_slice(weights, panel, 0, call_.depth, panels + panel * panel_floats());
  });
  return memory + part_bytes;
}

void PanelProduct::keep_panels(const std::byte* weights, std::byte* to) const {
  SharedRange panels(panels_, 1);
  in_parallel(threads(), [&](int) {
    for (int64_t panel, last; panels.take(panel, last);) {
      std::byte* place = to + panel * panel_floats() * dtype_size(call_.b_type);
      if (call_.b_type == DType::kF32)
        pack_slice(weights, panel, 0, call_.depth, reinterpret_cast<float*>(place));
      else
        keep_narrow_panel(weights, panel, reinterpret_cast<uint16_t*>(place));
    }
  });
}

// The elements as they are, the columns that are missing as 0.
void PanelProduct::keep_narrow_panel(const std::byte* weights, int64_t panel, uint16_t* to) const {
  int64_t column = panel * kPanelColumns, count = std::min(kPanelColumns, call_.columns - column);
  const uint16_t* from = reinterpret_cast<const uint16_t*>(weights) + column * call_.b_col;
  for (int64_t l = 0; l < call_.depth; ++l, from += call_.b_row, to += kPanelColumns) {
    for (int64_t c = 0; c < count; ++c) to[c] = from[c * call_.b_col];
    std::fill(to + count, to + kPanelColumns, uint16_t{0});
  }
}

// `depth` rows, `from` on, of a panel of the weights times the factors of their columns.
void PanelProduct::pack_slice(const std::byte* weights, int64_t panel, int64_t from, int64_t depth,
                              float* to) const {
  int64_t column = panel * kPanelColumns, count = std::min(kPanelColumns, call_.columns - column);
  const int64_t first = from * call_.b_row + column * call_.b_col;
  const std::byte* source = weights + first * dtype_size(call_.b_type);
  if (call_.b_type == DType::kF32)
    table_.pack_columns(depth, count, reinterpret_cast<const float*>(source), call_.b_row,
                        call_.b_col, to, kPanelColumns);
  else
    widen_columns(source, depth, count, to);
  scale_slice(panel, depth, to);
}

// Narrow elements, some hundred at a time: rows of them where columns lie side by side, else
// columns, of which a block is then turned.
void PanelProduct::widen_columns(const std::byte* from, int64_t depth, int64_t count,
                                 float* to) const {
  const LaneFn widen =
      table_.convert[static_cast<size_t>(call_.b_type)][static_cast<size_t>(DType::kF32)];
  const int64_t size = dtype_size(call_.b_type);
  if (call_.b_col == 1) {
    for (int64_t l = 0; l < depth; ++l, from += call_.b_row * size, to += kPanelColumns) {
      widen(count, to, from, nullptr, nullptr);
      std::fill(to + count, to + kPanelColumns, 0.0f);
    }
    return;
  }
  constexpr int64_t kBlock = 64;
  float wide[kPanelColumns * kBlock];
  uint16_t gathered[kBlock];
  for (int64_t l = 0; l < depth; l += kBlock) {
    const int64_t rows = std::min(kBlock, depth - l);
    for (int64_t c = 0; c < count; ++c) {
      const std::byte* column = from + (l * call_.b_row + c * call_.b_col) * size;
      if (call_.b_row != 1) {
        const auto* elements = reinterpret_cast<const uint16_t*>(column);
        for (int64_t i = 0; i < rows; ++i) gathered[i] = elements[i * call_.b_row];
        column = reinterpret_cast<const std::byte*>(gathered);
      }
      widen(rows, wide + c * kBlock, column, nullptr, nullptr);
    }
    table_.pack_columns(rows, count, wide, 1, kBlock, to + l * kPanelColumns, kPanelColumns);
  }
}

void PanelProduct::scale_slice(int64_t panel, int64_t depth, float* slice) const {
  if (!one_pass_.scales()) return;
  const int64_t column = panel * kPanelColumns;
  const int64_t count = std::min(kPanelColumns, call_.columns - column);
  const float* own = one_pass_.factors().data() + column;
  for (int64_t l = 0; l < depth; ++l)
    for (int64_t c = 0; c < count; ++c) slice[l * kPanelColumns + c] *= own[c];
}

}  // namespace tuff::cpu
