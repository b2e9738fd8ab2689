// reduce_window and select_and_scatter.
#include <algorithm>

#include "ir/evaluate/ops.h"
#include "ir/evaluate/region.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

// The windows over one input space. Padding and the gaps of base dilation are
// positions without an element.
class Windows {
 public:
  Windows(const WindowAttrs& attrs, const Shape& input)
      : input_(input), input_strides_(row_major_strides(input)) {
    size_t rank = input.size();
    strides_ = list_or(attrs.window_strides, rank, 1);
    base_dilations_ = list_or(attrs.base_dilations, rank, 1);
    padding_ = list_or(attrs.padding, 2 * rank, 0);
    std::vector<int64_t> dilations = list_or(attrs.window_dilations, rank, 1);
    for (Counter counter(list_or(attrs.window_dimensions, rank, 1)); counter.valid();
         counter.next())
      for (size_t d = 0; d < rank; ++d) inside_.push_back(counter[d] * dilations[d]);
    size_ = num_elements(list_or(attrs.window_dimensions, rank, 1));
  }

  // Calls f(offset of the input element, or -1 where there is none) for every
  // position of the window of result index `out`, in row-major order.
  template <typename F>
  void for_each(const std::vector<int64_t>& out, F f) const {
    size_t rank = input_.size();
    const int64_t* inside = inside_.data();
    for (int64_t w = 0; w < size_; ++w, inside += rank) {
      int64_t offset = 0;
      for (size_t d = 0; d < rank && offset >= 0; ++d) {
        int64_t position = out[d] * strides_[d] - padding_[2 * d] + inside[d];
        bool element = position >= 0 && position % base_dilations_[d] == 0 &&
                       position / base_dilations_[d] < input_[d];
        offset = element ? offset + position / base_dilations_[d] * input_strides_[d] : -1;
      }
      f(offset);
    }
  }

 private:
  const Shape& input_;
  std::vector<int64_t> input_strides_, strides_, base_dilations_, padding_;
  std::vector<int64_t> inside_;  // position w, dimension d at w * rank + d
  int64_t size_ = 0;
};

template <typename T, typename Combine>
Literal reduce_window_typed(const TensorType& type, const Windows& windows, const Literal& input,
                            const Literal& init, Combine combine) {
  using W = Wide<T>;
  const T* elements = input.data<T>();
  W start = static_cast<W>(widen(init.data<T>()[0]));
  Literal result(type);
  T* out = result.mutable_data<T>();
  for (Counter counter(type.shape); counter.valid(); counter.next()) {
    W sum = start;
    windows.for_each(counter.index(), [&](int64_t at) {
      sum = combine(sum, at < 0 ? start : static_cast<W>(widen(elements[at])));
    });
    *out++ = narrow<T>(sum);
  }
  return result;
}

Result<Literals> reduce_window_general(const Node& node, const Windows& windows,
                                       const Literals& inputs, const Literals& inits) {
  TUFF_ASSIGN(ScalarRegion body, ScalarRegion::compile(*node.regions[0]));
  size_t k = inputs.size();
  Literals results;
  std::vector<int64_t> bytes;
  std::vector<Cell> cells(2 * k), start;
  for (size_t j = 0; j < k; ++j) {
    results.emplace_back(node.types[j]);
    bytes.push_back(dtype_size(node.types[j].dtype));
    start.push_back(load_cell(inits[j].bytes(), bytes[j]));
  }
  Status status;
  int64_t element = 0;
  for (Counter counter(node.types[0].shape); counter.valid(); counter.next(), ++element) {
    std::copy(start.begin(), start.end(), cells.begin());
    windows.for_each(counter.index(), [&](int64_t at) {
      for (size_t j = 0; j < k; ++j)
        cells[k + j] = at < 0 ? start[j] : load_cell(inputs[j].bytes() + at * bytes[j], bytes[j]);
      if (status.ok()) status = body.run(cells.data(), cells.data());
    });
    TUFF_RETURN_IF_ERROR(status);
    for (size_t j = 0; j < k; ++j)
      store_cell(cells[j], results[j].mutable_bytes() + element * bytes[j], bytes[j]);
  }
  return results;
}

}  // namespace

// StableHLO, reduce_window pads with the initial values and reduces each window
// of the padded input: padding takes part as the initial value.
Result<Literals> evaluate_reduce_window(const Node& node, const Literals& operands) {
  size_t k = operands.size() / 2;
  Literals inputs, inits;
  for (size_t j = 0; j < k; ++j) {
    inputs.push_back(convert_literal(operands[j], node.types[j].dtype));
    inits.push_back(convert_literal(operands[k + j], node.types[j].dtype));
  }
  Windows windows(node.attrs.as<WindowAttrs>(), inputs[0].type().shape);
  std::optional<Op> op = single_op(*node.regions[0]);
  if (!op) return reduce_window_general(node, windows, inputs, inits);
  return dispatch(node.types[0].dtype, [&]<typename T>(Tag<T>) {
    return with_combiner(*op, [&](auto combine) -> Result<Literals> {
      return Literals{reduce_window_typed<T>(node.types[0], windows, inputs[0], inits[0], combine)};
    });
  });
}

// Each window selects one element of the operand (padding never); the source's
// element of that window is combined into the result there, source by source.
Result<Literals> evaluate_select_and_scatter(const Node& node, const Literals& operands) {
  const Literal &operand = operands[0], &source = operands[1];
  TUFF_ASSIGN(ScalarRegion select, ScalarRegion::compile(*node.regions[0]));
  TUFF_ASSIGN(ScalarRegion combine, ScalarRegion::compile(*node.regions[1]));
  const TensorType& type = node.types[0];
  int64_t bytes = dtype_size(type.dtype), element = 0;
  Literal init = convert_literal(operands[2], type.dtype);
  Literal values = convert_literal(source, type.dtype);
  Literal result(type);
  std::byte* out = result.mutable_bytes();
  for (int64_t i = 0; i < type.num_elements(); ++i)
    std::memcpy(out + i * bytes, init.bytes(), static_cast<size_t>(bytes));
  Windows windows(node.attrs.as<WindowAttrs>(), operand.type().shape);
  int64_t operand_bytes = dtype_size(operand.type().dtype);
  Status status;
  for (Counter counter(source.type().shape); counter.valid(); counter.next(), ++element) {
    int64_t selected = -1;
    windows.for_each(counter.index(), [&](int64_t at) {
      if (at < 0 || !status.ok()) return;
      bool keep = false;
      if (selected >= 0) {
        Cell pair[2] = {load_cell(operand.bytes() + selected * operand_bytes, operand_bytes),
                        load_cell(operand.bytes() + at * operand_bytes, operand_bytes)};
        status = select.run(pair, pair);
        keep = pair[0].bytes[0] != std::byte{0};
      }
      if (!keep) selected = at;
    });
    TUFF_RETURN_IF_ERROR(status);
    if (selected < 0) continue;
    Cell pair[2] = {load_cell(out + selected * bytes, bytes),
                    load_cell(values.bytes() + element * bytes, bytes)};
    TUFF_RETURN_IF_ERROR(combine.run(pair, pair));
    store_cell(pair[0], out + selected * bytes, bytes);
  }
  return Literals{std::move(result)};
}

}  // namespace tuff::eval
