// reduce with any region. One walk over the input in row-major order, each
// element combined into its accumulator; so the order of every reduction is
// increasing index order.
#include "ir/evaluate/ops.h"
#include "ir/evaluate/region.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

// Where input elements accumulate: strides over the input's dimensions into the
// row-major output, 0 along the reduced ones.
std::vector<int64_t> accumulator_strides(const Shape& input, const std::vector<int64_t>& dims,
                                         const Shape& output) {
  std::vector<bool> reduced(input.size(), false);
  for (int64_t d : dims) reduced[static_cast<size_t>(d)] = true;
  std::vector<int64_t> kept_strides = row_major_strides(output), strides;
  size_t kept = 0;
  for (size_t d = 0; d < input.size(); ++d)
    strides.push_back(reduced[d] ? 0 : kept_strides[kept++]);
  return strides;
}

// Splits a space into rows along the last dimension:
// f(first element, first accumulator, length, accumulator stride).
template <typename F>
void for_each_row(const Shape& shape, const std::vector<int64_t>& strides, F f) {
  if (shape.empty()) return f(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{0});
  Shape outer(shape.begin(), shape.end() - 1);
  int64_t element = 0, length = shape.back();
  if (length == 0) return;
  for (Counter counter(outer); counter.valid(); counter.next(), element += length)
    f(element, dot_offset(counter.index(), strides), length, strides.back());
}

template <typename T, typename Combine>
Literal reduce_typed(const TensorType& type, const Literal& input, const Literal& init,
                     const std::vector<int64_t>& strides, Combine combine) {
  using W = Wide<T>;
  // vector<bool> has no elements to point at.
  using Slot = std::conditional_t<std::is_same_v<W, bool>, uint8_t, W>;
  W start = static_cast<W>(widen(init.data<T>()[0]));
  std::vector<Slot> accumulators(static_cast<size_t>(type.num_elements()), Slot(start));
  const T* elements = input.data<T>();
  for_each_row(input.type().shape, strides,
               [&](int64_t first, int64_t at, int64_t n, int64_t step) {
                 const T* row = elements + first;
                 Slot* to = accumulators.data() + at;
                 if (step == 0) {
                   W sum = static_cast<W>(*to);
                   for (int64_t i = 0; i < n; ++i)
                     sum = combine(sum, static_cast<W>(widen(row[i])));
                   *to = Slot(sum);
                 } else {
                   for (int64_t i = 0; i < n; ++i)
                     to[i * step] =
                         Slot(combine(static_cast<W>(to[i * step]), static_cast<W>(widen(row[i]))));
                 }
               });
  Literal result(type);
  T* out = result.mutable_data<T>();
  for (size_t i = 0; i < accumulators.size(); ++i)
    out[i] = narrow<T>(static_cast<W>(accumulators[i]));
  return result;
}

// Any region over k inputs: accumulators are the result tensors themselves.
Result<Literals> reduce_general(const Node& node, const Literals& inputs, const Literals& inits,
                                const std::vector<int64_t>& strides) {
  TUFF_ASSIGN(ScalarRegion body, ScalarRegion::compile(*node.regions[0]));
  size_t k = inputs.size();
  Literals results;
  std::vector<int64_t> bytes;
  std::vector<std::byte*> out;
  for (size_t j = 0; j < k; ++j) {
    bytes.push_back(dtype_size(node.types[j].dtype));
    results.emplace_back(node.types[j]);
    out.push_back(results[j].mutable_bytes());
    for (int64_t i = 0; i < results[j].num_elements(); ++i)
      std::memcpy(out[j] + i * bytes[j], inits[j].bytes(), static_cast<size_t>(bytes[j]));
  }
  std::vector<Cell> cells(2 * k);
  int64_t element = 0;
  for (Counter counter(inputs[0].type().shape); counter.valid(); counter.next(), ++element) {
    int64_t at = dot_offset(counter.index(), strides);
    for (size_t j = 0; j < k; ++j) {
      cells[j] = load_cell(out[j] + at * bytes[j], bytes[j]);
      cells[k + j] = load_cell(inputs[j].bytes() + element * bytes[j], bytes[j]);
    }
    TUFF_RETURN_IF_ERROR(body.run(cells.data(), cells.data()));
    for (size_t j = 0; j < k; ++j) store_cell(cells[j], out[j] + at * bytes[j], bytes[j]);
  }
  return results;
}

}  // namespace

Result<Literals> evaluate_reduce(const Node& node, const Literals& operands) {
  size_t k = operands.size() / 2;
  Literals inputs, inits;
  // The body may compute in a wider type than the inputs' (StableHLO, reduce).
  for (size_t j = 0; j < k; ++j) {
    inputs.push_back(convert_literal(operands[j], node.types[j].dtype));
    inits.push_back(convert_literal(operands[k + j], node.types[j].dtype));
  }
  std::vector<int64_t> strides = accumulator_strides(
      inputs[0].type().shape, node.attrs.as<DimensionsAttrs>().dimensions, node.types[0].shape);
  std::optional<Op> op = single_op(*node.regions[0]);
  if (!op) return reduce_general(node, inputs, inits, strides);
  return dispatch(node.types[0].dtype, [&]<typename T>(Tag<T>) {
    return with_combiner(*op, [&](auto combine) -> Result<Literals> {
      return Literals{reduce_typed<T>(node.types[0], inputs[0], inits[0], strides, combine)};
    });
  });
}

}  // namespace tuff::eval
