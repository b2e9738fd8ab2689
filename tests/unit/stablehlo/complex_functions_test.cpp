// Functions of complex numbers against those of C++'s library in long double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "frontend/stablehlo/read.h"
#include "ir/evaluate/evaluate.h"
#include "tests/unit/stablehlo/testing.h"

namespace tuff::stablehlo {
namespace {

using Exact = std::complex<long double>;

struct Function {
  const char* op;
  Exact (*exact)(const Exact&);
};
void PrintTo(const Function& f, std::ostream* out) { *out << f.op; }

Exact log1p(const Exact& z) {
  long double x = z.real(), y = z.imag();
  return {std::log1p(2 * x + x * x + y * y) / 2, std::atan2(y, 1 + x)};
}
// Where nothing cancels, exp(z) - 1 has all digits of long double to lose.
Exact expm1(const Exact& z) {
  long double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}

const Function kFunctions[] = {
    {"stablehlo.exponential", [](const Exact& z) { return std::exp(z); }},
    {"stablehlo.exponential_minus_one", expm1},
    {"stablehlo.log", [](const Exact& z) { return std::log(z); }},
    {"stablehlo.log_plus_one", log1p},
    {"stablehlo.sqrt", [](const Exact& z) { return std::sqrt(z); }},
    {"stablehlo.rsqrt", [](const Exact& z) { return 1.0L / std::sqrt(z); }},
    {"stablehlo.cbrt", [](const Exact& z) { return std::pow(z, Exact(1.0L / 3)); }},
    {"stablehlo.sine", [](const Exact& z) { return std::sin(z); }},
    {"stablehlo.cosine", [](const Exact& z) { return std::cos(z); }},
    {"stablehlo.tan", [](const Exact& z) { return std::tan(z); }},
    {"stablehlo.tanh", [](const Exact& z) { return std::tanh(z); }},
    {"stablehlo.logistic", [](const Exact& z) { return 1.0L / (1.0L + std::exp(-z)); }},
    {"stablehlo.sign", [](const Exact& z) { return z / std::abs(z); }},
    {"chlo.sinh", [](const Exact& z) { return std::sinh(z); }},
    {"chlo.cosh", [](const Exact& z) { return std::cosh(z); }},
    {"chlo.asin", [](const Exact& z) { return std::asin(z); }},
    {"chlo.acos", [](const Exact& z) { return std::acos(z); }},
    {"chlo.atan", [](const Exact& z) { return std::atan(z); }},
    {"chlo.asinh", [](const Exact& z) { return std::asinh(z); }},
    {"chlo.acosh", [](const Exact& z) { return std::acosh(z); }},
    {"chlo.atanh", [](const Exact& z) { return std::atanh(z); }},
    {"chlo.square", [](const Exact& z) { return z * z; }},
    {"chlo.conj", [](const Exact& z) { return std::conj(z); }},
};

class ComplexFunctions : public ::testing::TestWithParam<Function> {
 protected:
  // The function of each pair.
  Result<Literal> apply(const Literal& pairs) {
    DType complex = pairs.type().dtype == DType::kF32 ? DType::kC64 : DType::kC128;
    std::string type = "tensor<" + from_parts(pairs.type(), complex).to_string() + ">";
    TUFF_ASSIGN(Graph graph,
                read_stablehlo(function("(%z: " + type + ") -> " + type,
                                        "%0 = \"" + std::string(GetParam().op) + "\"(%z) : (" +
                                            type + ") -> " + type + "\nreturn %0 : " + type),
                               "t.mlir"));
    TUFF_ASSIGN(std::vector<Literal> results, evaluate(graph, {pairs}));
    return results[0];
  }
};

// Of a grid that has the axes, the unit circle's neighbourhood, and both small and large parts.
TEST_P(ComplexFunctions, AreThoseOfTheLibrary) {
  const std::vector<double> parts = {0,    1e-9,  -1e-9,        0.25, -0.25, 0.75, -0.75,
                                     1.25, -1.25, 0.9990234375, 3,    -3,    18,   -18};
  for (DType dtype : {DType::kF32, DType::kF64}) {
    std::vector<double> values;
    for (double re : parts)
      for (double im : parts)
        if (re != 0 || im != 0) values.insert(values.end(), {re, im});
    auto count = static_cast<int64_t>(values.size() / 2);
    Literal pairs = Literal::from_doubles(dtype, {count, 2}, values);
    Result<Literal> got = apply(pairs);
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    double unit = dtype == DType::kF32 ? 0x1p-23 : 0x1p-52;
    for (int64_t i = 0; i < count; ++i) {
      Exact z(pairs.get_double(2 * i), pairs.get_double(2 * i + 1)), want = GetParam().exact(z);
      Exact have(got->get_double(2 * i), got->get_double(2 * i + 1));
      EXPECT_LE(std::abs(have - want), 12 * unit * std::abs(want))
          << dtype_name(dtype) << " at " << z << " is " << have << ", not " << want;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<Function>& info) {
  std::string name = info.param.op;
  return name.substr(name.find('.') + 1);
}
INSTANTIATE_TEST_SUITE_P(All, ComplexFunctions, ::testing::ValuesIn(kFunctions), name_of);

// Infinities, and zeros whose sign says on which side of a branch cut they are, as in C's Annex G.
TEST(ComplexLimits, AreThoseOfC) {
  struct Limit {
    const char* op;
    double re, im;
    std::complex<double> want;
  };
  constexpr double kInf = INFINITY, kPi = 3.141592653589793;
  const Limit kLimits[] = {
      {"sqrt", -4, 0.0, {0, 2}},
      {"sqrt", -4, -0.0, {0, -2}},
      {"sqrt", 1, kInf, {kInf, kInf}},
      {"sqrt", -kInf, 1, {0, kInf}},
      {"log", -1, -0.0, {0, -kPi}},
      {"log", 0, 0, {-kInf, 0}},
      {"log", -kInf, kInf, {kInf, 3 * kPi / 4}},
      {"exponential", -kInf, 1, {0, 0}},
      {"exponential", 710, kPi / 2, {1.3678e292, kInf}},
      {"tanh", kInf, 1, {1, 0}},
      {"tanh", -800, 2, {-1, 0}},
      {"sine", 0, 800, {0, kInf}},
      {"logistic", -800, 1, {0, 0}},
      {"logistic", 800, 1, {1, 0}},
  };
  for (const Limit& limit : kLimits) {
    const char* type = "tensor<complex<f64>>";
    auto graph = read_stablehlo(
        function(fmt::format("(%z: {}) -> {}", type, type),
                 fmt::format("%0 = \"stablehlo.{}\"(%z) : ({}) -> {}\nreturn %0 : {}", limit.op,
                             type, type, type)),
        "t.mlir");
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    auto got = evaluate(*graph, {Literal::from_doubles(DType::kF64, {2}, {limit.re, limit.im})});
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    for (int part : {0, 1}) {
      double want = part == 0 ? limit.want.real() : limit.want.imag(),
             have = (*got)[0].get_double(part);
      bool agrees = std::isfinite(want) ? std::abs(have - want) <= 1e-4 * std::abs(want) + 1e-15
                                        : have == want;
      EXPECT_TRUE(agrees) << limit.op << " at " << limit.re << ", " << limit.im << ": part " << part
                          << " is " << have;
    }
  }
}

// Over zero a quotient is infinite, over infinity it is zero.
TEST(ComplexLimits, QuotientsAreThoseOfC) {
  auto graph = read_stablehlo(
      function("(%a: tensor<3xcomplex<f64>>, %b: tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>",
               "%0 = stablehlo.divide %a, %b : tensor<3xcomplex<f64>>\n"
               "return %0 : tensor<3xcomplex<f64>>"),
      "t.mlir");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto got = evaluate(
      *graph, {Literal::from_doubles(DType::kF64, {3, 2}, {1, -2, INFINITY, 1, 3, 4}),
               Literal::from_doubles(DType::kF64, {3, 2}, {0, 0, 2, 0.5, INFINITY, INFINITY})});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  std::vector<double> have;
  for (int64_t i = 0; i < 6; ++i) have.push_back((*got)[0].get_double(i));
  EXPECT_THAT(have, testing::ElementsAre(INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0));
}

}  // namespace
}  // namespace tuff::stablehlo
