// fft in double, one dimension after another, rounded once.
#include "ir/evaluate/ops.h"
#include "ir/ops/fourier.h"

namespace tuff::eval {

namespace {

// A tensor of complex numbers, row-major.
struct ComplexTensor {
  Shape shape;
  std::vector<std::complex<double>> elements;
};

ComplexTensor read_pair(const Literals& operands) {
  ComplexTensor x{operands[0].type().shape, {}};
  for (int64_t i = 0; i < operands[0].num_elements(); ++i)
    x.elements.emplace_back(operands[0].get_double(i),
                            operands.size() > 1 ? operands[1].get_double(i) : 0);
  return x;
}

// Each line along the dimension becomes what `change` makes of it, of `size` elements.
template <typename Change>
ComplexTensor change_lines(const ComplexTensor& x, size_t dimension, int64_t size,
                           const Change& change) {
  ComplexTensor y{x.shape, {}};
  y.shape[dimension] = size;
  int64_t length = x.shape[dimension], inner = 1;
  for (size_t d = dimension + 1; d < x.shape.size(); ++d) inner *= x.shape[d];
  y.elements.resize(static_cast<size_t>(num_elements(y.shape)));
  if (y.elements.empty()) return y;
  for (int64_t line = 0; line < num_elements(y.shape) / size; ++line) {
    int64_t outer = line / inner, within = line % inner;
    std::vector<std::complex<double>> elements(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i)
      elements[size_t(i)] = x.elements[size_t((outer * length + i) * inner + within)];
    change(elements);
    for (int64_t i = 0; i < size; ++i)
      y.elements[size_t((outer * size + i) * inner + within)] = elements[size_t(i)];
  }
  return y;
}

// The half of a real line's transform becomes all of it. What would make the line complex,
// the imaginary part of element 0 and of the middle one, does not count.
void complete_spectrum(std::vector<std::complex<double>>& line, int64_t n) {
  line.resize(static_cast<size_t>(n));
  line[0].imag(0);
  for (int64_t k = 1; 2 * k <= n; ++k)
    if (2 * k == n)
      line[size_t(k)].imag(0);
    else
      line[size_t(n - k)] = std::conj(line[size_t(k)]);
}

}  // namespace

Result<Literals> evaluate_fft(const Node& node, const Literals& operands) {
  FftForm form = fft_form(node);
  ComplexTensor x = read_pair(operands);
  size_t rank = x.shape.size(), first = rank - form.length.size();
  auto transform = [&](size_t dimension, int64_t size) {
    int64_t n = form.length[dimension - first];
    bool last = dimension + 1 == rank;
    x = change_lines(x, dimension, size, [&](std::vector<std::complex<double>>& line) {
      if (form.real_result && last) complete_spectrum(line, n);
      fourier_transform(line, form.inverse);
      for (auto& element : line)
        if (form.inverse) element /= static_cast<double>(n);
    });
  };
  // The half spectrum is the last dimension's: made first, completed last.
  if (!form.real_result) transform(rank - 1, node.types[0].shape.back());
  for (size_t d = first; d + 1 < rank; ++d) transform(d, x.shape[d]);
  if (form.real_result) transform(rank - 1, node.types[0].shape.back());
  Literals results;
  for (const TensorType& type : node.types) {
    Literal result(type);
    for (size_t i = 0; i < x.elements.size(); ++i)
      result.set_double(static_cast<int64_t>(i),
                        results.empty() ? x.elements[i].real() : x.elements[i].imag());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tuff::eval
