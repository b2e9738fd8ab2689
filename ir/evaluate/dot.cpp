// dot_general with any batching and contracting dimensions. The result's
// dimensions are batching, then lhs free, then rhs free (StableHLO, dot_general).
#include "ir/evaluate/contract.h"
#include "ir/evaluate/indexing.h"
#include "ir/evaluate/ops.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

// Offsets of every index over some dimensions, in row-major order.
std::vector<int64_t> offsets_over(const Shape& shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides = pick(row_major_strides(shape), dims), offsets;
  for (Counter counter(pick(shape, dims)); counter.valid(); counter.next())
    offsets.push_back(dot_offset(counter.index(), strides));
  return offsets;
}

// One operand as [batch][free][contracted] or the like: offset tables add up.
struct Side {
  std::vector<int64_t> batch, free, contracted;

  Side(const Shape& shape, const std::vector<int64_t>& batching,
       const std::vector<int64_t>& contracting)
      : batch(offsets_over(shape, batching)),
        free(offsets_over(shape, other_dims(shape.size(), batching, contracting))),
        contracted(offsets_over(shape, contracting)) {}
};

template <typename A>
void multiply_batches(const Literal& lhs, const Side& left, const Literal& rhs, const Side& right,
                      Literal& result) {
  auto rows = static_cast<int64_t>(left.free.size());
  auto columns = static_cast<int64_t>(right.free.size());
  Product<A> product{rows,
                     columns,
                     static_cast<int64_t>(left.contracted.size()),
                     lhs.bytes(),
                     rhs.bytes(),
                     result.mutable_bytes(),
                     pack_function<A>(lhs.type().dtype),
                     store_function<A>(result.type().dtype)};
  for (size_t b = 0; b < left.batch.size(); ++b) {
    int64_t l = left.batch[b], r = right.batch[b], out = static_cast<int64_t>(b) * rows * columns;
    product.run(
        [&](int64_t m, int64_t k) { return l + left.free[size_t(m)] + left.contracted[size_t(k)]; },
        [&](int64_t k, int64_t n) {
          return r + right.free[size_t(n)] + right.contracted[size_t(k)];
        },
        [&](int64_t m, int64_t n) { return out + m * columns + n; });
  }
}

}  // namespace

Result<Literals> evaluate_dot_general(const Node& node, const Literals& operands) {
  const Literal &lhs = operands[0], &rhs = operands[1];
  DType type = node.types[0].dtype;
  // Operands of two types meet in the result's, which holds both exactly.
  if (lhs.type().dtype != rhs.type().dtype)
    return evaluate_dot_general(node, {convert_literal(lhs, type), convert_literal(rhs, type)});
  if (is_float(lhs.type().dtype) != is_float(type))
    return unsupported(node, "mixes floats and integers");
  Side left(lhs.type().shape, node.attrs.as<DotGeneralAttrs>().lhs_batching_dimensions,
            node.attrs.as<DotGeneralAttrs>().lhs_contracting_dimensions);
  Side right(rhs.type().shape, node.attrs.as<DotGeneralAttrs>().rhs_batching_dimensions,
             node.attrs.as<DotGeneralAttrs>().rhs_contracting_dimensions);
  Literal result(node.types[0]);
  if (is_float(type))
    multiply_batches<double>(lhs, left, rhs, right, result);
  else
    multiply_batches<uint64_t>(lhs, left, rhs, right, result);
  return Literals{std::move(result)};
}

}  // namespace tuff::eval
