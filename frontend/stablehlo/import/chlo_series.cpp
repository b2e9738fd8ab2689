// bessel_i1e, zeta, polygamma: series, as in StableHLO's legalisation (Cephes;
// Johansson 2015, formula 5).
#include <limits>
#include <span>

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

namespace {

Expr chebyshev(const Expr& x, std::span<const double> coefficients) {
  Expr b0 = x.like(0.0), b1 = b0, b2 = b0;
  for (double c : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + c;
  }
  return (b0 - b2) * 0.5;
}

constexpr double kBelowEight[] = {
    2.77791411276104639959e-18,  -2.11142121435816608115e-17, 1.55363195773620046921e-16,
    -1.10559694773538630805e-15, 7.60068429473540693410e-15,  -5.04218550472791168711e-14,
    3.22379336594557470981e-13,  -1.98397439776494371520e-12, 1.17361862988909016308e-11,
    -6.66348972350202774223e-11, 3.62559028155211703701e-10,  -1.88724975172282928790e-9,
    9.38153738649577178388e-9,   -4.44505912879632808065e-8,  2.00329475355213526229e-7,
    -8.56872026469545474066e-7,  3.47025130813767847674e-6,   -1.32731636560394358279e-5,
    4.78156510755005422638e-5,   -1.61760815825896745588e-4,  5.12285956168575772895e-4,
    -1.51357245063125314899e-3,  4.15642294431288815669e-3,   -1.05640848946261981558e-2,
    2.47264490306265168283e-2,   -5.29459812080949914269e-2,  1.02643658689847095384e-1,
    -1.76416518357834055153e-1,  2.52587186443633654823e-1};
constexpr double kAboveEight[] = {
    7.51729631084210481353e-18,  4.41434832307170791151e-18,  -4.65030536848935832153e-17,
    -3.20952592199342395980e-17, 2.96262899764595013876e-16,  3.30820231092092828324e-16,
    -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
    4.27244001671195135429e-14,  -2.10154184277266431302e-14, -4.08355111109219731823e-13,
    -7.19855177624590851209e-13, 2.03562854414708950722e-12,  1.41258074366137813316e-11,
    3.25260358301548823856e-11,  -1.89749581235054123450e-11, -5.58974346219658380687e-10,
    -3.83538038596423702205e-9,  -2.63146884688951950684e-8,  -2.51223623787020892529e-7,
    -3.88256480887769039346e-6,  -1.10588938762623716291e-4,  -9.76109749136146840777e-3,
    7.78576235018280120474e-1};

}  // namespace

// f32 needs only the last terms of each series.
Expr bessel_i1e(const Expr& x) {
  bool wide = x.type().dtype == DType::kF64;
  std::span<const double> below(kBelowEight), above(kAboveEight);
  Expr z = x.abs();
  Expr small = z * chebyshev(0.5 * z - 2.0, wide ? below : below.last(17));
  Expr large = chebyshev(32.0 / z - 2.0, wide ? above : above.last(7)) / z.sqrt();
  return x.unary(Op::kSign) * (z <= 8.0).select(small, large);
}

// Nine terms of the sum, then the Euler-Maclaurin correction by Horner's rule.
Expr zeta(const Expr& x, const Expr& q) {
  constexpr int kIterations = 9, kTerms = 12;
  constexpr double kCoefficients[kTerms] = {-7.1661652561756670113e18,
                                            1.8152105401943546773e17,
                                            -4.5979787224074726105e15,
                                            1.1646782814350067249e14,
                                            -2.950130727918164224e12,
                                            7.47242496e10,
                                            -1.8924375803183791606e9,
                                            47900160.0,
                                            -1209600.0,
                                            30240.0,
                                            -720.0,
                                            12.0};
  Expr acc = q, minus_x = -x, sum = power(q, minus_x);
  Expr term = q.like(0.0);
  for (int i = 0; i < kIterations; ++i) {
    acc = acc + 1.0;
    term = power(acc, minus_x);
    sum = sum + term;
  }
  acc = acc + 1.0;
  term = power(acc, minus_x);
  Expr correction = term * acc / (x - 1.0);
  Expr inverse_square = 1.0 / (acc * acc);
  Expr horner = q.like(0.0);
  for (int i = 0; i < kTerms - 1; ++i) {
    Expr product = (x + (2.0 * kTerms - 2 - 2 * i)) * (x + (2.0 * kTerms - 3 - 2 * i));
    horner = product * (inverse_square * (horner + 1.0 / kCoefficients[i]));
  }
  Expr tail = term * (0.5 + x / acc * (1.0 / kCoefficients[kTerms - 1] + horner));
  Expr accurate = sum + correction + tail;
  double tiny = x.type().dtype == DType::kF64
                    ? std::numeric_limits<double>::denorm_min()
                    : static_cast<double>(std::numeric_limits<float>::denorm_min());
  Expr result = (term.abs() < sum.abs() * tiny).select(sum, accurate);
  // Outside the domain: x < 1; q <= 0 with a fractional x; a pole at every integer
  // q <= 0, whose limit exists only for even x; the harmonic series at x = 1.
  Expr one = x.like(1.0), zero = x.like(0.0), whole = x.floor();
  result = (x < one).select(x.nan(), result);
  Expr below = q <= zero;
  result = (below & not_equal(x, whole)).select(x.nan(), result);
  Expr even = equal(x, whole) & equal(x % x.like(2.0), zero);
  result = (below & equal(q, q.floor())).select(even.select(x.inf(), x.nan()), result);
  return equal(x, one).select(x.inf(), result);
}

Expr polygamma(const Expr& n, const Expr& x) {
  Expr sign = 2.0 * (n % n.like(2.0)) - 1.0;
  Expr next = n + 1.0, zero = n.like(0.0);
  Expr result = sign * lgamma(next).exp() * zeta(next, x);
  result = equal(n, zero).select(digamma(x), result);
  Expr not_natural = not_equal(n, n.floor()) | (n < zero);
  return not_natural.select(n.nan(), result);
}

}  // namespace tuff::stablehlo
