// sort with any comparator over any number of inputs, and top_k. Both are stable.
#include <algorithm>
#include <numeric>

#include "ir/evaluate/ops.h"
#include "ir/evaluate/region.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

// The rows of a tensor along one dimension: first element and step.
struct Rows {
  Shape outer;  // the shape with the dimension's size set to 1
  std::vector<int64_t> strides;
  int64_t length, step;

  Rows(const Shape& shape, size_t dim)
      : outer(shape), strides(row_major_strides(shape)), length(shape[dim]), step(strides[dim]) {
    outer[dim] = length == 0 ? 0 : 1;
  }
};

// Calls the comparator region on elements of one row; the first error sticks and
// later comparisons answer false.
class Less {
 public:
  Less(ScalarRegion& region, const Literals& inputs) : region_(region), cells_(2 * inputs.size()) {
    for (const Literal& input : inputs) {
      data_.push_back(input.bytes());
      bytes_.push_back(dtype_size(input.type().dtype));
    }
  }

  bool operator()(int64_t a, int64_t b) {
    if (!status_.ok()) return false;
    for (size_t j = 0; j < data_.size(); ++j) {
      cells_[2 * j] = load_cell(data_[j] + a * bytes_[j], bytes_[j]);
      cells_[2 * j + 1] = load_cell(data_[j] + b * bytes_[j], bytes_[j]);
    }
    status_ = region_.run(cells_.data(), cells_.data());
    return cells_[0].bytes[0] != std::byte{0};
  }

  Status take_status() { return std::move(status_); }

 private:
  ScalarRegion& region_;
  std::vector<const std::byte*> data_;
  std::vector<int64_t> bytes_;
  std::vector<Cell> cells_;
  Status status_;
};

}  // namespace

Result<Literals> evaluate_sort(const Node& node, const Literals& operands) {
  const Shape& shape = operands[0].type().shape;
  int64_t dimension = node.attrs.as<SortAttrs>().dimension;
  if (dimension < 0) dimension += static_cast<int64_t>(shape.size());
  if (shape.empty()) return operands;
  TUFF_ASSIGN(ScalarRegion comparator, ScalarRegion::compile(*node.regions[0]));
  Rows rows(shape, static_cast<size_t>(dimension));
  Literals results;
  for (const TensorType& type : node.types) results.emplace_back(type);
  Less less(comparator, operands);
  std::vector<int64_t> order(static_cast<size_t>(rows.length));
  for (Counter row(rows.outer); row.valid(); row.next()) {
    int64_t first = dot_offset(row.index(), rows.strides);
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = first + static_cast<int64_t>(i) * rows.step;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(a, b); });
    for (size_t j = 0; j < results.size(); ++j) {
      int64_t bytes = dtype_size(node.types[j].dtype);
      std::byte* out = results[j].mutable_bytes();
      for (size_t i = 0; i < order.size(); ++i)
        std::memcpy(out + (first + static_cast<int64_t>(i) * rows.step) * bytes,
                    operands[j].bytes() + order[i] * bytes, static_cast<size_t>(bytes));
    }
  }
  TUFF_RETURN_IF_ERROR(less.take_status());
  return results;
}

// CHLO, top_k: the k largest along the last dimension, descending, and their
// indices; equal elements keep their order, floats compare by total order.
Result<Literals> evaluate_top_k(const Node& node, const Literals& operands) {
  const Literal& operand = operands[0];
  const Shape& shape = operand.type().shape;
  int64_t k = node.attrs.as<TopKAttrs>().k, length = shape.back(),
          bytes = dtype_size(operand.type().dtype);
  ElementwiseFunction greater =
      compare_function(ComparisonDirection::kGt, true, operand.type().dtype);
  auto before = [&](int64_t a, int64_t b) {
    Boolean answer{0};
    ElementwiseCall call;
    call.operands[0] = operand.bytes() + a * bytes;
    call.operands[1] = operand.bytes() + b * bytes;
    call.result = reinterpret_cast<std::byte*>(&answer);
    call.count = 1;
    greater(call);
    return answer.byte != 0;
  };
  Literal values(node.types[0]), indices(node.types[1]);
  std::vector<int64_t> order(static_cast<size_t>(length));
  int64_t rows = length == 0 ? 0 : operand.num_elements() / length;
  for (int64_t row = 0; row < rows; ++row) {
    std::iota(order.begin(), order.end(), row * length);
    std::stable_sort(order.begin(), order.end(), before);
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(values.mutable_bytes() + (row * k + i) * bytes,
                  operand.bytes() + order[static_cast<size_t>(i)] * bytes,
                  static_cast<size_t>(bytes));
      indices.set_int(row * k + i, order[static_cast<size_t>(i)] - row * length);
    }
  }
  return Literals{std::move(values), std::move(indices)};
}

}  // namespace tuff::eval
