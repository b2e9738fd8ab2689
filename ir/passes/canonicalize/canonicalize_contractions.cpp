// Transposes before a dot_general are said by its dimension numbers; conversions before a
// contraction are its own; batch dimensions that were made one for it are its own again.
#include <algorithm>
#include <numeric>

#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

using Ints = std::vector<int64_t>;

// The dimensions of one operand.
struct Side {
  Ints &batching, &contracting;
};
Side side_of(DotGeneralAttrs& dot, size_t side) {
  return side == 0 ? Side{dot.lhs_batching_dimensions, dot.lhs_contracting_dimensions}
                   : Side{dot.rhs_batching_dimensions, dot.rhs_contracting_dimensions};
}

bool contains(const Ints& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Reads the operand before its transpose, if the dimensions that stay free keep
// their order: the result's dimensions follow it.
bool absorb_transpose(const RewriteSite& site, size_t side, Node& dot) {
  const Node& transpose = site.operand(side);
  if (transpose.op != Op::kTranspose) return false;
  const Ints& permutation = transpose.attrs.as<TransposeAttrs>().permutation;
  auto attributes = dot.attrs.as<DotGeneralAttrs>();
  auto [batching, contracting] = side_of(attributes, side);
  Ints free;
  for (int64_t d = 0; d < static_cast<int64_t>(permutation.size()); ++d)
    if (!contains(batching, d) && !contains(contracting, d))
      free.push_back(permutation[static_cast<size_t>(d)]);
  if (!std::is_sorted(free.begin(), free.end())) return false;
  for (Ints* list : {&batching, &contracting})
    for (int64_t& d : *list) d = permutation[static_cast<size_t>(d)];
  dot.attrs = std::move(attributes);
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

// The value's only reader is this node. (A reader counts once for each operand.)
bool is_read_here_only(const RewriteSite& site, size_t operand) {
  Value wanted = site.old.node(site.old_id).operands[operand];
  int64_t reads = std::count(site.old.outputs().begin(), site.old.outputs().end(), wanted);
  for (const Node& node : site.old.nodes())
    reads += std::count(node.operands.begin(), node.operands.end(), wanted);
  return reads == 1;
}

Ints iota(size_t count) {
  Ints numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// The operand of a product whose leading `batch` dimensions become those of `sizes`.
Shape with_batch(const Shape& operand, size_t batch, Shape sizes) {
  sizes.insert(sizes.end(), operand.begin() + static_cast<int64_t>(batch), operand.end());
  return sizes;
}

// A reshape after a product may divide its batch dimensions otherwise, [12,64,64] as
// [1,12,64,64]. It goes before the product if an operand was reshaped the opposite way for
// it. Attentions are written so whose heads are one dimension with the batch.
Values divide_batch(const RewriteSite& site) {
  if (site.operand(0).op != Op::kDotGeneral) return std::nullopt;
  Node dot = site.operand(0);
  const Shape from = site.operand_type(0).shape, to = site.node.types[0].shape;
  auto attributes = dot.attrs.as<DotGeneralAttrs>();
  size_t batch = attributes.lhs_batching_dimensions.size(), rest = from.size() - batch;
  if (batch == 0 || to.size() < rest ||
      !std::equal(from.begin() + static_cast<int64_t>(batch), from.end(),
                  to.end() - static_cast<int64_t>(rest)))
    return std::nullopt;
  Shape sizes(to.begin(), to.end() - static_cast<int64_t>(rest));
  if (num_elements(sizes) !=
      num_elements(Shape(from.begin(), from.end() - static_cast<int64_t>(rest))))
    return std::nullopt;  // anything goes where there are no elements
  Shape shapes[2];
  bool was_so = false;
  for (size_t side : {0, 1}) {
    if (side_of(attributes, side).batching != iota(batch)) return std::nullopt;
    const Node& operand = site.out.node(dot.operands[side]);
    shapes[side] = with_batch(operand.types[0].shape, batch, sizes);
    was_so |=
        operand.op == Op::kReshape && site.out.type(operand.operands[0]).shape == shapes[side];
  }
  if (!was_so || !is_read_here_only(site, 0)) return std::nullopt;
  for (size_t side : {0, 1}) {
    auto [batching, contracting] = side_of(attributes, side);
    for (int64_t& d : contracting) d += static_cast<int64_t>(sizes.size() - batch);
    batching = iota(sizes.size());
    dot.operands[side] = add_reshape(site, dot.operands[side], shapes[side]);
  }
  dot.attrs = std::move(attributes);
  dot.types = site.node.types;
  return one(site.out.add(std::move(dot)));
}

}  // namespace

Values contractions(const RewriteSite& site) {
  if (site.node.op == Op::kReshape) return divide_batch(site);
  if (site.node.op != Op::kDotGeneral && site.node.op != Op::kConvolution) return std::nullopt;
  if (Values narrow = absorb_widening(site)) return narrow;
  if (site.node.op != Op::kDotGeneral) return std::nullopt;
  Node dot = site.node;
  bool lhs = absorb_transpose(site, 0, dot), rhs = absorb_transpose(site, 1, dot);
  if (!lhs && !rhs) return std::nullopt;
  return one(site.out.add(std::move(dot)));
}

}  // namespace tuff::canonical
