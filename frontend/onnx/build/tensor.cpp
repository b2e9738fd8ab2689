#include "frontend/onnx/build/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/onnx/build/layout.h"
#include "ir/small_float.h"

namespace tuff::onnx {

namespace {

std::vector<Value> values_of(const Tensor& first, const std::vector<Tensor>& others) {
  std::vector<Value> values{first.value()};
  for (const Tensor& t : others) values.push_back(t.value());
  return values;
}

}  // namespace

std::string words(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }
std::string words(const TensorType& type) { return type.to_string(); }

Ints range(int64_t from, int64_t to) {
  Ints list(at(std::max<int64_t>(to - from, 0)));
  std::iota(list.begin(), list.end(), from);
  return list;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    size_t from_end = shape.size() - i;
    int64_t x = from_end <= a.size() ? a[a.size() - from_end] : 1;
    int64_t y = from_end <= b.size() ? b[b.size() - from_end] : 1;
    if (x != y && x != 1 && y != 1)
      refuse_input(
          fmt::format("The shapes ({}) and ({}) do not fit each other.", words(a), words(b)));
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

int64_t Tensor::axis(int64_t d) const {
  int64_t found = d < 0 ? d + rank() : d;
  if (found < 0 || found >= rank())
    refuse_input(fmt::format("A tensor ({}) has no dimension ({}).", words(type()), d));
  return found;
}

Ints Tensor::axes(Ints list) const {
  for (int64_t& d : list) d = axis(d);
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    refuse_input("A dimension is named twice.");
  return list;
}

Tensor Tensor::folded() const {
  std::optional<Literal> value = known();
  return value ? constant(std::move(*value)) : *this;
}

Tensor Tensor::scalar(double constant) const {
  return {*emitter_, emitter_->scalar(dtype(), constant)};
}

Tensor Tensor::like(double constant) const { return scalar(constant).broadcast_to(shape()); }

Tensor Tensor::ints(const Ints& values, DType dtype) const {
  return constant(Literal::from_ints(dtype, {static_cast<int64_t>(values.size())}, values));
}

Tensor Tensor::iota(Shape shape, int64_t dim, DType dtype) const {
  return {*emitter_, emitter_->add(Op::kIota, {}, {{dtype, std::move(shape)}}, IotaAttrs{dim})[0]};
}

Tensor Tensor::add(Op op, std::vector<Tensor> others, TensorType type, Attrs attrs) const {
  if (rank() >= 4) {
    std::vector<Tensor> operands{*this};
    operands.insert(operands.end(), others.begin(), others.end());
    if (auto moved = before_transpose(op, operands, type, attrs)) return *moved;
  }
  return {*emitter_,
          emitter_->add(op, values_of(*this, others), {std::move(type)}, std::move(attrs))[0]};
}

Tensor Tensor::binary(Op op, const Tensor& other) const {
  if (dtype() != other.dtype())
    refuse_input(fmt::format("The element types of ({}) and ({}) differ.", words(type()),
                             words(other.type())));
  Shape common = broadcast_shapes(shape(), other.shape());
  return broadcast_to(common).add(op, {other.broadcast_to(common)}, {dtype(), common});
}

Tensor Tensor::compare(ComparisonDirection direction, const Tensor& other) const {
  if (dtype() != other.dtype())
    refuse_input(fmt::format("The element types of ({}) and ({}) differ.", words(type()),
                             words(other.type())));
  Shape common = broadcast_shapes(shape(), other.shape());
  return broadcast_to(common).add(Op::kCompare, {other.broadcast_to(common)},
                                  {DType::kBool, common},
                                  CompareAttrs{direction, compare_type_of(dtype())});
}

Tensor Tensor::select(const Tensor& on_true, const Tensor& on_false) const {
  if (on_true.dtype() != on_false.dtype())
    refuse_input(fmt::format("The element types of ({}) and ({}) differ.", words(on_true.type()),
                             words(on_false.type())));
  Shape common = broadcast_shapes(shape(), broadcast_shapes(on_true.shape(), on_false.shape()));
  return broadcast_to(common).add(Op::kSelect,
                                  {on_true.broadcast_to(common), on_false.broadcast_to(common)},
                                  {on_true.dtype(), common});
}

Tensor Tensor::convert(DType to) const {
  return to == dtype() ? *this : add(Op::kConvert, {}, {to, shape()});
}

Tensor Tensor::bitcast(DType to) const {
  return to == dtype() ? *this : add(Op::kBitcastConvert, {}, {to, shape()});
}

Tensor Tensor::saturated(DType to) const {
  Tensor x = is_float(dtype()) && !is_small(dtype()) ? *this : convert(DType::kF32);
  double largest = largest_of_small(to);
  return x.max(-largest).min(largest).convert(to);
}

Tensor Tensor::wide() const {
  return dtype() == DType::kF64 || dtype() == DType::kF32 ? *this : convert(DType::kF32);
}

Tensor Tensor::reshape(Shape to) const {
  if (to == shape()) return *this;
  if (std::optional<Tensor> last = reshape_before_transpose(*this, to)) return *last;
  return add(Op::kReshape, {}, {dtype(), std::move(to)});
}

Tensor Tensor::transpose(Ints permutation) const {
  bool fits = static_cast<int64_t>(permutation.size()) == rank();
  const Node& node = emitter_->graph().node(value_);
  if (fits && node.op == Op::kTranspose) {  // one transpose for two
    const Ints& first = node.attrs.as<TransposeAttrs>().permutation;
    for (int64_t& d : permutation) d = first[at(d)];
    return Tensor(*emitter_, node.operands[0]).transpose(std::move(permutation));
  }
  if (fits && std::is_sorted(permutation.begin(), permutation.end())) return *this;
  // Where only dimensions of 1 move, elements stay where they are.
  Ints others;
  Shape to;
  for (int64_t d : permutation) {
    if (!fits || d < 0 || d >= rank()) break;
    to.push_back(dim(d));
    if (dim(d) != 1) others.push_back(d);
  }
  if (fits && static_cast<int64_t>(to.size()) == rank() &&
      std::is_sorted(others.begin(), others.end()))
    return reshape(std::move(to));
  return {*emitter_, emitter_->add(Op::kTranspose, {value_}, {type()},
                                   TransposeAttrs{std::move(permutation)})[0]};
}

Tensor Tensor::transposed() const {
  Ints permutation = range(0, rank());
  std::swap(permutation[at(rank() - 1)], permutation[at(rank() - 2)]);
  return transpose(std::move(permutation));
}

Tensor Tensor::unsqueeze(Ints dims) const {
  int64_t to_rank = rank() + static_cast<int64_t>(dims.size());
  for (int64_t& d : dims) d = d < 0 ? d + to_rank : d;
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end() ||
      (!dims.empty() && (dims[0] < 0 || dims.back() >= to_rank)))
    refuse_input(fmt::format("Dimensions ({}) are none of a result of rank ({}).",
                             fmt::join(dims, ", "), to_rank));
  Shape to = shape();
  for (int64_t d : dims) to.insert(to.begin() + d, 1);
  return reshape(std::move(to));
}

Tensor Tensor::squeeze(Ints dims) const {
  dims = axes(std::move(dims));
  Shape to;
  for (int64_t d = 0; d < rank(); ++d) {
    bool goes = std::binary_search(dims.begin(), dims.end(), d);
    if (goes && dim(d) != 1)
      refuse_input(fmt::format("Dimension ({}) of ({}) is not 1.", d, words(type())));
    if (!goes) to.push_back(dim(d));
  }
  return reshape(std::move(to));
}

Tensor Tensor::broadcast(Shape to, Ints dims) const {
  if (to == shape() && dims == range(0, rank())) return *this;
  return add(Op::kBroadcastInDim, {}, {dtype(), std::move(to)},
             BroadcastInDimAttrs{std::move(dims)});
}

Tensor Tensor::broadcast_to(const Shape& to) const {
  if (to == shape()) return *this;
  if (broadcast_shapes(shape(), to) != to)
    refuse_input(fmt::format("A tensor ({}) does not broadcast to the shape ({}).", words(type()),
                             words(to)));
  auto to_rank = static_cast<int64_t>(to.size());
  return broadcast(to, range(to_rank - rank(), to_rank));
}

Tensor Tensor::slice(int64_t d, int64_t start, int64_t limit, int64_t stride) const {
  d = axis(d);
  if (start == 0 && limit == dim(d) && stride == 1) return *this;
  SliceAttrs attrs{Ints(shape().size(), 0), shape(), Ints(shape().size(), 1)};
  attrs.start_indices[at(d)] = start;
  attrs.limit_indices[at(d)] = std::max(start, limit);
  attrs.strides[at(d)] = stride;
  return add(Op::kSlice, {}, type(), std::move(attrs));
}

Tensor Tensor::reverse(Ints dims) const {
  return dims.empty() ? *this : add(Op::kReverse, {}, type(), DimensionsAttrs{std::move(dims)});
}

Tensor Tensor::pad(Ints low, Ints high, const Tensor& value, Ints interior) const {
  auto zero = [](const Ints& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t i) { return i == 0; });
  };
  if (zero(low) && zero(high) && zero(interior)) return *this;
  return add(Op::kPad, {value}, type(),
             PadAttrs{std::move(low), std::move(high), std::move(interior)});
}

double neutral(Op op) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (op) {
    case Op::kMultiply:
    case Op::kAnd: return 1;
    case Op::kMaximum: return -kInf;
    case Op::kMinimum: return kInf;
    default: return 0;
  }
}

Literal neutral_literal(Op op, DType dtype) {
  Literal literal(TensorType{dtype, {}});
  bool extreme = op == Op::kMaximum || op == Op::kMinimum;
  if (is_float(dtype) || !extreme) return Literal::scalar(dtype, neutral(op));
  int64_t bits = dtype_bits(dtype);
  if (dtype == DType::kBool) {
    literal.set_int(0, op == Op::kMinimum);
  } else if (is_unsigned_int(dtype)) {
    literal.set_int(0, op == Op::kMinimum ? -1 : 0);
  } else {
    int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - bits);
    literal.set_int(0, op == Op::kMinimum ? ~lowest : lowest);
  }
  return literal;
}

GraphPtr make_region(const std::vector<TensorType>& parameters, const std::string& loc,
                     const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  Graph graph;
  Emitter emitter(graph);
  emitter.set_location(loc);
  std::vector<Tensor> arguments;
  for (const TensorType& type : parameters)
    arguments.emplace_back(emitter, graph.add_parameter(type, {}, loc));
  std::vector<Value> outputs;
  for (const Tensor& t : body(arguments)) outputs.push_back(t.value());
  graph.set_outputs(std::move(outputs));
  return std::make_shared<const Graph>(std::move(graph));
}

GraphPtr scalar_region(Op op, DType dtype) {
  return make_region({{dtype, {}}, {dtype, {}}}, {}, [op](const std::vector<Tensor>& p) {
    return std::vector<Tensor>{p[0].binary(op, p[1])};
  });
}

Tensor Tensor::reduce(Op op, Ints dims, bool keep) const {
  dims = axes(std::move(dims));
  if (dims.empty()) return *this;
  if (auto moved = reduce_before_transpose(*this, op, dims, keep)) return *moved;
  Shape kept = shape();
  for (int64_t d : dims) kept[at(d)] = 1;
  Value start = emitter_->constant(neutral_literal(op, dtype()));
  Tensor result(*emitter_,
                emitter_->add(Op::kReduce, {value_, start}, {{dtype(), {}}},
                              DimensionsAttrs{std::move(dims)}, {scalar_region(op, dtype())})[0]);
  return keep ? result.reshape(std::move(kept)) : result;
}

Tensor Tensor::mean(Ints dims, bool keep) const {
  dims = axes(std::move(dims));
  int64_t count = 1;
  for (int64_t d : dims) count *= dim(d);
  return sum(std::move(dims), keep) / static_cast<double>(count);
}

Tensor Tensor::reduce_window(Op op, WindowAttrs window) const {
  if (auto moved = windows_before_transpose(*this, op, window)) return *moved;
  Value start = emitter_->constant(neutral_literal(op, dtype()));
  return {*emitter_, emitter_->add(Op::kReduceWindow, {value_, start}, {{dtype(), {}}},
                                   std::move(window), {scalar_region(op, dtype())})[0]};
}

Tensor Tensor::take(const Tensor& indices, int64_t d) const {
  d = axis(d);
  int64_t index_rank = indices.rank();
  GatherAttrs attrs;
  for (int64_t i = 0; i < rank(); ++i) {
    if (i < d) attrs.offset_dims.push_back(i);
    if (i > d) attrs.offset_dims.push_back(i + index_rank - 1);
  }
  attrs.collapsed_slice_dims = {d};
  attrs.start_index_map = {d};
  attrs.index_vector_dim = index_rank;
  attrs.slice_sizes = shape();
  attrs.slice_sizes[at(d)] = 1;
  if (dim(d) == 0) refuse_input("There is nothing to take from an empty dimension.");
  return add(Op::kGather, {indices}, type(), std::move(attrs));
}

// All other dimensions are batches of a gather along one; where the indices' are shorter, the
// operand's are cut off.
Tensor Tensor::take_along(const Tensor& indices, int64_t d) const {
  d = axis(d);
  if (indices.rank() != rank()) refuse_input("The indices have another rank than the data.");
  Tensor from = *this;
  GatherAttrs attrs;
  for (int64_t i = 0; i < rank(); ++i) {
    if (i == d) continue;
    if (indices.dim(i) > dim(i)) refuse_input("The indices are longer than the data.");
    from = from.slice(i, 0, indices.dim(i));
    attrs.operand_batching_dims.push_back(i);
    attrs.start_indices_batching_dims.push_back(i);
  }
  attrs.collapsed_slice_dims = {d};
  attrs.start_index_map = {d};
  attrs.index_vector_dim = rank();
  attrs.slice_sizes = Ints(shape().size(), 1);
  if (indices.num_elements() == 0) return from.like(0).slice(d, 0, 0).broadcast_to(indices.shape());
  return from.add(Op::kGather, {indices}, from.type(), std::move(attrs));
}

Tensor concatenate(const std::vector<Tensor>& parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  std::vector<Tensor> others(parts.begin() + 1, parts.end());
  return parts[0].add(Op::kConcatenate, std::move(others), parts[0].type(),
                      ConcatenateAttrs{parts[0].axis(dim)});
}

Tensor dot(const Tensor& a, const Tensor& b, DotGeneralAttrs attrs) {
  return a.add(Op::kDotGeneral, {b}, {a.dtype(), {}}, std::move(attrs));
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) refuse_input("A matrix product has no scalar operand.");
  if (a.rank() == 1) {
    Tensor product = matmul(a.unsqueeze({0}), b);
    return product.squeeze({b.rank() == 1 ? -1 : -2});
  }
  if (b.rank() == 1) return matmul(a, b.unsqueeze({1})).squeeze({-1});
  if (a.dim(-1) != b.dim(-2))
    refuse_input(
        fmt::format("Matrices ({}) and ({}) have no product.", words(a.type()), words(b.type())));
  Shape batch_a(a.shape().begin(), a.shape().end() - 2),
      batch_b(b.shape().begin(), b.shape().end() - 2);
  if (batch_b.empty() || num_elements(batch_b) == 1) {
    // One matrix for all rows.
    Tensor matrix = b.reshape({b.dim(-2), b.dim(-1)});
    Tensor product = dot(a, matrix, {{}, {}, {a.rank() - 1}, {0}, {}});
    Shape batch = broadcast_shapes(batch_a, batch_b);
    batch.insert(batch.end(), {a.dim(-2), b.dim(-1)});
    return product.reshape(std::move(batch));
  }
  Shape batch = broadcast_shapes(batch_a, batch_b);
  auto whole = [&](const Tensor& t) {
    Shape shape = batch;
    shape.insert(shape.end(), {t.dim(-2), t.dim(-1)});
    return t.broadcast_to(shape);
  };
  Ints batches = range(0, static_cast<int64_t>(batch.size()));
  auto rank = static_cast<int64_t>(batch.size());
  return dot(whole(a), whole(b), {batches, batches, {rank + 1}, {rank}, {}});
}

}  // namespace tuff::onnx
