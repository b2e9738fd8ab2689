// Fourier transforms on every processor level beside the ones in double: short and long lines,
// columns, lengths with large prime factors, half spectra, several dimensions.
#include "backend/cpu/fourier/fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

using Complex = std::complex<double>;

struct Problem {
  int64_t outer;
  std::vector<int64_t> length;
};

// Dense complex numbers, [outer, length...], of which one dimension is transformed.
void transform_dimension(std::vector<Complex>& x, const Problem& p, size_t dimension,
                         bool inverse) {
  int64_t n = p.length[dimension], inner = 1;
  for (size_t d = dimension + 1; d < p.length.size(); ++d) inner *= p.length[d];
  std::vector<Complex> line(static_cast<size_t>(n));
  for (size_t first = 0; first < x.size(); ++first) {
    const auto step = static_cast<size_t>(inner);
    if (first / step % static_cast<size_t>(n) != 0) continue;
    for (size_t j = 0; j < line.size(); ++j) line[j] = x[first + j * step];
    fourier_transform(line, inverse);
    for (size_t j = 0; j < line.size(); ++j)
      x[first + j * step] = line[j] / (inverse ? static_cast<double>(n) : 1);
  }
}

void transform_all(std::vector<Complex>& x, const Problem& p, bool inverse) {
  for (size_t d = 0; d < p.length.size(); ++d) transform_dimension(x, p, d, inverse);
}

// The first half of each line of the last dimension.
std::vector<Complex> half_of(const std::vector<Complex>& x, int64_t n) {
  std::vector<Complex> half;
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int64_t>(i) % n < half_spectrum(n)) half.push_back(x[i]);
  return half;
}

template <typename T>
std::vector<T> parts(const std::vector<Complex>& x, bool imaginary) {
  std::vector<T> result;
  for (const Complex& z : x) result.push_back(static_cast<T>(imaginary ? z.imag() : z.real()));
  return result;
}

// `want` by the call from `given`; a side that is real has no imaginary part.
template <typename T>
void check(const Problem& p, const FftForm& form, const std::vector<Complex>& given,
           const std::vector<Complex>& want, const cpu::LaneTable& table) {
  std::vector<T> re = parts<T>(given, false), im = parts<T>(given, true);
  std::vector<T> to_re(want.size()), to_im(want.size());
  std::vector<cpu::CallOperand> operands = {operand(re)};
  if (!form.real_input) operands.push_back(operand(im));
  operands.push_back(operand(to_re));
  if (!form.real_result) operands.push_back(operand(to_im));
  const DType dtype = sizeof(T) == 8 ? DType::kF64 : DType::kF32;
  auto fft = cpu::create_fft({dtype, form, p.outer}, table);
  ASSERT_TRUE(fft->run(operands).ok());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const Complex got(to_re[i], form.real_result ? 0 : static_cast<double>(to_im[i]));
    const Complex expected = form.real_result ? Complex(want[i].real()) : want[i];
    largest = std::max(largest, std::abs(expected));
    worst = std::max(worst, std::abs(got - expected));
  }
  EXPECT_LE(worst, largest * (sizeof(T) == 8 ? 3e-15 : 1e-6)) << "length " << p.length.back();
}

template <typename T>
void check_all_forms(const Problem& p, const cpu::LaneTable& table) {
  int64_t count = p.outer;
  for (int64_t n : p.length) count *= n;
  std::vector<Complex> x, real;
  for (int64_t i = 0; i < count; ++i) {
    x.emplace_back(std::cos(static_cast<double>(i * i % 1013)), std::sin(static_cast<double>(i)));
    real.emplace_back(x.back().real());
  }
  for (bool inverse : {false, true}) {
    std::vector<Complex> y = x;
    transform_all(y, p, inverse);
    check<T>(p, {inverse, false, false, p.length}, x, y, table);
  }
  std::vector<Complex> spectrum = real;
  transform_all(spectrum, p, false);
  spectrum = half_of(spectrum, p.length.back());
  check<T>(p, {false, true, false, p.length}, real, spectrum, table);
  check<T>(p, {true, false, true, p.length}, spectrum, real, table);
}

class CpuFft : public testing::TestWithParam<Problem> {};

TEST_P(CpuFft, AsInDouble) {
  for (auto level : {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    SCOPED_TRACE(cpu::isa_level_name(level));
    check_all_forms<float>(GetParam(), cpu::lane_table(level));
    check_all_forms<double>(GetParam(), cpu::lane_table(level));
  }
}

INSTANTIATE_TEST_SUITE_P(ShortLines, CpuFft,
                         testing::Values(Problem{7, {1}}, Problem{6, {2}}, Problem{16, {16}},
                                         Problem{17, {31}}, Problem{33, {100}}, Problem{19, {105}},
                                         Problem{40, {256}}, Problem{9, {1001}}));
INSTANTIATE_TEST_SUITE_P(LongLines, CpuFft,
                         testing::Values(Problem{1, {1}}, Problem{1, {2}}, Problem{2, {15}},
                                         Problem{1, {64}}, Problem{3, {1000}}, Problem{9, {2048}},
                                         Problem{1, {4095}}, Problem{1, {32768}},
                                         Problem{1, {65538}}));
INSTANTIATE_TEST_SUITE_P(Convolutions, CpuFft,
                         testing::Values(Problem{1, {37}}, Problem{20, {101}}, Problem{3, {1009}},
                                         Problem{1, {20014}}));
INSTANTIATE_TEST_SUITE_P(Dimensions, CpuFft,
                         testing::Values(Problem{2, {5, 3}}, Problem{1, {64, 48}},
                                         Problem{3, {7, 1, 20}}, Problem{1, {37, 6}},
                                         Problem{2, {16, 9, 10}}, Problem{1, {5000, 2}},
                                         Problem{1, {300, 500}}));

// What is not finite in one line stays in it.
TEST(CpuFft, LinesAreApart) {
  for (int64_t n : {8, 9, 4000}) {
    std::vector<float> x(static_cast<size_t>(16 * n), 1), re(16 * static_cast<size_t>(n / 2 + 1));
    std::vector<float> im = re;
    x[static_cast<size_t>(3 * n + 2)] = std::nanf("");
    auto fft = cpu::create_fft({DType::kF32, {false, true, false, {n}}, 16}, table());
    ASSERT_TRUE(fft->run(std::array{operand(x), operand(re), operand(im)}).ok());
    for (size_t i = 0; i < re.size(); ++i)
      EXPECT_EQ(std::isnan(re[i]), static_cast<int64_t>(i) / (n / 2 + 1) == 3) << i;
  }
}

}  // namespace
}  // namespace tuff::test
