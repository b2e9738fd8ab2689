// Transposes before a dot_general are said by its dimension numbers; conversions before a
// contraction are its own.
#include <algorithm>

#include "ir/passes/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

using Ints = std::vector<int64_t>;

struct SideNames {
  const char *batching, *contracting;
};
constexpr SideNames kSides[2] = {{"lhs_batching_dimensions", "lhs_contracting_dimensions"},
                                 {"rhs_batching_dimensions", "rhs_contracting_dimensions"}};

bool contains(const Ints& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Reads the operand before its transpose, if the dimensions that stay free keep
// their order: the result's dimensions follow it.
bool absorb_transpose(const RewriteSite& site, size_t side, Node& dot) {
  const Node& transpose = site.operand(side);
  if (transpose.op != Op::kTranspose) return false;
  const Ints& permutation = transpose.attrs.get_ints("permutation");
  Ints batching = dot.attrs.get_ints(kSides[side].batching);
  Ints contracting = dot.attrs.get_ints(kSides[side].contracting);
  Ints free;
  for (int64_t d = 0; d < static_cast<int64_t>(permutation.size()); ++d)
    if (!contains(batching, d) && !contains(contracting, d))
      free.push_back(permutation[static_cast<size_t>(d)]);
  if (!std::is_sorted(free.begin(), free.end())) return false;
  for (Ints* list : {&batching, &contracting})
    for (int64_t& d : *list) d = permutation[static_cast<size_t>(d)];
  dot.attrs.set(kSides[side].batching, std::move(batching));
  dot.attrs.set(kSides[side].contracting, std::move(contracting));
  dot.operands[side] = transpose.operands[0];
  return true;
}

// Sums of f32 over two operands that were f16 or bf16: widening them loses nothing, and
// half of the bytes need not be read.
Values absorb_widening(const RewriteSite& site) {
  if (site.node.types[0].dtype != DType::kF32) return std::nullopt;
  Node contraction = site.node;
  for (size_t i = 0; i < 2; ++i) {
    if (site.operand(i).op != Op::kConvert) return std::nullopt;
    contraction.operands[i] = site.operand(i).operands[0];
  }
  DType narrow = site.out.type(contraction.operands[0]).dtype;
  bool half = narrow == DType::kF16 || narrow == DType::kBF16;
  if (!half || site.out.type(contraction.operands[1]).dtype != narrow) return std::nullopt;
  return one(site.out.add(std::move(contraction)));
}

}  // namespace

Values contractions(const RewriteSite& site) {
  if (site.node.op != Op::kDotGeneral && site.node.op != Op::kConvolution) return std::nullopt;
  if (Values narrow = absorb_widening(site)) return narrow;
  if (site.node.op != Op::kDotGeneral) return std::nullopt;
  Node dot = site.node;
  bool lhs = absorb_transpose(site, 0, dot), rhs = absorb_transpose(site, 1, dot);
  if (!lhs && !rhs) return std::nullopt;
  return one(site.out.add(std::move(dot)));
}

}  // namespace tuff::canonical
