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

template <typename L, typename R, typename T>
void dot_typed(const Literal& lhs, const Side& left, const Literal& rhs, const Side& right,
               Literal& result) {
  using A = Accumulator<L>;
  const L* l = lhs.data<L>();
  const R* r = rhs.data<R>();
  T* out = result.mutable_data<T>();
  auto rows = static_cast<int64_t>(left.free.size());
  auto columns = static_cast<int64_t>(right.free.size());
  auto depth = static_cast<int64_t>(left.contracted.size());
  for (size_t b = 0; b < left.batch.size(); ++b, out += rows * columns) {
    const L* l_batch = l + left.batch[b];
    const R* r_batch = r + right.batch[b];
    blocked_product<A>(
        rows, columns, depth,
        [&](int64_t m, int64_t k) {
          return to_accumulator(l_batch[left.free[size_t(m)] + left.contracted[size_t(k)]]);
        },
        [&](int64_t k, int64_t n) {
          return static_cast<A>(
              to_accumulator(r_batch[right.free[size_t(n)] + right.contracted[size_t(k)]]));
        },
        [&](int64_t m, int64_t n, A sum) { out[m * columns + n] = from_accumulator<T>(sum); });
  }
}

}  // namespace

Result<Literals> evaluate_dot_general(const Node& node, const Literals& operands) {
  const Literal &lhs = operands[0], &rhs = operands[1];
  if (lhs.type().dtype != rhs.type().dtype) {
    // Operands of two types meet in the result's, which holds both exactly.
    Literals same{convert_literal(lhs, node.types[0].dtype),
                  convert_literal(rhs, node.types[0].dtype)};
    return evaluate_dot_general(node, same);
  }
  Side left(lhs.type().shape, node.attrs.get_ints("lhs_batching_dimensions"),
            node.attrs.get_ints("lhs_contracting_dimensions"));
  Side right(rhs.type().shape, node.attrs.get_ints("rhs_batching_dimensions"),
             node.attrs.get_ints("rhs_contracting_dimensions"));
  // Pairs with the operands' class: float to float, the rest to integers or bool.
  Literal result(node.types[0]);
  bool done = dispatch(lhs.type().dtype, [&]<typename L>(Tag<L>) {
    return dispatch(node.types[0].dtype, [&]<typename T>(Tag<T>) {
      if constexpr (kIsFloat<L> != kIsFloat<T>) {
        return false;
      } else {
        dot_typed<L, L, T>(lhs, left, rhs, right, result);
        return true;
      }
    });
  });
  if (!done) return unsupported(node, "mixes floats and integers");
  return Literals{std::move(result)};
}

}  // namespace tuff::eval
