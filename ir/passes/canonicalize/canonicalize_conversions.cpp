// Converts that lose nothing, and elementwise work on splats.
#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

// Significand bits and range grow (or stay) from one float type to the other.
bool widens_float(DType from, DType to) {
  return (to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16)) || to == DType::kF64;
}

// Every value of `from` is a value of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (is_float(from)) return is_float(to) && widens_float(from, to);
  int64_t old_size = dtype_size(from), new_size = dtype_size(to);
  if (is_float(to)) return to == DType::kF64 ? old_size <= 4 : to == DType::kF32 && old_size <= 2;
  if (is_signed_int(from)) return is_signed_int(to) && new_size >= old_size;
  return is_unsigned_int(to) ? new_size >= old_size : is_signed_int(to) && new_size > old_size;
}

std::optional<Value> convert_chain(const RewriteSite& site) {
  const TensorType& from = site.operand_type(0);
  if (from.dtype == site.node.types[0].dtype) return site.node.operands[0];
  if (site.operand(0).op != Op::kConvert) return std::nullopt;
  Value origin = site.operand(0).operands[0];
  DType first = site.out.type(origin).dtype, middle = from.dtype;
  DType last = site.node.types[0].dtype;
  if (!is_lossless(first, middle)) return std::nullopt;
  // Float to integer saturates, integer to integer wraps.
  if (is_integer(first) && is_float(middle) && is_integer(last) && !is_lossless(first, last))
    return std::nullopt;
  if (first == last) return origin;
  return site.add(Op::kConvert, {origin}, site.node.types[0]);
}

constexpr Rule kConversionRules[] = {{Op::kConvert, convert_chain}};

// A scalar under the operand, if all its elements are that scalar.
std::optional<Value> scalar_under(const RewriteSite& site, Value v) {
  const TensorType& type = site.out.type(v);
  const Node& node = site.out.node(v);
  if (node.op == Op::kBroadcastInDim && site.out.type(node.operands[0]).rank() == 0)
    return node.operands[0];
  if (type.rank() == 0) return v;
  return std::nullopt;
}

// f(splat a, splat b) = splat f(a, b): one element is computed instead of all.
Values hoist_from_splats(const RewriteSite& site) {
  if (!is_elementwise(site.node.op) || site.node.types[0].rank() == 0) return std::nullopt;
  std::vector<Value> scalars;
  for (Value v : site.node.operands) {
    std::optional<Value> scalar = scalar_under(site, v);
    if (!scalar) return std::nullopt;
    scalars.push_back(*scalar);
  }
  const TensorType& type = site.node.types[0];
  Value scalar = site.add(site.node.op, std::move(scalars), {type.dtype, {}}, site.node.attrs);
  return one(add_broadcast(site, scalar, type.shape, {}));
}

}  // namespace

Values conversions(const RewriteSite& site) {
  if (Values values = first_that_applies(kConversionRules, site)) return values;
  return hoist_from_splats(site);
}

}  // namespace tuff::canonical
