#include "ir/index/index_expr.h"

#include <algorithm>
#include <numeric>

#include "ir/support/result.h"

namespace tuff {

namespace {

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// a += b * c; false where 64 bits do not hold that.
bool add_product(int64_t& a, int64_t b, int64_t c) {
  int64_t product = 0;
  return !__builtin_mul_overflow(b, c, &product) && !__builtin_add_overflow(a, product, &a);
}

// a + scale * b, merging sorted terms.
IndexExpr combine(const IndexExpr& a, const IndexExpr& b, int64_t scale) {
  IndexExpr sum;
  sum.constant = a.constant + scale * b.constant;
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      sum.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->first < x->first) {
      sum.terms.emplace_back(y->first, scale * y->second);
      ++y;
    } else {
      int64_t coefficient = x->second + scale * y->second;
      if (coefficient != 0) sum.terms.emplace_back(x->first, coefficient);
      ++x, ++y;
    }
  }
  return sum;
}

}  // namespace

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) { return combine(a, b, 1); }
IndexExpr operator-(const IndexExpr& a, const IndexExpr& b) { return combine(a, b, -1); }

IndexExpr operator*(const IndexExpr& a, int64_t c) {
  if (c == 0) return 0;
  IndexExpr product = a;
  product.constant *= c;
  for (auto& term : product.terms) term.second *= c;
  return product;
}

IndexExpr IndexContext::symbol(std::string name, int64_t low, int64_t high) {
  if (low == high) return low;
  Atom atom;
  atom.name = std::move(name);
  atom.range = {low, high};
  atoms_.push_back(std::move(atom));
  IndexExpr e;
  e.terms = {{static_cast<uint32_t>(atoms_.size() - 1), 1}};
  return e;
}

IndexExpr IndexContext::open_symbol(std::string name) {
  open_ = true;
  return symbol(std::move(name), 0, 1);
}

IndexRange IndexContext::range(const IndexExpr& e) const {
  // What has larger parts is no position; with room for sums and differences of bounds.
  constexpr IndexRange kWidest{-(int64_t{1} << 61), int64_t{1} << 61};
  // A remainder w*(x - c*floor(x/c)) looks like two wide terms; find each such
  // pair, bound it by w*[0, c-1], and bound the rest term by term.
  for (size_t i = e.terms.size(); i-- > 0;) {
    auto [id, coefficient] = e.terms[i];
    const Atom& a = atoms_[id];
    if (a.divisor == 0 || coefficient >= 0 || coefficient % a.divisor != 0) continue;
    int64_t w = -coefficient / a.divisor;
    IndexExpr quotient;
    quotient.terms = {{id, 1}};
    IndexExpr rest = e - (a.numerator - quotient * a.divisor) * w;
    if (rest.terms.size() >= e.terms.size()) continue;
    IndexRange r = range(rest);
    return add_product(r.high, w, a.divisor - 1) ? r : kWidest;
  }
  IndexRange r{e.constant, e.constant};
  for (auto [id, coefficient] : e.terms) {
    IndexRange a = atoms_[id].range;
    if (!add_product(r.low, coefficient, coefficient > 0 ? a.low : a.high) ||
        !add_product(r.high, coefficient, coefficient > 0 ? a.high : a.low))
      return kWidest;
  }
  return r;
}

// floor((y + floor(x / a)) / c) = floor((a y + x) / (a c)): a quotient has one form, however it was
// come by, so that equal ones cancel. Nothing where there is no such x, or (a y + x) has
// more than 32 bits.
std::optional<IndexExpr> IndexContext::unnested(const IndexExpr& e, int64_t c) {
  for (const auto& [id, coefficient] : e.terms) {
    const Atom inner = atoms_[id];
    if (coefficient != 1 || inner.divisor == 0) continue;
    IndexExpr quotient;
    quotient.terms = {{id, 1}};
    IndexExpr numerator = (e - quotient) * inner.divisor + inner.numerator;
    IndexRange r = range(numerator);
    bool wide = r.low < INT32_MIN || r.high > INT32_MAX || c > INT32_MAX / inner.divisor;
    if (wide && e != quotient) return std::nullopt;
    return floor_div(numerator, inner.divisor * c);
  }
  return std::nullopt;
}

IndexExpr IndexContext::floor_div(const IndexExpr& e, int64_t c) {
  TUFF_CHECK(c > 0, "index division by " + std::to_string(c));
  if (c == 1) return e;
  // Multiples of c leave the division: floor((c*q + r) / c) = q + floor(r / c).
  IndexExpr whole, rest;
  whole.constant = floor_quotient(e.constant, c);
  rest.constant = e.constant - whole.constant * c;
  for (const auto& term : e.terms) {
    if (term.second % c == 0)
      whole.terms.emplace_back(term.first, term.second / c);
    else
      rest.terms.push_back(term);
  }
  IndexRange r = range(rest);
  int64_t low = floor_quotient(r.low, c);
  if (low == floor_quotient(r.high, c)) return whole + low;
  // A common factor of all coefficients and c cancels; the constant is floored.
  int64_t g = c;
  for (const auto& term : rest.terms) g = std::gcd(g, term.second);
  if (g > 1) {
    rest.constant = floor_quotient(rest.constant, g);
    for (auto& term : rest.terms) term.second /= g;
    return whole + floor_div(rest, c / g);
  }
  if (std::optional<IndexExpr> quotient = unnested(rest, c)) return whole + *quotient;
  auto [it, fresh] = divisions_.try_emplace({rest, c}, static_cast<uint32_t>(atoms_.size()));
  if (fresh) {
    Atom atom;
    atom.range = {low, floor_quotient(r.high, c)};
    atom.numerator = rest;
    atom.divisor = c;
    atoms_.push_back(std::move(atom));
  }
  IndexExpr quotient;
  quotient.terms = {{it->second, 1}};
  return whole + quotient;
}

IndexExpr IndexContext::mod(const IndexExpr& e, int64_t c) { return e - floor_div(e, c) * c; }

bool IndexContext::depends_on(const IndexExpr& e, uint32_t id) const {
  return std::any_of(e.terms.begin(), e.terms.end(), [&](const auto& term) {
    return term.first == id ||
           (atoms_[term.first].divisor > 0 && depends_on(atoms_[term.first].numerator, id));
  });
}

bool IndexContext::divides(const IndexExpr& e, uint32_t id) const {
  return std::any_of(e.terms.begin(), e.terms.end(), [&](const auto& term) {
    return atoms_[term.first].divisor > 0 && depends_on(atoms_[term.first].numerator, id);
  });
}

IndexExpr IndexContext::substitute(const IndexExpr& e,
                                   const std::map<uint32_t, IndexExpr>& symbols) {
  IndexExpr result = e.constant;
  for (auto [id, coefficient] : e.terms) {
    IndexExpr value;
    if (auto it = symbols.find(id); it != symbols.end()) {
      value = it->second;
    } else if (const Atom a = atoms_[id]; a.divisor > 0) {
      value = floor_div(substitute(a.numerator, symbols), a.divisor);
    } else {
      value.terms = {{id, 1}};
    }
    result = result + value * coefficient;
  }
  return result;
}

std::string IndexContext::to_string(const IndexExpr& e) const {
  std::string text;
  for (auto [id, coefficient] : e.terms) {
    if (!text.empty()) text += " + ";
    if (coefficient != 1) text += std::to_string(coefficient) + "*";
    const Atom& a = atoms_[id];
    text +=
        a.divisor > 0 ? "(" + to_string(a.numerator) + ")/" + std::to_string(a.divisor) : a.name;
  }
  if (e.constant != 0 || text.empty())
    text += (text.empty() ? "" : " + ") + std::to_string(e.constant);
  return text;
}

int64_t IndexContext::evaluate(const IndexExpr& e,
                               const std::map<uint32_t, int64_t>& symbols) const {
  int64_t sum = e.constant;
  for (auto [id, coefficient] : e.terms) {
    const Atom& a = atoms_[id];
    int64_t value =
        a.divisor > 0 ? floor_quotient(evaluate(a.numerator, symbols), a.divisor) : symbols.at(id);
    sum += coefficient * value;
  }
  return sum;
}

Truth truth(const IndexContext& context, const IndexCondition& condition) {
  IndexRange r = context.range(condition.e);
  if (condition.kind == IndexCondition::Kind::kNonNegative) {
    if (r.low >= 0) return Truth::kAlways;
    return r.high < 0 ? Truth::kNever : Truth::kSometimes;
  }
  if (r.low == 0 && r.high == 0) return Truth::kAlways;
  return r.low > 0 || r.high < 0 ? Truth::kNever : Truth::kSometimes;
}

IndexExpr linearize(const std::vector<IndexExpr>& index, const std::vector<int64_t>& shape) {
  IndexExpr linear;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    linear = linear + index[i] * stride;
    stride *= shape[i];
  }
  return linear;
}

std::vector<IndexExpr> delinearize(IndexContext& context, const IndexExpr& linear,
                                   const std::vector<int64_t>& shape) {
  std::vector<IndexExpr> index(shape.size());
  int64_t stride = 1, total = 1;
  for (int64_t size : shape) total *= std::max<int64_t>(size, 1);
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t size = std::max<int64_t>(shape[i], 1);
    IndexExpr quotient = context.floor_div(linear, stride);
    stride *= size;
    // The outermost quotient needs no remainder: linear stays below the total.
    bool outermost = context.is_open() ? i == 0 : stride == total;
    if (size > 1 || (context.is_open() && i == 0))
      index[i] = outermost ? quotient : context.mod(quotient, size);
  }
  return index;
}

}  // namespace tuff
