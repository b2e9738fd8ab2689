// Products of f32 that are over before a library has begun.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// With at most a sum with an operand afterwards. Sums are fused multiply-adds in the order of k,
// where the processor has them. Operands that come again may be larger for panels of them to pay.
bool is_small_product(const MatmulCall& call, bool comes_again);

// Of rows of C whose columns lie side by side: the call, or its transpose with A and B as each
// other's bindings.
struct RowsOfProduct {
  MatmulCall call;
  size_t a = 0, b = 1;
};
RowsOfProduct rows_of(const MatmulCall& call);

// Whether multiply_rows needs B's columns packed first.
bool packs_columns(const MatmulCall& call);

bool is_all_f32(const MatmulCall& call);

LibraryCallPtr create_small_product(const MatmulCall& call, const LaneTable& table);

// Elements from the beginning of an operand to its part for this number of the merged batches.
int64_t batch_offset(const MatmulCall& call, const std::vector<int64_t>& strides, int64_t number);

}  // namespace tuff::cpu
