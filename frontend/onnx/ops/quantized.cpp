// Quantised tensors: integers or small floats that stand for (value - zero) * scale.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/file/dtypes.h"
#include "frontend/onnx/ops/convolution.h"

namespace tuff::onnx {

namespace {

// Scales or zero points as they meet x: one number, one for each place of the axis, or one for
// each block of it.
Tensor spread_scale(const Tensor& scale, const Tensor& x, int64_t axis, int64_t block) {
  if (scale.num_elements() == 1 && block == 0) return scale.reshape({});
  axis = x.axis(axis);
  if (scale.rank() <= 1 && block == 0) {
    Shape shape(x.shape().size(), 1);
    shape[at(axis)] = scale.num_elements();
    return scale.reshape(std::move(shape));
  }
  if (scale.rank() != x.rank()) refuse_input("The scale has another rank than the input.");
  if (block <= 0) return scale;
  int64_t blocks = scale.dim(axis);
  Shape spread = scale.shape(), joined = scale.shape();
  spread.insert(spread.begin() + axis + 1, block);
  joined[at(axis)] = blocks * block;
  Ints dims = range(0, scale.rank() + 1);
  dims.erase(dims.begin() + axis + 1);
  return scale.broadcast(std::move(spread), std::move(dims))
      .reshape(std::move(joined))
      .slice(axis, 0, x.dim(axis));
}

double lowest_of(DType dtype, int bits) {
  return is_unsigned_int(dtype) ? 0 : -static_cast<double>(int64_t{1} << (bits - 1));
}
double largest_of(DType dtype, int bits) {
  return static_cast<double>((int64_t{1} << (is_unsigned_int(dtype) ? bits : bits - 1)) - 1);
}

Tensor dequantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType to) {
  DType exact = is_float(x.dtype()) ? DType::kF32 : DType::kI32;
  Tensor wide = x.convert(exact);
  if (zero) wide = wide - zero.convert(exact);
  return (wide.convert(DType::kF32) * scale.convert(DType::kF32)).convert(to);
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType to, int bits) {
  Tensor y = (x.wide() / scale.wide()).unary(Op::kRoundNearestEven);
  if (zero) y = y + zero.convert(DType::kF32);
  return y.max(lowest_of(to, bits)).min(largest_of(to, bits)).convert(to);
}

Tensor quantized_to_float(const Call& call, const Tensor& x, const Tensor& scale,
                          const Tensor& zero, DType to) {
  Tensor y = x / scale.wide();
  if (zero) y = y + zero.convert(DType::kF32);
  return call.flag("saturate", true) ? y.saturated(to) : y.convert(to);
}

// A zero point; none where it is known to be 0.
Tensor zero_point(const Tensor& zero) {
  if (!zero) return zero;
  Tensor known = zero.folded();
  std::optional<Literal> value = known.known();
  for (int64_t i = 0; value && i < value->num_elements(); ++i)
    if (value->get_double(i) != 0) return known;
  return value ? Tensor() : zero;
}

Items dequantize_linear(const Call& call) {
  Tensor x = call.need(0), scale = call.need(1), zero = zero_point(call.in(2));
  int64_t axis = x.rank() > 0 ? call.i("axis", 1) : 0, block = call.i("block_size", 0);
  if (x.rank() <= 1 && scale.num_elements() == 1) axis = 0;
  DType to = call.i("output_dtype", 0) ? dtype_of(call.i("output_dtype", 0)) : scale.dtype();
  Tensor s = spread_scale(scale, x, axis, block);
  Tensor z = zero ? spread_scale(zero, x, axis, block) : Tensor();
  Tensor y = dequantized(x, s, z, to);
  return {x.dtype() == DType::kI32 ? y.folded() : y};  // biases
}

Items quantize_linear(const Call& call) {
  Tensor x = call.need(0), scale = call.need(1), zero = call.in(2);
  int64_t axis = x.rank() > 0 ? call.i("axis", 1) : 0, block = call.i("block_size", 0);
  if (x.rank() <= 1 && scale.num_elements() == 1) axis = 0;
  DType to = zero ? zero.dtype() : DType::kU8;
  if (!zero && call.i("output_dtype", 0)) to = dtype_of(call.i("output_dtype", 0));
  if (!is_integer(to) && !is_small(to))
    refuse_input("Only integers and floats of 8 bits or fewer are quantised to.");
  Tensor s = spread_scale(scale, x, axis, block);
  if (is_small_float(to)) zero = zero_point(zero);
  Tensor z = zero ? spread_scale(zero, x, axis, block) : Tensor();
  x = x.convert(DType::kF32);
  return {is_small_float(to) ? quantized_to_float(call, x, s, z, to)
                             : quantized(x, s, z, to, dtype_bits(to))};
}

// Scale and zero point of the whole tensor's range, which has 0 in it.
Items dynamic_quantize_linear(const Call& call) {
  Tensor x = call.need(0);
  Ints all = range(0, x.rank());
  Tensor low = x.reduce(Op::kMinimum, all).min(0.0), high = x.reduce(Op::kMaximum, all).max(0.0);
  Tensor scale = (high - low) / 255.0;
  Tensor safe = equal(scale, scale.scalar(0)).select(scale.scalar(1), scale);
  Tensor zero = (-low / safe).unary(Op::kRoundNearestEven).max(0.0).min(255.0).convert(DType::kU8);
  return {quantized(x, safe, zero, DType::kU8, 8), scale, zero};
}

// Integers without their zero point; that of rows stands for each row.
Tensor centred(const Tensor& x, const Tensor& given_zero, int64_t axis) {
  Tensor wide = x.convert(DType::kI32), zero = zero_point(given_zero);
  if (!zero) return wide;
  Tensor z = zero.convert(DType::kI32);
  if (z.num_elements() == 1) return wide - z.reshape({});
  if (z.rank() > 1) return wide - z;
  Shape shape(x.shape().size(), 1);
  shape[at(x.axis(axis))] = z.num_elements();
  return wide - z.reshape(std::move(shape));
}

Items mat_mul_integer(const Call& call) {
  Tensor a = call.need(0), b = call.need(1);
  return {matmul(centred(a, call.in(2), a.rank() > 1 ? -2 : -1), centred(b, call.in(3), -1))};
}

Items conv_integer(const Call& call) {
  return {
      convolve(call, centred(call.need(0), call.in(2), 1), centred(call.need(1), call.in(3), 0))};
}

// sums * (a's scale * b's scale / y's scale), rounded and moved to y's zero point.
Tensor requantized(const Tensor& sums, const Tensor& factor, const Tensor& zero) {
  Tensor y = (sums.convert(DType::kF32) * factor).unary(Op::kRoundNearestEven);
  DType to = zero.dtype();
  y = y + zero.convert(DType::kF32).reshape({});
  return y.max(lowest_of(to, dtype_bits(to))).min(largest_of(to, dtype_bits(to))).convert(to);
}

Items q_linear_mat_mul(const Call& call) {
  Tensor a = call.need(0), b = call.need(3);
  auto scale = [&](size_t i, const Tensor& x, int64_t axis) {
    return spread_scale(call.need(i).wide(), x, axis, 0);
  };
  Tensor sums =
      matmul(centred(a, call.need(2), a.rank() > 1 ? -2 : -1), centred(b, call.need(5), -1));
  Tensor factor = scale(1, sums, sums.rank() > 1 ? -2 : -1) * scale(4, sums, -1) /
                  call.need(6).wide().reshape({});
  return {requantized(sums, factor, call.need(7))};
}

Items q_linear_conv(const Call& call) {
  Tensor x = call.need(0), w = call.need(3);
  Tensor sums = convolve(call, centred(x, call.need(2), 1), centred(w, call.need(5), 0));
  if (call.in(8)) sums = with_bias(sums, call.in(8));
  Tensor weight_scale = spread_scale(call.need(4).wide(), sums, 1, 0);
  Tensor factor = weight_scale * call.need(1).wide().reshape({}) / call.need(6).wide().reshape({});
  return {requantized(sums, factor, call.need(7))};
}

constexpr OpRow kQuantizedRows[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", mat_mul_integer},
    {"QLinearConv", q_linear_conv},
    {"QLinearMatMul", q_linear_mat_mul, "Integers."},
    {"QuantizeLinear", quantize_linear},
};

}  // namespace

std::span<const OpRow> quantized_ops() { return kQuantizedRows; }

}  // namespace tuff::onnx
