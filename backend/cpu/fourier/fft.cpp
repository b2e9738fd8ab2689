#include "backend/cpu/fourier/fft.h"

#include <vector>

#include "backend/cpu/fourier/fft_dimension.h"
#include "backend/cpu/thread_memory.h"

namespace tuff::cpu {

namespace {

// One dimension after another; where real numbers are, the last one has half the spectrum, which
// is made first and completed last.
template <typename T>
class Fft : public LibraryCall {
 public:
  Fft(const FftCall& call, const FftFns<T>& fns) : form_(call.form) {
    const size_t rank = form_.length.size();
    std::vector<int64_t> sizes = form_.length;
    if (is_real()) sizes.back() = half_spectrum(sizes.back());
    auto add = [&](size_t d, FftLines::Kind kind) {
      FftLines lines{kind, form_.inverse, call.outer, form_.length[d], 1};
      for (size_t i = 0; i < d; ++i) lines.outer *= sizes[i];
      for (size_t i = d + 1; i < rank; ++i) lines.inner *= sizes[i];
      dimensions_.emplace_back(lines, fns);
    };
    using Kind = FftLines::Kind;
    if (!form_.real_result) add(rank - 1, form_.real_input ? Kind::kRealToHalf : Kind::kComplex);
    for (size_t d = rank - 1; d-- > 0;) add(d, Kind::kComplex);
    if (form_.real_result) add(rank - 1, Kind::kHalfToReal);
    half_elements_ = call.outer;
    for (int64_t size : sizes) half_elements_ *= size;
  }

  Status run(std::span<const CallOperand> operands) override {
    auto at = [&](size_t i) { return reinterpret_cast<T*>(operands[i].data); };
    const size_t results = form_.operands();
    FftEnds<T> ends;
    ends.re = at(0);
    if (!form_.real_input) ends.im = at(1);
    // The other dimensions of a spectrum that becomes real lie in memory of ours.
    if (form_.real_result && dimensions_.size() > 1) {
      TUFF_RETURN_IF_ERROR(make_spectrum());
      ends.to_re = reinterpret_cast<T*>(spectrum_.get()), ends.to_im = ends.to_re + half_elements_;
    }
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      const bool last = i + 1 == dimensions_.size();
      if (!form_.real_result)
        ends.to_re = at(results), ends.to_im = at(results + 1);
      else if (last)
        ends.to_re = at(results), ends.to_im = nullptr;
      TUFF_RETURN_IF_ERROR(dimensions_[i].run(ends));
      ends.re = ends.to_re, ends.im = ends.to_im;
    }
    return {};
  }

 private:
  bool is_real() const { return form_.real_input || form_.real_result; }

  Status make_spectrum() {
    const int64_t bytes = 2 * half_elements_ * static_cast<int64_t>(sizeof(T));
    if (spectrum_ == nullptr) spectrum_ = allocate_aligned(bytes);
    if (spectrum_ == nullptr) return no_memory_for_part(bytes);
    return {};
  }

  FftForm form_;
  std::vector<FftDimension<T>> dimensions_;
  int64_t half_elements_ = 1;
  AlignedBytes spectrum_;
};

}  // namespace

LibraryCallPtr create_fft(const FftCall& call, const LaneTable& table) {
  if (call.dtype == DType::kF64) return std::make_unique<Fft<double>>(call, table.fft_f64);
  return std::make_unique<Fft<float>>(call, table.fft_f32);
}

}  // namespace tuff::cpu
