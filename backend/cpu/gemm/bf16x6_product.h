// Rows times weights by AMX: PanelProduct's calls, where a product is large enough for splitting
// both sides to pay (bf16x6.h).
#pragma once

#include <optional>
#include <vector>

#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/derived_operand.h"
#include "backend/cpu/gemm/bf16x6.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/product_rows.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

// A task is some of A's groups and some of B's, slice by slice of the depth. Of one side it splits
// what it needs for itself, so that this is in its second cache: of the rows where the weights are
// kept, else of the weights; what another core has just written takes a sixth longer to multiply
// with. What may not be split (may_be_split) is multiplied as f32.
class Bf16x6Product : public LibraryCall {
 public:
  // table: of a level with AMX.
  Bf16x6Product(PanelProductCall call, const LaneTable& table, DerivedOwner& owner);

  // The same bits whether the packed weights are kept or not.
  Status run(std::span<const CallOperand> operands) override;

 private:
  // One run's sides; parts are null where each task splits its own. largest: by group.
  struct Sides {
    const float *plain_a = nullptr, *plain_b = nullptr;
    uint16_t *a = nullptr, *b = nullptr;
    uint32_t *a_largest = nullptr, *b_largest = nullptr;
    int64_t first_b = 0;  // the group that b and b_largest begin with
    DerivedOperand::Use kept;
    bool keeps = false, splits_b = false;  // in memory that is kept; now, for all tasks
  };
  // A task's part of the groups, from `row` and `column` on, and its thread's memory.
  struct Task {
    int64_t first_a = 0, a_groups = 0, row = 0, rows = 0;
    int64_t first_b = 0, b_groups = 0, column = 0, columns = 0;
    std::byte* memory = nullptr;
  };
  // What is split of one side for a task and a slice. largest: by group.
  struct Lines {
    const uint16_t* parts = nullptr;
    int64_t group = 0;  // between groups
    const uint32_t* largest = nullptr;

    Lines from_group(int64_t i) const { return {parts + i * group, group, largest + i}; }
  };
  struct Slice {
    int64_t from = 0, blocks = 0;  // of depth
    Lines a, b;
  };

  void choose_tasks();
  int threads() const { return parallel_ ? threads_ : 1; }
  int64_t group_elements() const { return depth_blocks_ * kSplitBlock; }
  int64_t split_bytes(int64_t groups) const { return groups * group_elements() * 2; }
  // A thread's memory: what its task splits, a panel and rows as f32, the magnitudes of the first.
  int64_t own_groups() const { return (owns_a_ ? task_a_ : 0) + (owns_b_ ? task_b_ : 0); }
  int64_t own_split_bytes() const { return own_groups() * slice_blocks_ * kSplitBlock * 2; }
  int64_t own_panel_bytes() const { return slice_blocks_ * kSplitDepth * kPanelColumns * 4; }
  int64_t own_bytes() const;

  int64_t b_tasks_at_once(const Sides& sides) const;
  Status run_tasks(const RowProduct& product, Sides& sides, int64_t first, int64_t count);
  Status split_shared(Sides& sides, int64_t first_b, int64_t b_groups);
  void split_rows(const Sides& sides, int64_t first, int64_t last) const;
  void split_columns(const Sides& sides, int64_t group) const;
  SplitSource rows_from(const Sides& sides, int64_t row, int64_t count) const;
  SplitSource columns_from(const Sides& sides, int64_t column, int64_t count) const;
  void split(const SplitSource& source, int64_t row) const;
  Task task_of(int64_t task, std::byte* memory) const;
  void run_task(const RowProduct& product, const Sides& sides, const Task& task) const;
  Lines lines_of(const Slice& slice, const uint16_t* parts, const uint32_t* largest) const;
  Lines own_lines(const Slice& slice, const Task& task, SplitSource source) const;
  RowProduct result_of(const RowProduct& product, const Task& task, const Slice& slice) const;
  RowsFn function_after(const Slice& slice) const;
  void multiply(const RowProduct& product, const Task& task, const Slice& slice) const;
  void multiply_apart(const RowProduct& product, const Sides& sides, const Task& task,
                      const Slice& slice) const;
  void pack_plain(const Sides& sides, const Task& task, const Slice& slice) const;
  void multiply_plain(const RowProduct& product, const Sides& sides, const Task& task,
                      const Slice& slice) const;

  const PanelProductCall call_;
  const LaneTable& table_;
  const ProductRows rows_of_a_;
  const int64_t rows_;
  OnePass one_pass_;
  const int threads_;
  bool parallel_ = false;
  int64_t a_groups_ = 0, b_groups_ = 0;
  int64_t depth_blocks_ = 0, slice_blocks_ = 0;  // of kSplitDepth; what is taken at a time
  int64_t task_a_ = 0, task_b_ = 0;              // a task is so many groups of each
  int64_t a_tasks_ = 0, b_tasks_ = 0;
  bool owns_a_ = false, owns_b_ = false;         // what each task splits itself
  std::optional<DerivedOperand> kept_;           // all of B's groups, where they may be kept
  std::vector<uint32_t> a_largest_, b_largest_;  // by group, of what is split for all
};

}  // namespace tuff::cpu
