#include "ir/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tuff {

namespace {

constexpr int kFirst = static_cast<int>(DType::kF8E4M3FN);
// In the order of DType. f8E8M0FNU's row only stands for it in loops over all.
constexpr SmallFloat kFormats[] = {
    {8, 3, 7, 0x7e, 0, 0x7f, 0x7f, true},      // f8E4M3FN
    {8, 3, 8, 0x7f, 0, 0x80, 0x80, false},     // f8E4M3FNUZ
    {8, 2, 15, 0x7b, 0x7c, 0x7c, 0x7e, true},  // f8E5M2
    {8, 2, 16, 0x7f, 0, 0x80, 0x80, false},    // f8E5M2FNUZ
    {8, 0, 127, 0xfe, 0, 0xff, 0xff, false},   // f8E8M0FNU
    {4, 1, 1, 0x7, 0, 0x7, 0x8, true},         // f4E2M1FN
    {8, 3, 7, 0x77, 0x78, 0x78, 0x7c, true},   // f8E4M3
    {8, 4, 3, 0x6f, 0x70, 0x70, 0x78, true},   // f8E3M4
    {8, 3, 11, 0x7f, 0, 0x80, 0x80, false},    // f8E4M3B11FNUZ
};

// f8E8M0FNU: 2^-127 is code 0, and below it there is nothing to round to; ties go up.
uint8_t to_e8m0(double value) {
  if (!(value > 0) || std::isinf(value)) return 0xff;
  int exponent = std::ilogb(value);
  if (std::ldexp(value, -exponent) >= 1.5) ++exponent;
  return static_cast<uint8_t>(std::clamp(exponent, -127, 128) + 127);
}

}  // namespace

const SmallFloat& small_float(DType dtype) { return kFormats[static_cast<int>(dtype) - kFirst]; }

double largest_of_small(DType dtype) { return from_small(dtype, small_float(dtype).largest); }

double from_small(DType dtype, uint8_t byte) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::kF8E8M0FNU) return byte == 0xff ? kNan : std::ldexp(1.0, byte - 127);
  const SmallFloat& format = small_float(dtype);
  int magnitude = byte & (format.sign_bit() - 1);
  bool negative = byte & format.sign_bit();
  if (magnitude == 0 && negative && !format.has_minus_zero) return kNan;
  double sign = negative ? -1 : 1;
  if (magnitude > format.largest)
    return magnitude == format.infinity ? sign * std::numeric_limits<double>::infinity() : kNan;
  int exponent = magnitude >> format.mantissa_bits, one = 1 << format.mantissa_bits;
  int mantissa = (magnitude & (one - 1)) + (exponent > 0 ? one : 0);
  return sign * std::ldexp(mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

uint8_t to_small(DType dtype, double value) {
  if (dtype == DType::kF8E8M0FNU) return to_e8m0(value);
  const SmallFloat& format = small_float(dtype);
  uint8_t sign = std::signbit(value) ? format.sign_bit() : 0;
  if (std::isnan(value))
    return format.has_minus_zero ? static_cast<uint8_t>(format.nan ^ sign) : format.nan;
  double size = std::fabs(value);
  if (size == 0) return format.has_minus_zero ? sign : 0;
  if (std::isinf(size)) return format.overflow | sign;
  int exponent = std::max(std::ilogb(size), 1 - format.bias);
  // In units of the last place. A carry into the exponent is the next code, as it should be.
  double units = std::nearbyint(std::ldexp(size, format.mantissa_bits - exponent));
  double code = units + std::ldexp(exponent + format.bias - 1, format.mantissa_bits);
  if (code > format.largest) return format.overflow | sign;
  auto bits = static_cast<uint8_t>(code);
  return bits == 0 && !format.has_minus_zero ? 0 : bits | sign;
}

int64_t small_int(DType dtype, int64_t bits) {
  int width = dtype_bits(dtype);
  int64_t low = bits & ((int64_t{1} << width) - 1);
  bool negative = is_signed_int(dtype) && low >> (width - 1);
  return negative ? low - (int64_t{1} << width) : low;
}

namespace {

// A value of a graph with the arithmetic of bits. Numbers are constants of the other operand's
// type.
class Bits {
 public:
  Bits(Graph& graph, Value value, const std::string& loc)
      : graph_(&graph), value_(value), loc_(&loc) {}

  Value value() const { return value_; }
  const TensorType& type() const { return graph_->type(value_); }

  Bits make(Op op, const std::vector<Bits>& others, DType dtype, Attrs attrs = {}) const {
    std::vector<Value> operands{value_};
    for (const Bits& other : others) operands.push_back(other.value_);
    TensorType result{dtype, type().shape};
    return {*graph_,
            add_op(*graph_, op, std::move(operands), std::move(result), std::move(attrs), *loc_),
            *loc_};
  }
  Bits binary(Op op, const Bits& other) const { return make(op, {other}, type().dtype); }
  Bits unary(Op op) const { return make(op, {}, type().dtype); }
  Bits convert(DType dtype) const {
    return dtype == type().dtype ? *this : make(Op::kConvert, {}, dtype);
  }
  Bits bitcast(DType dtype) const { return make(Op::kBitcastConvert, {}, dtype); }
  Bits is(ComparisonDirection direction, const Bits& other) const {
    return make(Op::kCompare, {other}, DType::kBool,
                CompareAttrs{direction, compare_type_of(type().dtype)});
  }
  // This is the predicate.
  Bits select(const Bits& a, const Bits& b) const {
    return make(Op::kSelect, {a, b}, a.type().dtype);
  }
  // A number for each element.
  Bits same(double number, DType dtype) const { return of(Literal::scalar(dtype, number)); }
  Bits same(uint32_t bits) const {
    return of(Literal::from_ints(type().dtype, {}, {static_cast<int64_t>(bits)}));
  }

  Bits operator&(uint32_t bits) const { return binary(Op::kAnd, same(bits)); }
  Bits operator|(const Bits& other) const { return binary(Op::kOr, other); }
  Bits operator^(const Bits& other) const { return binary(Op::kXor, other); }
  Bits operator<<(uint32_t n) const { return binary(Op::kShiftLeft, same(n)); }
  Bits operator>>(uint32_t n) const { return binary(Op::kShiftRightLogical, same(n)); }
  Bits operator+(const Bits& other) const { return binary(Op::kAdd, other); }
  Bits operator+(uint32_t n) const { return *this + same(n); }
  Bits operator-(uint32_t n) const { return binary(Op::kSubtract, same(n)); }
  Bits operator==(uint32_t n) const { return is(ComparisonDirection::kEq, same(n)); }
  Bits operator<(uint32_t n) const { return is(ComparisonDirection::kLt, same(n)); }
  Bits operator>(uint32_t n) const { return is(ComparisonDirection::kGt, same(n)); }

 private:
  Bits of(Literal scalar) const {
    TensorType spread{scalar.type().dtype, type().shape};
    Value one = add_constant(*graph_, std::move(scalar), *loc_);
    if (!spread.shape.empty())
      one = add_op(*graph_, Op::kBroadcastInDim, {one}, std::move(spread), BroadcastInDimAttrs{},
                   *loc_);
    return {*graph_, one, *loc_};
  }

  Graph* graph_;
  Value value_;
  const std::string* loc_;
};

constexpr uint32_t kInfinity = 0x7f800000, kNan = 0x7fc00000;
constexpr uint32_t kF32Mantissa = 23, kF32Bias = 127;

// f64 as f32, rounded to odd: what is between two f32 becomes the one whose last bit is set, so
// that rounding to fewer bits afterwards is as one rounding.
Bits to_f32_odd(const Bits& x) {
  Bits nearest = x.convert(DType::kF32), back = nearest.convert(DType::kF64);
  Bits bits = nearest.bitcast(DType::kU32);
  Bits larger = back.unary(Op::kAbs).is(ComparisonDirection::kGt, x.unary(Op::kAbs));
  Bits odd = larger.select(bits - 1, bits + 1);
  Bits keeps = (bits & 1) == 1;
  // NaN is no less and no greater than itself: it is kept.
  Bits inexact = larger | back.unary(Op::kAbs).is(ComparisonDirection::kLt, x.unary(Op::kAbs));
  return inexact.select(keeps.select(bits, odd), bits).bitcast(DType::kF32);
}

// Powers of two from the bits of a f32.
Bits to_e8m0(const Bits& u) {
  // Below 2^-126 the only boundary is at 1.5 * 2^-127.
  Bits below = (u + 0x00200000) >> kF32Mantissa, above = (u + 0x00400000) >> kF32Mantissa;
  Bits code = (u < 0x00800000).select(below, above);
  Bits outside = (u == 0) | (u > kInfinity - 1);  // the sign's bit is greatest
  return outside.select(u.same(0xff), code);
}

}  // namespace

Value small_to_f32(Graph& graph, Value bytes, DType dtype, const std::string& loc) {
  Bits u = Bits(graph, bytes, loc).convert(DType::kU32);
  if (dtype == DType::kF8E8M0FNU) {
    Bits power = (u == 0).select(u.same(0x00400000), u << kF32Mantissa);
    return (u == 0xff).select(u.same(kNan), power).bitcast(DType::kF32).value();
  }
  const SmallFloat& format = small_float(dtype);
  auto mantissa = static_cast<uint32_t>(format.mantissa_bits);
  uint32_t sign_bit = format.sign_bit();
  Bits magnitude = u & (sign_bit - 1);
  Bits normal = (magnitude << (kF32Mantissa - mantissa)) +
                ((kF32Bias - static_cast<uint32_t>(format.bias)) << kF32Mantissa);
  Bits unit = magnitude.same(std::ldexp(1.0, 1 - format.bias - format.mantissa_bits), DType::kF32);
  Bits subnormal = magnitude.convert(DType::kF32).binary(Op::kMultiply, unit).bitcast(DType::kU32);
  Bits bits = (magnitude < uint32_t{1} << mantissa).select(subnormal, normal);
  if (format.largest + 1u < sign_bit) {
    bits = (magnitude > format.largest).select(u.same(kNan), bits);
    if (format.infinity) bits = (magnitude == format.infinity).select(u.same(kInfinity), bits);
  }
  bits = bits | ((u & sign_bit) << static_cast<uint32_t>(32 - format.bits));
  if (!format.has_minus_zero) bits = (u == sign_bit).select(u.same(kNan), bits);
  return bits.bitcast(DType::kF32).value();
}

Value float_to_small(Graph& graph, Value value, DType dtype, const std::string& loc) {
  Bits given(graph, value, loc);
  Bits x = given.type().dtype == DType::kF64 ? to_f32_odd(given) : given.convert(DType::kF32);
  Bits u = x.bitcast(DType::kU32);
  if (dtype == DType::kF8E8M0FNU) return to_e8m0(u).convert(DType::kU8).value();
  const SmallFloat& format = small_float(dtype);
  auto mantissa = static_cast<uint32_t>(format.mantissa_bits);
  uint32_t dropped = kF32Mantissa - mantissa, bias = static_cast<uint32_t>(format.bias);
  Bits magnitude = u & 0x7fffffff;
  // To nearest even: a carry runs into the exponent, which is the wanted result.
  Bits rounded = (magnitude + ((magnitude >> dropped) & 1)) + ((uint32_t{1} << (dropped - 1)) - 1);
  Bits normal = (rounded >> dropped) - ((kF32Bias - bias) << mantissa);
  // Below the least normal number: in units of the least one.
  uint32_t least_normal = (kF32Bias + 1 - bias) << kF32Mantissa;
  Bits unit = x.same(std::ldexp(1.0, format.bias - 1 + format.mantissa_bits), DType::kF32);
  Bits units = magnitude.binary(Op::kMinimum, magnitude.same(least_normal))
                   .bitcast(DType::kF32)
                   .binary(Op::kMultiply, unit)
                   .unary(Op::kRoundNearestEven)
                   .convert(DType::kU32);
  Bits code = (magnitude < least_normal).select(units, normal);
  code = (code > format.largest).select(u.same(format.overflow), code);
  code = (magnitude > kInfinity).select(u.same(format.nan), code);
  Bits sign = (u >> static_cast<uint32_t>(32 - format.bits)) & format.sign_bit();
  // Where there is no -0 its code is NaN's.
  Bits signed_code = code ^ sign;
  if (!format.has_minus_zero)
    signed_code = ((code & (format.sign_bit() - 1u)) == 0).select(code, signed_code);
  return signed_code.convert(DType::kU8).value();
}

Value clean_small(Graph& graph, Value bytes, DType dtype, const std::string& loc) {
  auto unknown = static_cast<uint32_t>(8 - dtype_bits(dtype));
  if (unknown == 0) return bytes;
  Bits x(graph, bytes, loc);
  if (!is_signed_int(dtype)) return (x & ((1u << dtype_bits(dtype)) - 1)).value();
  return (x << unknown).binary(Op::kShiftRightArithmetic, x.same(unknown)).value();
}

}  // namespace tuff
