#include "backend/cpu/convolution/scaled_weights.h"

#include <algorithm>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

int64_t extent(const StridedTensor& tensor) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  return last + 1;
}

}  // namespace

bool ScaledWeights::can_scale(const StridedTensor& weights) {
  bool forward = std::all_of(weights.strides.begin(), weights.strides.end(),
                             [](int64_t stride) { return stride > 0; });
  return weights.dtype == DType::kF32 && weights.sizes[0] == 1 && forward &&
         num_elements(weights.sizes) > 0 && extent(weights) == num_elements(weights.sizes);
}

ScaledWeights::ScaledWeights(const StridedTensor& weights)
    : channels_(weights.sizes[1]),
      inner_(weights.sizes[1] == 1 ? 1 : weights.strides[1]),
      outer_(num_elements(weights.sizes) / (channels_ * inner_)),
      offset_(weights.offset) {}

void ScaledWeights::keep_in(DerivedOwner& owner) {
  kept_ = std::make_unique<DerivedOperand>(owner, DerivedKind::kScaledWeights, size_bytes());
}

CallOperand ScaledWeights::scale(const CallOperand& weights, const std::vector<float>& factors) {
  end();
  if (kept_) use_ = kept_->use(weights.version);
  if (use_.bytes == nullptr) copy_ = allocate_aligned(size_bytes());
  std::byte* bytes = use_.bytes != nullptr ? use_.bytes : copy_.get();
  if (bytes == nullptr) return {};
  if (use_.bytes != nullptr && kept_->holds(weights.version, factors)) return {bytes, 0};
  const float* from = reinterpret_cast<const float*>(weights.data) + offset_;
  auto* to = reinterpret_cast<float*>(bytes);
  SharedRange parts(outer_, std::max<int64_t>(1, outer_ / 64));
  in_parallel(max_threads(), [&](int) {
    for (int64_t part, last; parts.take(part, last);)
      for (; part < last; ++part) scale_part(from, part, factors, to);
  });
  if (use_.bytes != nullptr) kept_->set(weights.version, factors);
  return {bytes, 0};
}

void ScaledWeights::end() {
  use_ = {};
  copy_ = nullptr;
}

void ScaledWeights::scale_part(const float* weights, int64_t part,
                               const std::vector<float>& factors, float* to) const {
  const float* from = weights + part * channels_ * inner_;
  to += part * channels_ * inner_;
  if (inner_ == 1) {
    for (int64_t c = 0; c < channels_; ++c) to[c] = from[c] * factors[static_cast<size_t>(c)];
    return;
  }
  for (int64_t c = 0; c < channels_; ++c)
    for (int64_t i = c * inner_; i < (c + 1) * inner_; ++i)
      to[i] = from[i] * factors[static_cast<size_t>(c)];
}

}  // namespace tuff::cpu
