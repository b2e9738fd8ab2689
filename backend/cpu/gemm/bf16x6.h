// Products of f32 matrices by AMX, which multiplies bf16. Every number is split into three bf16.
// Of the nine products of two numbers' parts the six largest are added up in f32. XLA calls this
// BF16_BF16_F32_X6; it is what its full precision means on TPUs.
//
// Why that is f32: a bf16 has 8 bits, so the three parts together are the number. The products that
// are left out are at most 2^-24 of the whole each, as much as one rounding of f32. And there are
// fewer roundings than in a sum of k products: AMX adds up 32 of them before it adds those to the
// rest (TDPBF16PS in Intel's instruction set reference). tests/unit/cpu/bf16x6_test.cpp measures
// both against doubles.
//
// What AMX cannot do: it takes numbers below 2^-126 as 0, parts and sums too, so sums of k may be
// off by k * 2^-125. And the parts of a number that is not finite do not add up to it. See
// may_be_split.
#pragma once

#include <cstdint>

#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_table.h"

namespace tuff::cpu {

// Lines are A's rows and B's columns. A group is kSplitLines of them; of each kSplitDepth elements
// it has a block: the parts of one after the other, each in two tiles of half the lines. A group's
// blocks follow each other.
inline constexpr int64_t kSplitLines = 32, kSplitDepth = 32, kSplitParts = 3;
inline constexpr int64_t kSplitBlock = kSplitLines * kSplitDepth * kSplitParts;  // elements

// Lines of an f32 matrix, and where they go. Strides in elements.
struct SplitSource {
  const float* from = nullptr;
  int64_t lines = 0, depth = 0;
  int64_t line = 0, step = 0;        // between lines, and between the elements of one
  const int64_t* offsets = nullptr;  // where each line is, instead of `line` apart; step is 1
  const float* factors = nullptr;    // that the lines' elements are multiplied with; null: 1
  bool columns = false;              // of B, rather than rows of A
  uint16_t* to = nullptr;
  int64_t to_group = 0;         // between groups
  uint32_t* largest = nullptr;  // by group: takes the bits of the largest magnitude
};

// C = A x B, and what RowProduct's other fields say; its a and b, and k, are not looked at.
struct SplitProduct {
  RowProduct result;
  RowsFn function = nullptr;  // of what results; null: none
  const uint16_t *a = nullptr, *b = nullptr;
  int64_t a_group = 0, b_group = 0;  // between groups
  int64_t blocks = 0;                // of depth
  bool by_rows = false;              // in what order: all of B is in a cache, rather than of A
};

// Whether lines, the largest magnitude of which has these bits as an f32, may be split: what is
// lost below 2^-126 is then nothing beside the largest products, and nothing overflows on the way.
inline bool may_be_split(uint32_t largest_bits) {
  constexpr uint32_t kLeast = (127 - 45) << 23, kMost = (127 + 30) << 23;  // 2^-45, 2^30
  return largest_bits == 0 || (largest_bits >= kLeast && largest_bits <= kMost);
}

}  // namespace tuff::cpu
