// Rows times weights that are packed into panels of columns, by our own register tiles: 1x1
// convolutions and matmuls.
#pragma once

#include <optional>

#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/derived_operand.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/product_rows.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

// Bindings: A, B (or B, A), one per post-op that has an operand, C.
class PanelProduct : public LibraryCall {
 public:
  PanelProduct(PanelProductCall call, const LaneTable& table, DerivedOwner& owner);

  // The same bits whether the packed weights are kept or not.
  Status run(std::span<const CallOperand> operands) override;

 private:
  // What the weights are read from: panels of all of them, or as they lie; each panel is packed
  // then when it is needed.
  struct Weights {
    const std::byte* plain = nullptr;
    const std::byte* panels = nullptr;
    DType panels_type = DType::kF32;
    DerivedOperand::Use kept;
  };

  void choose_tasks();
  int threads() const { return parallel_ ? threads_ : 1; }
  int64_t panel_floats() const;
  int64_t panels_bytes(DType type) const;
  int64_t copied_floats() const { return rows_of_a_.copied_floats(block_rows_); }
  int64_t part_floats(const Weights& weights) const;
  void pack(const CallOperand& operand, Weights& weights);
  const std::byte* pack_for_this_run(const std::byte* weights) const;
  void keep_panels(const std::byte* weights, std::byte* to) const;
  void keep_narrow_panel(const std::byte* weights, int64_t panel, uint16_t* to) const;
  void pack_slice(const std::byte* weights, int64_t panel, int64_t from, int64_t depth,
                  float* to) const;
  void widen_columns(const std::byte* from, int64_t depth, int64_t count, float* to) const;
  void scale_slice(int64_t panel, int64_t depth, float* slice) const;
  const float* slice_of(const Weights& weights, int64_t panel, int64_t from, int64_t depth,
                        float* room) const;
  void round_result(const float* result, std::byte* to) const;
  void run_packed(const RowProduct& product, const std::byte* a, const Weights& weights, int part,
                  SplitRange& tasks, float* memory) const;
  void run_packing(const RowProduct& product, const std::byte* a, const Weights& weights, int part,
                   SplitRange& tasks, float* memory) const;
  void take_rows(const RowProduct& product, const std::byte* a, int64_t block, float* copy,
                 RowProduct& rows) const;
  void multiply_panel(const RowProduct& rows, const Weights& weights, int64_t panel,
                      int64_t next_panel, float* room) const;
  void multiply_slice(const RowProduct& rows, int64_t panel, int64_t from, const float* b,
                      const float* next) const;

  const PanelProductCall call_;
  const LaneTable& table_;
  const ProductRows rows_of_a_;
  const int64_t rows_;
  OnePass one_pass_;
  const int threads_;
  bool parallel_ = false;
  int64_t panels_ = 0;
  int64_t block_rows_ = 0, row_blocks_ = 0;
  int64_t block_depth_ = 0;
  int64_t group_ = 1;                   // panels that a thread packs for itself at a time
  std::optional<DerivedOperand> kept_;  // all panels, where they may be kept
};

}  // namespace tuff::cpu
