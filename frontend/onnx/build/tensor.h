// Tensor: a value of a graph under construction, with arithmetic that reads as the formula it
// adds. Binary operations broadcast as NumPy does; numbers take the other operand's type.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/onnx/build/emitter.h"

namespace tuff::onnx {

class Tensor {
 public:
  Tensor() = default;  // none: an input that is left out
  Tensor(Emitter& emitter, Value value) : emitter_(&emitter), value_(value) {}
  explicit operator bool() const { return emitter_ != nullptr; }

  Value value() const { return value_; }
  Emitter& emitter() const { return *emitter_; }
  const TensorType& type() const { return emitter_->type(value_); }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return type().rank(); }
  int64_t num_elements() const { return type().num_elements(); }
  // Negative dimensions count from the end. Refuses those that are not there.
  int64_t dim(int64_t d) const { return shape()[static_cast<size_t>(axis(d))]; }
  int64_t axis(int64_t d) const;
  Ints axes(Ints list) const;  // each as axis(), ascending
  std::optional<Literal> known() const { return emitter_->known(value_); }

  // A constant instead of what follows from the model's own weights.
  Tensor folded() const;

  // Constants of this element type: a scalar, and one of this shape.
  Tensor scalar(double constant) const;
  Tensor like(double constant) const;
  Tensor constant(Literal literal) const {
    return {*emitter_, emitter_->constant(std::move(literal))};
  }
  Tensor ints(const Ints& values, DType dtype = DType::kI64) const;
  // 0, 1, 2 ... along a dimension of a shape.
  Tensor iota(Shape shape, int64_t dim, DType dtype = DType::kI64) const;

  Tensor add(Op op, std::vector<Tensor> others, TensorType type = {}, Attrs attrs = {}) const;
  Tensor unary(Op op) const { return add(op, {}, type()); }
  Tensor binary(Op op, const Tensor& other) const;
  Tensor compare(ComparisonDirection direction, const Tensor& other) const;
  // This is the predicate.
  Tensor select(const Tensor& on_true, const Tensor& on_false) const;
  Tensor convert(DType dtype) const;
  Tensor bitcast(DType dtype) const;
  // As a small float; what is beyond its largest number, infinity too, is that number.
  Tensor saturated(DType dtype) const;
  // f32 of 16-bit floats and of integers; else itself: what formulas are computed in.
  Tensor wide() const;

  Tensor abs() const { return unary(Op::kAbs); }
  Tensor exp() const { return unary(Op::kExponential); }
  Tensor log() const { return unary(Op::kLog); }
  Tensor log1p() const { return unary(Op::kLogPlusOne); }
  Tensor sqrt() const { return unary(Op::kSqrt); }
  Tensor rsqrt() const { return unary(Op::kRsqrt); }
  Tensor floor() const { return unary(Op::kFloor); }
  Tensor sigmoid() const { return unary(Op::kLogistic); }
  Tensor tanh() const { return unary(Op::kTanh); }
  Tensor max(const Tensor& other) const { return binary(Op::kMaximum, other); }
  Tensor min(const Tensor& other) const { return binary(Op::kMinimum, other); }
  Tensor max(double other) const { return max(scalar(other)); }
  Tensor min(double other) const { return min(scalar(other)); }
  Tensor operator-() const { return unary(Op::kNegate); }

  Tensor reshape(Shape shape) const;
  Tensor transpose(Ints permutation) const;
  // The last two dimensions.
  Tensor transposed() const;
  Tensor unsqueeze(Ints dims) const;  // of the result
  Tensor squeeze(Ints dims) const;
  // Dimension i becomes dims[i] of the shape.
  Tensor broadcast(Shape shape, Ints dims) const;
  // As NumPy does; refuses shapes that do not fit.
  Tensor broadcast_to(const Shape& shape) const;
  // One dimension from `start` to before `limit`.
  Tensor slice(int64_t dim, int64_t start, int64_t limit, int64_t stride = 1) const;
  Tensor reverse(Ints dims) const;
  Tensor pad(Ints low, Ints high, const Tensor& value, Ints interior = {}) const;
  Tensor pad(Ints low, Ints high, double value = 0) const { return pad(low, high, scalar(value)); }

  // Over dimensions; with `keep` they stay as 1. add, multiply, maximum, minimum, and, or.
  Tensor reduce(Op op, Ints dims, bool keep = false) const;
  Tensor sum(Ints dims, bool keep = false) const { return reduce(Op::kAdd, std::move(dims), keep); }
  Tensor mean(Ints dims, bool keep = false) const;
  Tensor reduce_window(Op op, WindowAttrs window) const;
  // Rows of dimension `dim`, by indices that are in range: the dimension becomes the indices' own.
  Tensor take(const Tensor& indices, int64_t dim) const;
  // Of all dimensions but `dim`, the element that the indices say: as GatherElements.
  Tensor take_along(const Tensor& indices, int64_t dim) const;

 private:
  Emitter* emitter_ = nullptr;
  Value value_;
};

inline Tensor operator+(const Tensor& a, const Tensor& b) { return a.binary(Op::kAdd, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return a.binary(Op::kSubtract, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return a.binary(Op::kMultiply, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return a.binary(Op::kDivide, b); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return a.binary(Op::kAnd, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return a.binary(Op::kOr, b); }
inline Tensor operator+(const Tensor& a, double b) { return a + a.scalar(b); }
inline Tensor operator-(const Tensor& a, double b) { return a - a.scalar(b); }
inline Tensor operator*(const Tensor& a, double b) { return a * a.scalar(b); }
inline Tensor operator/(const Tensor& a, double b) { return a / a.scalar(b); }
inline Tensor operator+(double a, const Tensor& b) { return b.scalar(a) + b; }
inline Tensor operator-(double a, const Tensor& b) { return b.scalar(a) - b; }
inline Tensor operator*(double a, const Tensor& b) { return b.scalar(a) * b; }
inline Tensor operator/(double a, const Tensor& b) { return b.scalar(a) / b; }
inline Tensor operator<(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kLt, b);
}
inline Tensor operator<=(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kLe, b);
}
inline Tensor operator>(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kGt, b);
}
inline Tensor operator>=(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kGe, b);
}
inline Tensor operator<(const Tensor& a, double b) { return a < a.scalar(b); }
inline Tensor operator<=(const Tensor& a, double b) { return a <= a.scalar(b); }
inline Tensor operator>(const Tensor& a, double b) { return a > a.scalar(b); }
inline Tensor operator>=(const Tensor& a, double b) { return a >= a.scalar(b); }
inline Tensor equal(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kEq, b);
}
inline Tensor not_equal(const Tensor& a, const Tensor& b) {
  return a.compare(ComparisonDirection::kNe, b);
}
Tensor concatenate(const std::vector<Tensor>& parts, int64_t dim);
// The matrix product of the last two dimensions, with NumPy's broadcasting of those before.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b, DotGeneralAttrs attrs);

// The shape that both broadcast to; refuses those that do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);
Ints range(int64_t from, int64_t to);
inline size_t at(int64_t i) { return static_cast<size_t>(i); }
// "2x3", for messages.
std::string words(const Shape& shape);
std::string words(const TensorType& type);

// A region over scalars or tensors: parameters of the types, made by `body`.
GraphPtr make_region(const std::vector<TensorType>& parameters, const std::string& loc,
                     const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body);
// What reduce and its kin take: one operation of two scalars.
GraphPtr scalar_region(Op op, DType dtype);
// The value that changes nothing under the operation.
double neutral(Op op);
Literal neutral_literal(Op op, DType dtype);

}  // namespace tuff::onnx
