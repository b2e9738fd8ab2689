// Integer index expressions in a canonical form, so that views become index
// arithmetic and equal accesses compare equal.
//
// Every expression is an affine sum: constant + sum(coefficient * atom). An atom
// is a symbol (a loop variable or a data-dependent index, with a known range) or
// floor(expression / positive constant). There is no remainder: x mod c is
// x - c * floor(x / c), so (x / c) * c + x mod c cancels to x by itself.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tuff {

// One affine sum; terms sorted by atom, no zero coefficients. Plain value: equal
// expressions of one context are equal values.
struct IndexExpr {
  int64_t constant = 0;
  std::vector<std::pair<uint32_t, int64_t>> terms;  // (atom, coefficient)

  IndexExpr() = default;
  IndexExpr(int64_t c) : constant(c) {}  // NOLINT: implicit on purpose
  bool is_constant() const { return terms.empty(); }
  auto operator<=>(const IndexExpr&) const = default;
};

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator-(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator*(const IndexExpr& a, int64_t c);

// Inclusive bounds.
struct IndexRange {
  int64_t low = 0, high = 0;
};

// Owns the atoms. Not thread safe; one per group being analysed or lowered.
class IndexContext {
 public:
  struct Atom {
    std::string name;  // symbols
    IndexRange range;
    IndexExpr numerator;  // floor(numerator / divisor) iff divisor > 0
    int64_t divisor = 0;
  };

  // A new symbol with values in [low, high]. A one-valued range gives a constant.
  IndexExpr symbol(std::string name, int64_t low, int64_t high);
  // A new symbol for a leading dimension of size 1 that is to be told apart as a longer one
  // would be: in [0, 1]. From then on positions may lie beyond the shapes they are in, and
  // delinearize leaves the excess to the leading dimension.
  IndexExpr open_symbol(std::string name);
  bool is_open() const { return open_; }
  // floor(e / c) and e - c * floor(e / c), simplified; c > 0.
  IndexExpr floor_div(const IndexExpr& e, int64_t c);
  IndexExpr mod(const IndexExpr& e, int64_t c);
  // Bounds of the expression (not always the tightest, and no wider than 64 bits).
  IndexRange range(const IndexExpr& e) const;
  // The number of elements of the largest tensor that positions are computed in: tighter than any
  // range where views follow each other, whose quotients make sums of large parts.
  void set_largest_tensor(int64_t elements) { largest_tensor_ = elements; }
  int64_t largest_tensor() const { return largest_tensor_; }

  const Atom& atom(uint32_t id) const { return atoms_[id]; }
  // True iff any atom of e, nested ones included, satisfies: is `id`.
  bool depends_on(const IndexExpr& e, uint32_t id) const;
  // True iff a floor_div atom (nested included) depends on `id`.
  bool divides(const IndexExpr& e, uint32_t id) const;
  // e with symbols replaced (by atom id), simplified anew.
  IndexExpr substitute(const IndexExpr& e, const std::map<uint32_t, IndexExpr>& symbols);
  // For messages and tests: "3*i + j/4 + 1".
  std::string to_string(const IndexExpr& e) const;
  // Value for given symbol values (indexed by atom id; for tests and evaluation).
  int64_t evaluate(const IndexExpr& e, const std::map<uint32_t, int64_t>& symbols) const;

 private:
  std::optional<IndexExpr> unnested(const IndexExpr& e, int64_t c);

  std::vector<Atom> atoms_;
  std::map<std::pair<IndexExpr, int64_t>, uint32_t> divisions_;
  bool open_ = false;
  int64_t largest_tensor_ = std::numeric_limits<int64_t>::max();  // not known
};

// e >= 0 or e == 0.
struct IndexCondition {
  enum class Kind : uint8_t { kNonNegative, kZero };
  IndexExpr e;
  Kind kind = Kind::kNonNegative;
  auto operator<=>(const IndexCondition&) const = default;
};

enum class Truth { kAlways, kNever, kSometimes };
Truth truth(const IndexContext& context, const IndexCondition& condition);

// Row-major position of an index vector in a shape, and back (for positions
// inside the shape).
IndexExpr linearize(const std::vector<IndexExpr>& index, const std::vector<int64_t>& shape);
std::vector<IndexExpr> delinearize(IndexContext& context, const IndexExpr& linear,
                                   const std::vector<int64_t>& shape);

}  // namespace tuff
