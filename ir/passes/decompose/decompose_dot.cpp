// Products that have nothing to gain from a contraction: with nothing to sum over, which are
// elementwise, and of vectors or tiny matrices with each other, whose sums are a reduction.
#include <algorithm>
#include <numeric>

#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

using Ints = std::vector<int64_t>;

bool contains(const Ints& list, int64_t d) {
  return std::find(list.begin(), list.end(), d) != list.end();
}

// One side of a dot_general.
struct Side {
  Value value;
  const Ints &batching, &contracting;
  Shape shape;

  Ints free() const {
    Ints dims;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (!contains(batching, d) && !contains(contracting, d)) dims.push_back(d);
    return dims;
  }
  // Those that have more than one element.
  Ints wide_free() const {
    Ints dims = free();
    std::erase_if(dims, [&](int64_t d) { return shape[static_cast<size_t>(d)] == 1; });
    return dims;
  }
  int64_t elements(const Ints& dims) const {
    int64_t count = 1;
    for (int64_t d : dims) count *= shape[static_cast<size_t>(d)];
    return count;
  }
};

// The operand with these dimensions in this order; the others have size 1.
Value arranged(const RewriteSite& site, Value v, const Ints& dims) {
  const TensorType type = site.out.type(v);
  Ints kept = dims;
  std::sort(kept.begin(), kept.end());
  Shape shape, result;
  for (int64_t d : kept) shape.push_back(type.shape[static_cast<size_t>(d)]);
  v = reshape(site, v, shape);
  if (kept == dims) return v;
  Ints permutation;
  for (int64_t d : dims) {
    permutation.push_back(std::lower_bound(kept.begin(), kept.end(), d) - kept.begin());
    result.push_back(type.shape[static_cast<size_t>(d)]);
  }
  return site.add(Op::kTranspose, {v}, {type.dtype, std::move(result)},
                  TransposeAttrs{std::move(permutation)});
}

Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Ints counting(size_t from, size_t count) {
  Ints dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(from));
  return dims;
}

// What products are computed in: nothing where no type holds them all.
std::optional<DType> product_type(const RewriteSite& site) {
  const DType result = site.node.types[0].dtype;
  for (Value v : site.node.operands) {
    const DType dtype = site.out.type(v).dtype;
    if (dtype == DType::kBool || is_float(dtype) != is_float(result) ||
        dtype_size(dtype) > dtype_size(result))
      return std::nullopt;
  }
  return result;
}

// Nothing is summed: each element of one side times each of the other.
Value outer_product(const RewriteSite& site, const Side& lhs, const Side& rhs, DType dtype) {
  const Shape& shape = site.node.types[0].shape;
  const size_t batch = lhs.batching.size(), rows = lhs.free().size();
  auto spread = [&](const Side& side, size_t first) {
    Value v = arranged(site, side.value, joined(side.batching, side.free()));
    Ints dims = joined(counting(0, batch), counting(first, side.free().size()));
    return broadcast(site, convert(site, v, dtype), shape, std::move(dims));
  };
  const TensorType type{dtype, shape};
  Value product = site.add(Op::kMultiply, {spread(lhs, batch), spread(rhs, batch + rows)}, type);
  // The sum begins with 0: of -0 it makes 0.
  return is_float(dtype) ? site.add(Op::kAdd, {product, site.splat(type, 0)}, type) : product;
}

// Sums of a few products each, for every element of the result: over dimensions in front of its
// rows and columns, so that elements beside each other are summed side by side. Free dimensions of
// size one come back at the end.
Value sums_of_products(const RewriteSite& site, const Side& lhs, const Side& rhs, DType dtype) {
  const DType result = dtype;
  if (is_float(dtype) && dtype_size(dtype) < 4) dtype = DType::kF32;  // sums round once
  const Ints rows = lhs.wide_free(), columns = rhs.wide_free();
  const size_t batch = lhs.batching.size(), depth = lhs.contracting.size();
  Shape products;
  for (int64_t d : joined(joined(lhs.batching, lhs.contracting), rows))
    products.push_back(lhs.shape[static_cast<size_t>(d)]);
  for (int64_t d : columns) products.push_back(rhs.shape[static_cast<size_t>(d)]);
  auto factors = [&](const Side& side, const Ints& free, size_t first) {
    Value v = arranged(site, side.value, joined(joined(side.batching, side.contracting), free));
    return broadcast(site, convert(site, v, dtype), products,
                     joined(counting(0, batch + depth), counting(first, free.size())));
  };
  Value product = site.add(
      Op::kMultiply,
      {factors(lhs, rows, batch + depth), factors(rhs, columns, batch + depth + rows.size())},
      {dtype, products});
  Value total = sum(site, product, counting(batch, depth));
  return reshape(site, convert(site, total, result), site.node.types[0].shape);
}

// A tile of a contraction would be mostly empty, and a call longer than its work.
bool is_tiny(int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t kMaxProducts = 64;  // 4 x 4 times 4 x 4
  return (rows == 1 && columns == 1) || rows * columns * depth <= kMaxProducts;
}

// The same of a vector by a matrix, for devices that call a library: half a microsecond a call.
bool is_brief(int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t kMaxProducts = 2048;
  return (rows == 1 || columns == 1) && rows * columns * depth <= kMaxProducts;
}

}  // namespace

Values small_product(const RewriteSite& site, bool is_call) {
  const auto& attrs = site.node.attrs.as<DotGeneralAttrs>();
  const std::optional<DType> dtype = product_type(site);
  if (!dtype) return std::nullopt;
  const Side lhs{site.node.operands[0], attrs.lhs_batching_dimensions,
                 attrs.lhs_contracting_dimensions, site.operand_type(0).shape};
  const Side rhs{site.node.operands[1], attrs.rhs_batching_dimensions,
                 attrs.rhs_contracting_dimensions, site.operand_type(1).shape};
  const int64_t depth = lhs.elements(lhs.contracting);
  if (depth == 1) return std::vector<Value>{outer_product(site, lhs, rhs, *dtype)};
  const int64_t rows = lhs.elements(lhs.free()), columns = rhs.elements(rhs.free());
  const bool alone = lhs.elements(lhs.batching) == 1;
  const bool small =
      is_tiny(rows, columns, depth) || (is_call && alone && is_brief(rows, columns, depth));
  if (depth == 0 || !small) return std::nullopt;
  return std::vector<Value>{sums_of_products(site, lhs, rhs, *dtype)};
}

Value dot_general(const RewriteSite& site, Value lhs, Value rhs, TensorType type,
                  const DotGeneralAttrs& attrs) {
  Node dot;
  dot.op = Op::kDotGeneral;
  dot.loc = site.node.loc;
  dot.operands = {lhs, rhs};
  dot.types = {std::move(type)};
  dot.attrs = attrs;
  const RewriteSite made{site.out, dot, site.old, site.old_id};
  if (Values small = small_product(made, false)) return (*small)[0];
  return site.out.add(std::move(dot));
}

}  // namespace tuff::decomposition
