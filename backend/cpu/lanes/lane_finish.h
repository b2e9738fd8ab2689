// What happens to the sums of a product once they are complete. After level.h.
#pragma once

#include <cstdint>
#include <utility>

#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_vector.h"

namespace tuff::cpu {
namespace {

// body(0), .. body(kCount - 1), each a constant. Sums stay in registers only where nothing is left
// of the loops over them before compilers look.
template <typename Body, int... kIndex>
TUFF_INLINE void each(std::integer_sequence<int, kIndex...>, const Body& body) {
  (body(std::integral_constant<int, kIndex>()), ...);
}
template <int kCount, typename Body>
TUFF_INLINE void unrolled(const Body& body) {
  each(std::make_integer_sequence<int, kCount>(), body);
}

// What happens to the sums of rows i.. from column j on, vector v of each.
template <bool kWhole, int kRows, int kVectors>
TUFF_INLINE void finish(const RowProduct& p, int64_t i, int64_t j,
                        const Vector (&sums)[kRows][kVectors], int v) {
  int64_t count = p.n - j;
  if (!kWhole && count <= 0) return;
  Vector shift{}, least = Vector{} + p.least, most = Vector{} + p.most;
  const float* addend = p.addend == nullptr ? nullptr : p.addend + i * p.addend_row + j;
  if (p.column_shifts != nullptr) shift = load_first<kWhole>(p.column_shifts + j, count);
  float* c = p.c + i * p.c_row + j;
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    Vector sum = sums[r][v];
    if (addend != nullptr) sum += load_first<kWhole>(addend + r * p.addend_row, count);
    sum = sum * (p.row_scales == nullptr ? p.scale : p.scale * p.row_scales[i + r]) + shift;
    sum = sum < least ? least : sum;
    store_first<kWhole>(c + r * p.c_row, sum > most ? most : sum, count);
  });
}

}  // namespace
}  // namespace tuff::cpu
