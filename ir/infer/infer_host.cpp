// What functions of the host take and give.
#include <algorithm>
#include <iterator>

#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

// Matrices, one after another: [batch.., m, n], or [batch.., m, n, 2] of complex numbers.
struct Matrices {
  DType dtype = DType::kF32;
  bool complex = false;
  Shape batch;
  int64_t m = 0, n = 0;

  int64_t least() const { return std::min(m, n); }
  // With these sizes behind the batch.
  TensorType of(DType element, bool has_parts, std::initializer_list<int64_t> sizes) const {
    TensorType type{element, batch};
    type.shape.insert(type.shape.end(), sizes);
    if (has_parts) type.shape.push_back(2);
    return type;
  }
  TensorType matrix(int64_t rows, int64_t columns) const {
    return of(dtype, complex, {rows, columns});
  }
  TensorType complex_matrix(int64_t rows, int64_t columns) const {
    return of(dtype, true, {rows, columns});
  }
  TensorType vector(int64_t size) const { return of(dtype, complex, {size}); }
  TensorType real_vector(int64_t size) const { return of(dtype, false, {size}); }
  TensorType int_vector(int64_t size) const { return of(DType::kI32, false, {size}); }
};

Result<Matrices> matrices_of(const TensorType& type, bool complex) {
  Shape shape = type.shape;
  bool fits = type.dtype == DType::kF32 || type.dtype == DType::kF64;
  if (complex && fits) {
    fits = !shape.empty() && shape.back() == 2;
    if (fits) shape.pop_back();
  }
  if (!fits || shape.size() < 2)
    return invalid("The operand must be {}matrices of f32 or f64, found ({}).",
                   complex ? "complex " : "", print_type(type));
  Shape batch(shape.begin(), shape.end() - 2);
  return Matrices{type.dtype, complex, std::move(batch), shape.end()[-2], shape.end()[-1]};
}

Status check_square(const Matrices& a) {
  if (a.m == a.n) return {};
  return invalid("The operand must be square matrices, found ({}).",
                 print_type(a.matrix(a.m, a.n)));
}

// LAPACK says by a number for each matrix how it went.
TensorType info_of(const Matrices& a) { return {DType::kI32, a.batch}; }

Result<Types> getrf(const Matrices& a, const Node&, const Types& operands) {
  return Types{operands[0], a.int_vector(a.least()), info_of(a)};
}

Result<Types> geqrf(const Matrices& a, const Node&, const Types& operands) {
  return Types{operands[0], a.vector(a.least())};
}

Result<Types> geqp3(const Matrices& a, const Node&, const Types& operands) {
  TensorType pivots = a.int_vector(a.n);
  TUFF_RETURN_IF_ERROR(check_same("The pivots", pivots, operands[1]));
  return Types{operands[0], pivots, a.vector(a.least())};
}

// The number of reflectors, whose factors are vectors beside the matrices.
Result<int64_t> count_reflectors(const Matrices& a, const TensorType& taus) {
  size_t at = a.batch.size();
  int64_t count = at < taus.shape.size() ? taus.shape[at] : -1;
  TUFF_RETURN_IF_ERROR(check_same("The reflectors' factors", a.vector(count), taus));
  if (count <= a.least()) return count;
  return invalid("The matrices ({}) do not hold ({}) reflectors.", print_type(a.matrix(a.m, a.n)),
                 count);
}

Result<Types> orgqr(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(count_reflectors(a, operands[1]));
  if (a.n > a.m)
    return invalid("The matrices ({}) have more columns than rows.", print_type(operands[0]));
  return Types{operands[0]};
}

Result<Types> ormqr(const Matrices& a, const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(count_reflectors(a, operands[1]));
  TUFF_ASSIGN(Matrices c, matrices_of(operands[2], a.complex));
  TUFF_RETURN_IF_ERROR(check_same("The last operand", a.matrix(c.m, c.n), operands[2]));
  if ((node.attrs.as<HostCallAttrs>().left ? c.m : c.n) != a.m)
    return invalid("The reflectors ({}) do not fit the matrices ({}).", print_type(operands[0]),
                   print_type(operands[2]));
  return Types{operands[2]};
}

Result<Types> syevd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  return Types{operands[0], a.real_vector(a.n), info_of(a)};
}

// Of the mode "A" all singular vectors, of "S" as many as singular values. "N" leaves them out, and
// JAX says as many as of either.
Result<Types> singular_values(const Matrices& a, const Node& node, const Types& operands) {
  const std::string& mode = node.attrs.as<HostCallAttrs>().mode;
  bool none = mode == "N" && node.types.size() > 2 && node.types[2] == a.matrix(a.m, a.m);
  bool all = mode == "A" || none;
  return Types{operands[0], a.real_vector(a.least()), a.matrix(a.m, all ? a.m : a.least()),
               a.matrix(all ? a.n : a.least(), a.n), info_of(a)};
}

// Those of real matrices are two vectors, of real and of imaginary parts.
void append_eigenvalues(const Matrices& a, Types& results) {
  results.insert(results.end(), a.complex ? 1 : 2, a.vector(a.n));
}

Result<Types> gees(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  Types results{operands[0], operands[0]};
  append_eigenvalues(a, results);
  results.insert(results.end(), {info_of(a), info_of(a)});
  return results;
}

// The vectors are complex whatever the matrices are.
Result<Types> geev(const Matrices& a, const Node&, const Types&) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  Types results;
  append_eigenvalues(a, results);
  results.insert(results.end(),
                 {a.complex_matrix(a.n, a.n), a.complex_matrix(a.n, a.n), info_of(a)});
  return results;
}

Result<Types> gehrd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  return Types{operands[0], a.vector(std::max<int64_t>(a.n - 1, 0)), info_of(a)};
}

Result<Types> sytrd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  int64_t beside = std::max<int64_t>(a.n - 1, 0);
  return Types{operands[0], a.real_vector(a.n), a.real_vector(beside), a.vector(beside),
               info_of(a)};
}

// Three diagonals, each as long as the system, and the right-hand sides, which `b` is.
Result<Types> gtsv(const Matrices& b, const Node&, const Types& operands) {
  Types results = operands;
  for (size_t i = 0; i < 3; ++i)
    TUFF_RETURN_IF_ERROR(check_same("A diagonal", b.vector(b.m), operands[i]));
  results.push_back(info_of(b));
  return results;
}

// `matrices` is the operand that the rule is given as matrices; `modes` and `uplos` the letters
// that LAPACK knows, where it wants one, or `num_modes`.
struct FunctionRule {
  HostFunction function;
  size_t operands, matrices, num_modes;
  const char *modes, *uplos;
  Result<Types> (*types)(const Matrices&, const Node&, const Types&);
};

constexpr FunctionRule kFunctions[] = {
    {HostFunction::kGetrf, 1, 0, 1, "", "", getrf},
    {HostFunction::kGeqrf, 1, 0, 1, "", "", geqrf},
    {HostFunction::kGeqp3, 2, 0, 1, "", "", geqp3},
    {HostFunction::kOrgqr, 2, 0, 1, "", "", orgqr},
    {HostFunction::kOrmqr, 3, 0, 1, "", "", ormqr},
    {HostFunction::kSyevd, 1, 0, 1, "NV", "LU", syevd},
    {HostFunction::kGesdd, 1, 0, 1, "NAS", "", singular_values},
    {HostFunction::kGesvd, 1, 0, 1, "NAS", "", singular_values},
    {HostFunction::kGees, 1, 0, 1, "NV", "", gees},
    {HostFunction::kGehrd, 1, 0, 1, "", "", gehrd},
    {HostFunction::kSytrd, 1, 0, 1, "", "LU", sytrd},
    {HostFunction::kGtsv, 4, 3, 1, "", "", gtsv},
    {HostFunction::kGeev, 1, 0, 2, "NV", "", geev},
};

Status check_letters(const char* name, size_t count, const std::string& letters,
                     std::string_view known) {
  if (known.empty() ||
      (letters.size() == count && letters.find_first_not_of(known) == std::string::npos))
    return {};
  return invalid("The attribute ({}) must be of ({}) letters of ({}), found ({}).", name, count,
                 known, letters);
}

// A function of the caller's has the types that it says.
Result<Types> callback(const Node& node, const Types& operands) {
  if (!node.attrs.as<HostCallAttrs>().has_token) return node.types;
  const TensorType token{DType::kBool, {}};
  bool takes = !operands.empty() && operands.back() == token;
  bool gives = !node.types.empty() && node.types.back() == token;
  if (!takes || !gives)
    return invalid("The last operand and the last result must be tokens ({}).", print_type(token));
  return node.types;
}

}  // namespace

Result<Types> host_call(const Node& node, const Types& operands) {
  const auto& call = node.attrs.as<HostCallAttrs>();
  if (call.function == HostFunction::kCallback) return callback(node, operands);
  if (call.has_token || call.has_side_effect)
    return invalid("The function ({}) has no effects.", word_of(call.function));
  const FunctionRule& rule =
      *std::find_if(std::begin(kFunctions), std::end(kFunctions),
                    [&](const FunctionRule& rule) { return rule.function == call.function; });
  if (operands.size() != rule.operands)
    return invalid("The function ({}) takes ({}) operands, found ({}).", word_of(call.function),
                   rule.operands, operands.size());
  TUFF_RETURN_IF_ERROR(check_letters("mode", rule.num_modes, call.mode, rule.modes));
  TUFF_RETURN_IF_ERROR(check_letters("uplo", 1, call.uplo, rule.uplos));
  TUFF_ASSIGN(Matrices matrices, matrices_of(operands[rule.matrices], call.complex));
  return rule.types(matrices, node, operands);
}

}  // namespace tuff::infer
