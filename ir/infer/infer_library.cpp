// Normalisations, linear algebra, fft and random bits.
#include "ir/infer/infer_rules.h"
#include "ir/ops/fourier.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

// The operand is floating point with one scale, offset, mean ... per feature.
Result<TensorType> check_batch_norm(const Node& node, const Types& operands, size_t per_feature) {
  const TensorType& x = operands[0];
  int64_t feature = node.attrs.as<BatchNormAttrs>().feature_index;
  TUFF_RETURN_IF_ERROR(check_one_dimension("feature_index", feature, x.rank()));
  if (!is_float(x.dtype))
    return invalid("The operand must be floating point, found ({}).", print_type(x));
  TensorType one_each{x.dtype, {x.shape[static_cast<size_t>(feature)]}};
  for (size_t i = 1; i <= per_feature; ++i)
    TUFF_RETURN_IF_ERROR(check_same("A per-feature operand", one_each, operands[i]));
  return one_each;
}

Status check_matrix(const char* what, const TensorType& type) {
  if (type.rank() < 2 || !is_float(type.dtype) ||
      type.shape.back() != type.shape[type.shape.size() - 2])
    return invalid("{} must be square matrices of floating point, found ({}).", what,
                   print_type(type));
  return {};
}

Status check_fft(const Node& node, const FftForm& form, const Types& operands) {
  const char* type = word_of(node.attrs.as<FftAttrs>().fft_type);
  if (operands.size() != form.operands())
    return invalid("A transform of type ({}) takes ({}) operands, found ({}).", type,
                   form.operands(), operands.size());
  if (operands[0].dtype != DType::kF32 && operands[0].dtype != DType::kF64)
    return invalid("The operands must be f32 or f64, found ({}).", print_type(operands[0]));
  for (const TensorType& operand : operands)
    TUFF_RETURN_IF_ERROR(check_same("The imaginary part", operands[0], operand));
  auto dimensions = static_cast<int64_t>(form.length.size());
  if (dimensions < 1 || dimensions > 3 || dimensions > operands[0].rank())
    return invalid("The lengths must be those of the last 1 to 3 dimensions, found ({}).",
                   list_text(form.length));
  return check_range("fft_length", form.length, 0);
}

}  // namespace

Result<Types> batch_norm_inference(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_batch_norm(node, operands, 4));
  return Types{operands[0]};
}

Result<Types> batch_norm_training(const Node& node, const Types& operands) {
  TUFF_ASSIGN(TensorType one_each, check_batch_norm(node, operands, 2));
  return Types{operands[0], one_each, one_each};
}

Result<Types> batch_norm_grad(const Node& node, const Types& operands) {
  TUFF_ASSIGN(TensorType one_each, check_batch_norm(node, operands, 3));
  TUFF_RETURN_IF_ERROR(check_same("The output's gradient", operands[0], operands[4]));
  return Types{operands[0], one_each, one_each};
}

Result<Types> cholesky(const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_matrix("The operand", operands[0]));
  return Types{operands[0]};
}

Result<Types> triangular_solve(const Node& node, const Types& operands) {
  const TensorType &a = operands[0], &b = operands[1];
  TUFF_RETURN_IF_ERROR(check_matrix("The first operand", a));
  TensorType expected = b;
  if (b.rank() == a.rank()) {
    expected = {a.dtype, a.shape};
    expected.shape.end()[-1] = b.shape.end()[-1];
    expected.shape.end()[-2] = b.shape.end()[-2];
    (node.attrs.as<TriangularSolveAttrs>().left_side ? expected.shape.end()[-2]
                                                     : expected.shape.end()[-1]) = a.shape.back();
  }
  if (b.rank() != a.rank() || expected != b)
    return invalid("The second operand ({}) does not fit the matrices ({}).", print_type(b),
                   print_type(a));
  return Types{b};
}

Result<Types> fft(const Node& node, const Types& operands) {
  FftForm form = fft_form(node);
  TUFF_RETURN_IF_ERROR(check_fft(node, form, operands));
  TensorType result = operands[0];
  int64_t& last = result.shape.back();
  int64_t n = form.length.back();
  for (size_t i = 0; i < form.length.size(); ++i) {
    bool half = form.real_result && i + 1 == form.length.size();
    int64_t size = result.shape[result.shape.size() - form.length.size() + i];
    if (size != (half ? half_spectrum(n) : form.length[i]))
      return invalid("The operand ({}) does not have the lengths ({}).", print_type(operands[0]),
                     list_text(form.length));
  }
  if (form.real_input) last = half_spectrum(n);
  if (form.real_result) last = n;
  return Types(form.results(), result);
}

Result<Types> rng_bit_generator(const Node& node, const Types& operands) {
  if (node.types.size() != 2)
    return invalid("The operation needs (2) results, found ({}).", node.types.size());
  if (operands[0].rank() != 1 || !is_unsigned_int(operands[0].dtype))
    return invalid("The state must be a vector of unsigned integers, found ({}).",
                   print_type(operands[0]));
  return Types{operands[0], node.types[1]};
}

}  // namespace tuff::infer
