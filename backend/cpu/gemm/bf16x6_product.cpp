#include "backend/cpu/gemm/bf16x6_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "backend/cpu/thread_memory.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// A slice of what a task splits is to stay in a second cache of 2 MiB.
constexpr int64_t kSliceDepth = 768, kTaskRows = 256, kTaskColumns = 192;
// Columns of a task that splits its own rows; half of them at least.
constexpr int64_t kOwnColumns = 256;
// Rows that are split at a time where they lie by columns: then a few cache lines of each of those.
constexpr int64_t kRowsAtOnce = 128;
// What is not larger is in the second cache when it is used again.
constexpr int64_t kCachedBytes = int64_t{1200} << 10;
// What takes AMX as long as kMinParallelFlops takes otherwise.
constexpr double kMinParallelSplitFlops = 4e6;

// Into how many tasks to divide columns where each splits its rows again: as many for each thread,
// some of them if they remain wide enough for that.
int64_t own_column_tasks(int64_t row_tasks, int64_t groups, int64_t threads) {
  const int64_t widest = std::max<int64_t>(1, groups / (kOwnColumns / kSplitLines));
  int64_t even = threads / std::gcd(row_tasks, threads);
  if (even > widest) even = std::min(groups, ceil_div(threads, row_tasks));
  const int64_t wanted = 4 * threads / (row_tasks * even);
  return even * std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, widest / even));
}

}  // namespace

Bf16x6Product::Bf16x6Product(PanelProductCall call, const LaneTable& table, DerivedOwner& owner)
    : call_(std::move(call)),
      table_(table),
      rows_of_a_(call_.row_sizes, call_.row_strides, call_.a_col, call_.depth),
      rows_(rows_of_a_.count()),
      one_pass_(call_.post_ops, rows_, call_.columns, table),
      threads_(max_threads()) {
  choose_tasks();
  if (call_.keeps_panels) kept_.emplace(owner, DerivedKind::kBf16Parts, split_bytes(b_groups_));
}

void Bf16x6Product::choose_tasks() {
  a_groups_ = ceil_div(rows_, kSplitLines);
  b_groups_ = ceil_div(call_.columns, kSplitLines);
  depth_blocks_ = ceil_div(call_.depth, kSplitDepth);
  slice_blocks_ = even_part(depth_blocks_, kSliceDepth / kSplitDepth);
  double flops =
      2.0 * static_cast<double>(rows_ * call_.columns) * static_cast<double>(call_.depth);
  parallel_ = flops >= kMinParallelSplitFlops;
  task_a_ = even_part(a_groups_, kTaskRows / kSplitLines);
  a_tasks_ = ceil_div(a_groups_, task_a_);
  task_b_ = ceil_div(b_groups_, own_column_tasks(a_tasks_, b_groups_, threads()));
  owns_a_ = call_.keeps_panels && 2 * task_b_ * kSplitLines >= kOwnColumns;
  if (!owns_a_) {
    task_b_ = even_part(b_groups_, kTaskColumns / kSplitLines);
    b_tasks_ = ceil_div(b_groups_, task_b_);
    task_a_ = even_part(a_groups_, std::max<int64_t>(1, a_groups_ * b_tasks_ / (2 * threads())));
    a_tasks_ = ceil_div(a_groups_, task_a_);
    owns_b_ = !call_.keeps_panels && a_tasks_ == 1;
  }
  b_tasks_ = ceil_div(b_groups_, task_b_);
  if (!owns_a_) a_largest_.resize(static_cast<size_t>(a_groups_));
  if (!owns_b_) b_largest_.resize(static_cast<size_t>(b_groups_));
}

// Whole pages, so that what follows is aligned.
int64_t Bf16x6Product::own_bytes() const {
  constexpr int64_t kPage = 4096;
  int64_t bytes = own_split_bytes() + own_panel_bytes() +
                  (rows_of_a_.copied_floats(kSplitLines) + own_groups()) * 4;
  return ceil_div(bytes, kPage) * kPage;
}

Status Bf16x6Product::run(std::span<const CallOperand> operands) {
  RowProduct product;
  product.c = reinterpret_cast<float*>(operands.back().data) + call_.c_offset;
  product.c_row = product.addend_row = call_.columns;
  one_pass_.begin(operands.subspan(2), product.c);
  const CallOperand &a = operands[call_.swapped ? 1 : 0], &b = operands[call_.swapped ? 0 : 1];
  Sides sides;
  sides.plain_a = reinterpret_cast<const float*>(a.data) + call_.a_offset;
  sides.plain_b = reinterpret_cast<const float*>(b.data) + call_.b_offset;
  if (kept_) sides.kept = kept_->use(b.version);
  sides.keeps = sides.kept.bytes != nullptr;
  sides.splits_b = sides.keeps ? !kept_->holds(b.version, one_pass_.packed_factors()) : !owns_b_;
  product.addend = one_pass_.addend();
  product.column_shifts = one_pass_.shifts();
  product.least = one_pass_.least(), product.most = one_pass_.most();
  const int64_t at_once = b_tasks_at_once(sides);
  for (int64_t first = 0; first < b_tasks_; first += at_once)
    TUFF_RETURN_IF_ERROR(run_tasks(product, sides, first, std::min(at_once, b_tasks_ - first)));
  if (sides.keeps) kept_->set(b.version, one_pass_.packed_factors());
  one_pass_.finish();
  return {};
}

// For how many tasks, side by side, the weights are split at a time: all of them, but where that
// would take too much of a thread's memory.
int64_t Bf16x6Product::b_tasks_at_once(const Sides& sides) const {
  if (sides.keeps || !sides.splits_b) return b_tasks_;
  return std::clamp<int64_t>(kMaxBytesOfRun / split_bytes(task_b_), 1, b_tasks_);
}

Status Bf16x6Product::run_tasks(const RowProduct& product, Sides& sides, int64_t first,
                                int64_t count) {
  const int64_t first_group = first * task_b_;
  TUFF_RETURN_IF_ERROR(
      split_shared(sides, first_group, std::min(count * task_b_, b_groups_ - first_group)));
  SplitRange tasks(a_tasks_ * count, threads());
  std::atomic<bool> has_memory = true;
  in_parallel(threads(), [&](int part) {
    std::byte* memory = thread_memory(static_cast<size_t>(own_bytes()));
    if (memory == nullptr) {
      has_memory = false;
      return;
    }
    for (int64_t task, next; tasks.take(part, task, next);)
      run_task(product, sides, task_of(first * a_tasks_ + task, memory));
  });
  if (!has_memory) return no_memory_for_part(own_bytes());
  return {};
}

// What is split for all: the rows, and these groups of the weights, but for a copy of them that is
// there. In this thread's memory, behind what it needs for its part.
Status Bf16x6Product::split_shared(Sides& sides, int64_t first_b, int64_t b_groups) {
  const bool splits_a = !owns_a_, splits_rows = splits_a && first_b == 0;
  const int64_t a_bytes = splits_a ? split_bytes(a_groups_) : 0;
  const bool keeps = sides.keeps, splits_b = sides.splits_b;
  const int64_t b_bytes = splits_b && !keeps ? split_bytes(b_groups) : 0;
  const int64_t bytes = own_bytes() + a_bytes + b_bytes;
  std::byte* memory = thread_memory(static_cast<size_t>(bytes));
  if (memory == nullptr) return no_memory_for_part(bytes);
  sides.a = splits_a ? reinterpret_cast<uint16_t*>(memory + own_bytes()) : nullptr;
  std::byte* b = keeps ? sides.kept.bytes : splits_b ? memory + own_bytes() + a_bytes : nullptr;
  sides.b = reinterpret_cast<uint16_t*>(b);
  sides.first_b = first_b;
  sides.a_largest = a_largest_.data(), sides.b_largest = b_largest_.data() + first_b;
  if (!splits_rows && !splits_b) return {};
  const int64_t at_once = rows_of_a_.col() == 1 ? 1 : kRowsAtOnce / kSplitLines;
  SharedRange rows(splits_rows ? a_groups_ : 0, at_once), columns(splits_b ? b_groups : 0, 1);
  in_parallel(threads(), [&](int) {
    for (int64_t first, last; rows.take(first, last);) split_rows(sides, first, last);
    for (int64_t group, last; columns.take(group, last);) split_columns(sides, group);
  });
  return {};
}

// Groups [first, last).
void Bf16x6Product::split_rows(const Sides& sides, int64_t first, int64_t last) const {
  const int64_t row = first * kSplitLines;
  SplitSource source = rows_from(sides, row, (last - first) * kSplitLines);
  source.to = sides.a + first * group_elements(), source.to_group = group_elements();
  source.largest = sides.a_largest + first;
  split(source, row);
}

// The group after so many of sides.b.
void Bf16x6Product::split_columns(const Sides& sides, int64_t group) const {
  SplitSource source = columns_from(sides, (sides.first_b + group) * kSplitLines, kSplitLines);
  source.to = sides.b + group * group_elements();
  source.largest = sides.b_largest + group;
  split(source, 0);
}

// `count` rows, or what is left of them.
SplitSource Bf16x6Product::rows_from(const Sides& sides, int64_t row, int64_t count) const {
  SplitSource source{.from = sides.plain_a, .depth = call_.depth};
  if (!rows_of_a_.apart()) source.from += rows_of_a_.offset_of(row);
  source.lines = std::min(count, rows_ - row);
  source.line = rows_of_a_.distance(), source.step = rows_of_a_.col();
  return source;
}

SplitSource Bf16x6Product::columns_from(const Sides& sides, int64_t column, int64_t count) const {
  SplitSource source{.from = sides.plain_b + column * call_.b_col, .depth = call_.depth};
  source.lines = std::min(count, call_.columns - column);
  source.line = call_.b_col, source.step = call_.b_row;
  source.columns = true;
  if (one_pass_.scales()) source.factors = one_pass_.factors().data() + column;
  return source;
}

// row: the first one, of rows.
void Bf16x6Product::split(const SplitSource& source, int64_t row) const {
  if (source.columns || !rows_of_a_.apart()) return table_.split_bf16x3(source);
  SplitSource group = source;
  for (int64_t first = 0; first < source.lines; first += kSplitLines) {
    std::array<int64_t, kSplitLines> offsets{};
    group.lines = std::min(kSplitLines, source.lines - first);
    for (int64_t i = 0; i < group.lines; ++i)
      offsets[static_cast<size_t>(i)] = rows_of_a_.offset_of(row + first + i);
    group.offsets = offsets.data();
    table_.split_bf16x3(group);
    group.to += group.to_group, ++group.largest;
  }
}

Bf16x6Product::Task Bf16x6Product::task_of(int64_t task, std::byte* memory) const {
  Task t{.first_a = task % a_tasks_ * task_a_, .first_b = task / a_tasks_ * task_b_};
  t.a_groups = std::min(task_a_, a_groups_ - t.first_a);
  t.b_groups = std::min(task_b_, b_groups_ - t.first_b);
  t.row = t.first_a * kSplitLines, t.column = t.first_b * kSplitLines;
  t.rows = std::min(t.a_groups * kSplitLines, rows_ - t.row);
  t.columns = std::min(t.b_groups * kSplitLines, call_.columns - t.column);
  t.memory = memory;
  return t;
}

void Bf16x6Product::run_task(const RowProduct& product, const Sides& sides,
                             const Task& task) const {
  auto may_split = [](const Lines& lines, int64_t groups) {
    return std::all_of(lines.largest, lines.largest + groups, may_be_split);
  };
  for (int64_t from = 0; from < depth_blocks_; from += slice_blocks_) {
    Slice slice;
    slice.from = from, slice.blocks = std::min(slice_blocks_, depth_blocks_ - from);
    slice.a = sides.a == nullptr
                  ? own_lines(slice, task, rows_from(sides, task.row, task.rows))
                  : lines_of(slice, sides.a, sides.a_largest).from_group(task.first_a);
    slice.b =
        sides.b == nullptr
            ? own_lines(slice, task, columns_from(sides, task.column, task.columns))
            : lines_of(slice, sides.b, sides.b_largest).from_group(task.first_b - sides.first_b);
    if (may_split(slice.a, task.a_groups) && may_split(slice.b, task.b_groups))
      multiply(product, task, slice);
    else
      multiply_apart(product, sides, task, slice);
  }
}

// Of all groups of a side.
Bf16x6Product::Lines Bf16x6Product::lines_of(const Slice& slice, const uint16_t* parts,
                                             const uint32_t* largest) const {
  return {parts + slice.from * kSplitBlock, group_elements(), largest};
}

// A slice of the source, split into the task's memory: no task splits both sides.
Bf16x6Product::Lines Bf16x6Product::own_lines(const Slice& slice, const Task& task,
                                              SplitSource source) const {
  const int64_t first = slice.from * kSplitDepth;
  source.from += first * source.step;
  source.depth = std::min(slice.blocks * kSplitDepth, call_.depth - first);
  source.to = reinterpret_cast<uint16_t*>(task.memory);
  source.to_group = slice.blocks * kSplitBlock;
  source.largest = reinterpret_cast<uint32_t*>(task.memory + own_bytes()) - own_groups();
  split(source, task.row);
  return {source.to, source.to_group, source.largest};
}

// Sums over slices are added up in C.
RowProduct Bf16x6Product::result_of(const RowProduct& product, const Task& task,
                                    const Slice& slice) const {
  RowProduct result = product;
  const int64_t at = task.row * call_.columns + task.column;
  result.m = task.rows, result.n = task.columns;
  result.c += at;
  if (slice.from > 0)
    result.addend = result.c;
  else if (result.addend != nullptr)
    result.addend += at;
  const bool ends = slice.from + slice.blocks == depth_blocks_;
  if (!ends) {
    result.column_shifts = nullptr;
    result.least = RowProduct{}.least, result.most = RowProduct{}.most;
  }
  if (result.column_shifts != nullptr) result.column_shifts += task.column;
  return result;
}

RowsFn Bf16x6Product::function_after(const Slice& slice) const {
  return slice.from + slice.blocks == depth_blocks_ ? one_pass_.function() : nullptr;
}

void Bf16x6Product::multiply(const RowProduct& product, const Task& task,
                             const Slice& slice) const {
  SplitProduct part{.result = result_of(product, task, slice), .function = function_after(slice)};
  part.a = slice.a.parts, part.a_group = slice.a.group;
  part.b = slice.b.parts, part.b_group = slice.b.group;
  part.blocks = slice.blocks;
  part.by_rows = task.a_groups * slice.blocks * kSplitBlock * 2 > kCachedBytes;
  table_.multiply_bf16x6(part);
}

// Group by group; those that may not be split, as f32.
void Bf16x6Product::multiply_apart(const RowProduct& product, const Sides& sides, const Task& task,
                                   const Slice& slice) const {
  Task part = task;
  part.a_groups = part.b_groups = 1;
  for (int64_t b = 0; b < task.b_groups; ++b) {
    part.first_b = task.first_b + b, part.column = part.first_b * kSplitLines;
    part.columns = std::min(kSplitLines, call_.columns - part.column);
    pack_plain(sides, part, slice);
    for (int64_t a = 0; a < task.a_groups; ++a) {
      part.first_a = task.first_a + a, part.row = part.first_a * kSplitLines;
      part.rows = std::min(kSplitLines, rows_ - part.row);
      Slice lines{slice.from, slice.blocks, slice.a.from_group(a), slice.b.from_group(b)};
      if (may_be_split(*lines.a.largest) && may_be_split(*lines.b.largest))
        multiply(product, part, lines);
      else
        multiply_plain(product, sides, part, lines);
    }
  }
}

// A slice of a group's weights, as f32 in the task's memory.
void Bf16x6Product::pack_plain(const Sides& sides, const Task& task, const Slice& slice) const {
  auto* panel = reinterpret_cast<float*>(task.memory + own_split_bytes());
  const int64_t first = slice.from * kSplitDepth;
  const int64_t depth = std::min(slice.blocks * kSplitDepth, call_.depth - first);
  SplitSource source = columns_from(sides, task.column, task.columns);
  table_.pack_columns(depth, task.columns, source.from + first * source.step, source.step,
                      source.line, panel, kPanelColumns);
  if (source.factors == nullptr) return;
  for (int64_t l = 0; l < depth; ++l)
    for (int64_t j = 0; j < task.columns; ++j) panel[l * kPanelColumns + j] *= source.factors[j];
}

// A group of rows times that.
void Bf16x6Product::multiply_plain(const RowProduct& product, const Sides& sides, const Task& task,
                                   const Slice& slice) const {
  auto* panel = reinterpret_cast<float*>(task.memory + own_split_bytes());
  float* copy = panel + own_panel_bytes() / 4;
  const int64_t first = slice.from * kSplitDepth;
  RowProduct part = result_of(product, task, slice);
  part.k = std::min(slice.blocks * kSplitDepth, call_.depth - first);
  part.a = rows_of_a_.side_by_side(table_, reinterpret_cast<const std::byte*>(sides.plain_a),
                                   task.row, task.rows, copy) +
           first;
  part.a_row = rows_of_a_.dense_row(), part.a_col = 1;
  part.b = panel, part.b_row = kPanelColumns;
  table_.multiply_rows(part);
  if (RowsFn function = function_after(slice)) function(part.m, part.n, part.c, part.c_row);
}

}  // namespace tuff::cpu
