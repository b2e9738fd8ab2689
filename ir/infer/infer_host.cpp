// What functions of the host take and give.
#include <algorithm>
#include <iterator>

#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

// Matrices, one after another: [batch.., m, n].
struct Matrices {
  DType dtype = DType::kF32;
  Shape batch;
  int64_t m = 0, n = 0;

  int64_t least() const { return std::min(m, n); }
  TensorType matrix(int64_t rows, int64_t columns) const {
    TensorType type{dtype, batch};
    type.shape.insert(type.shape.end(), {rows, columns});
    return type;
  }
  TensorType vector(DType of, int64_t size) const {
    TensorType type{of, batch};
    type.shape.push_back(size);
    return type;
  }
  TensorType vector(int64_t size) const { return vector(dtype, size); }
};

Result<Matrices> matrices_of(const TensorType& type) {
  if (type.rank() < 2 || (type.dtype != DType::kF32 && type.dtype != DType::kF64))
    return invalid("The operand must be matrices of f32 or f64, found ({}).", print_type(type));
  Shape batch(type.shape.begin(), type.shape.end() - 2);
  return Matrices{type.dtype, std::move(batch), type.shape.end()[-2], type.shape.end()[-1]};
}

Status check_square(const Matrices& a) {
  if (a.m == a.n) return {};
  return invalid("The operand must be square matrices, found ({}).",
                 print_type(a.matrix(a.m, a.n)));
}

// LAPACK says by a number for each matrix how it went.
TensorType info_of(const Matrices& a) { return {DType::kI32, a.batch}; }

Result<Types> getrf(const Matrices& a, const Node&, const Types& operands) {
  return Types{operands[0], a.vector(DType::kI32, a.least()), info_of(a)};
}

Result<Types> geqrf(const Matrices& a, const Node&, const Types& operands) {
  return Types{operands[0], a.vector(a.least())};
}

Result<Types> geqp3(const Matrices& a, const Node&, const Types& operands) {
  TensorType pivots = a.vector(DType::kI32, a.n);
  TUFF_RETURN_IF_ERROR(check_same("The pivots", pivots, operands[1]));
  return Types{operands[0], pivots, a.vector(a.least())};
}

// The number of reflectors, whose factors are vectors beside the matrices.
Result<int64_t> count_reflectors(const Matrices& a, const TensorType& taus) {
  int64_t count = taus.rank() > 0 ? taus.shape.back() : -1;
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
  TUFF_ASSIGN(Matrices c, matrices_of(operands[2]));
  TUFF_RETURN_IF_ERROR(check_same("The last operand", a.matrix(c.m, c.n), operands[2]));
  if ((node.attrs.as<HostCallAttrs>().left ? c.m : c.n) != a.m)
    return invalid("The reflectors ({}) do not fit the matrices ({}).", print_type(operands[0]),
                   print_type(operands[2]));
  return Types{operands[2]};
}

Result<Types> syevd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  return Types{operands[0], a.vector(a.n), info_of(a)};
}

// Of the mode "A" all singular vectors, of "S" as many as singular values. "N" leaves them out, and
// JAX says as many as of either.
Result<Types> singular_values(const Matrices& a, const Node& node, const Types& operands) {
  const std::string& mode = node.attrs.as<HostCallAttrs>().mode;
  bool none = mode == "N" && node.types.size() > 2 && node.types[2] == a.matrix(a.m, a.m);
  bool all = mode == "A" || none;
  return Types{operands[0], a.vector(a.least()), a.matrix(a.m, all ? a.m : a.least()),
               a.matrix(all ? a.n : a.least(), a.n), info_of(a)};
}

Result<Types> gees(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  return Types{operands[0], operands[0], a.vector(a.n), a.vector(a.n), info_of(a), info_of(a)};
}

Result<Types> gehrd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  return Types{operands[0], a.vector(std::max<int64_t>(a.n - 1, 0)), info_of(a)};
}

Result<Types> sytrd(const Matrices& a, const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_square(a));
  TensorType beside = a.vector(std::max<int64_t>(a.n - 1, 0));
  return Types{operands[0], a.vector(a.n), beside, beside, info_of(a)};
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
// that LAPACK knows, where it wants one.
struct FunctionRule {
  HostFunction function;
  size_t operands, matrices;
  const char *modes, *uplos;
  Result<Types> (*types)(const Matrices&, const Node&, const Types&);
};

constexpr FunctionRule kFunctions[] = {
    {HostFunction::kGetrf, 1, 0, "", "", getrf},
    {HostFunction::kGeqrf, 1, 0, "", "", geqrf},
    {HostFunction::kGeqp3, 2, 0, "", "", geqp3},
    {HostFunction::kOrgqr, 2, 0, "", "", orgqr},
    {HostFunction::kOrmqr, 3, 0, "", "", ormqr},
    {HostFunction::kSyevd, 1, 0, "NV", "LU", syevd},
    {HostFunction::kGesdd, 1, 0, "NAS", "", singular_values},
    {HostFunction::kGesvd, 1, 0, "NAS", "", singular_values},
    {HostFunction::kGees, 1, 0, "NV", "", gees},
    {HostFunction::kGehrd, 1, 0, "", "", gehrd},
    {HostFunction::kSytrd, 1, 0, "", "LU", sytrd},
    {HostFunction::kGtsv, 4, 3, "", "", gtsv},
};

Status check_letter(const char* name, const std::string& letter, std::string_view known) {
  if (known.empty() || (letter.size() == 1 && known.find(letter) != std::string_view::npos))
    return {};
  return invalid("The attribute ({}) must be one letter of ({}), found ({}).", name, known, letter);
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
  TUFF_RETURN_IF_ERROR(check_letter("mode", call.mode, rule.modes));
  TUFF_RETURN_IF_ERROR(check_letter("uplo", call.uplo, rule.uplos));
  TUFF_ASSIGN(Matrices matrices, matrices_of(operands[rule.matrices]));
  return rule.types(matrices, node, operands);
}

}  // namespace tuff::infer
