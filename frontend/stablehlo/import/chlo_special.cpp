// erfc, erf_inv, lgamma, digamma: coefficients as in StableHLO's legalisation
// (Cephes; Giles 2012; Lanczos with g = 7).
#include <cmath>

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

namespace {

bool is_f64(const Expr& x) { return x.type().dtype == DType::kF64; }

// erfc(|x|) / exp(-x*x) for |x| >= 1.
Expr erfc_scaled(const Expr& a) {
  if (!is_f64(a)) {
    Expr s = 1.0 / (a * a);
    Expr near = polynomial(s, {2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1,
                               -5.824733027278666e-1, 6.210004621745983e-1, -4.944515323274145e-1,
                               3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1});
    Expr far = polynomial(s, {-1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503e+0,
                              2.921019019210786e+0, -1.015265279202700e+0, 4.218463358204948e-1,
                              -2.820767439740514e-1, 5.641895067754075e-1});
    return (1.0 / a) * (a < 2.0).select(near, far);
  }
  Expr near =
      polynomial(a,
                 {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
                  4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
                  9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2}) /
      polynomial(a, {1.0, 1.32281951154744992508e1, 8.67072140885989742329e1,
                     3.54937778887819891062e2, 9.75708501743205489753e2, 1.82390916687909736289e3,
                     2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2});
  Expr far =
      polynomial(a, {5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414,
                     6.16021097993053585195, 7.40974269950448939160, 2.97886665372100240670}) /
      polynomial(a, {1.0, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1,
                     1.70814450747565897222e1, 9.60896809063285878198, 3.36907645100081516050});
  return (a < 8.0).select(near, far);
}

struct Lanczos {
  Expr z, reflect, log_t, t;
};

constexpr double kLanczosG = 7.5;  // g + 1/2
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

// Below 1/2 the reflection formula is used: z is what the series is taken at.
Lanczos lanczos(const Expr& x) {
  Expr reflect = x < 0.5;
  Expr z = reflect.select(-x, x - 1.0);
  Expr log_t = x.like(std::log(kLanczosG)) + (z / kLanczosG).log1p();
  return {z, reflect, log_t, kLanczosG + z};
}

}  // namespace

// 1 - erf(x) would cancel for |x| >= 1, where erfc has its own approximation.
Expr erfc(const Expr& x) {
  Expr a = x.abs(), z = -(x * x);
  double underflow = is_f64(x) ? -7.09782712893383996843e2 : -88.72283905206835;
  Expr tail = (z < underflow).select(x.like(0.0), z.exp() * erfc_scaled(a));
  tail = (x < 0.0).select(2.0 - tail, tail);
  return (a < 1.0).select(1.0 - x.unary(Op::kErf), tail);
}

namespace {

Expr erf_inv_f32(const Expr& x) {
  Expr w = -((x * -x).log1p());
  Expr small = w < 5.0;
  Expr p =
      polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                           0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Expr q = polynomial(w.sqrt() - 3.0,
                      {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                       0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  return small.select(p, q) * x;
}

Expr erf_inv_f64(const Expr& x) {
  Expr w = -((x * -x).log1p());
  Expr p = polynomial(
      w - 3.125,
      {-3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
       1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
       6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
       2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
       1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
       4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
       0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
       0.24015818242558961693,     1.6536545626831027356});
  Expr root = w.sqrt();
  Expr q =
      polynomial(root - 3.25,
                 {2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
                  1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
                  2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
                  6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
                  0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
                  -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
                  3.0838856104922207635});
  Expr r =
      polynomial(root - 5.0,
                 {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                  -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
                  2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                  -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
                  7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
                  1.0103004648645343977, 4.8499064014085844221});
  return (w < 6.25).select(p, (w < 16.0).select(q, r)) * x;
}

}  // namespace

Expr erf_inv(const Expr& x) {
  Expr inside = is_f64(x) ? erf_inv_f64(x) : erf_inv_f32(x);
  return equal(x.abs(), x.like(1.0)).select(x * x.inf(), inside);
}

Expr lgamma(const Expr& x) {
  auto [z, reflect, log_t, t] = lanczos(x);
  Expr a = x.like(kLanczosBase);
  for (int i = 0; i < 8; ++i) a = a + kLanczos[i] / (z + (i + 1.0));
  // (z + 1/2) log t - t, written so that a large t does not overflow.
  Expr r = (z + 0.5 - t / log_t) * log_t;
  Expr gamma = (std::log(2.0) + std::log(M_PI)) / 2.0 + r + a.log();
  // log(pi) - lgamma(1 - x) - log |sin(pi x)|, with x reduced to [0, 1/2].
  Expr magnitude = x.abs();
  Expr fraction = magnitude - magnitude.floor();
  fraction = (fraction > 0.5).select(1.0 - fraction, fraction);
  Expr sine = (M_PI * fraction).sin().log();
  Expr mirrored = x.like(std::log(M_PI)) - sine - gamma;
  TensorType predicate{DType::kBool, x.type().shape};
  mirrored = sine.binary(Op::kIsFinite, {}, predicate).select(mirrored, -sine);
  return equal(magnitude, x.inf()).select(x.inf(), reflect.select(mirrored, gamma));
}

Expr digamma(const Expr& x) {
  auto [z, reflect, log_t, t] = lanczos(x);
  Expr a = x.like(kLanczosBase), a_prime = x.like(0.0);
  for (int i = 0; i < 8; ++i) {
    Expr term = z + (i + 1.0);
    a_prime = a_prime - kLanczos[i] / (term * term);
    a = a + kLanczos[i] / term;
  }
  Expr result = log_t + a_prime / a - 7.0 / t;
  Expr reduced = M_PI * (x + (x + 0.5).floor().abs());
  result = reflect.select(result - M_PI * reduced.cos() / reduced.sin(), result);
  Expr pole = (x <= 0.0) & equal(x, x.floor());
  return pole.select(x.nan(), result);
}

}  // namespace tuff::stablehlo
