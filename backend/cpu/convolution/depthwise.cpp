#include "backend/cpu/convolution/depthwise.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/convolution/depthwise_row.h"
#include "backend/cpu/convolution/one_pass.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/support/parts.h"

namespace tuff::cpu {

namespace {

// Below this a second thread costs more than it brings: loads bound such sums.
constexpr double kMinParallelSums = 2e5;
// Channels of a task: so many make a task long enough, and two threads share short pictures.
constexpr int64_t kTaskChannels = 128;

class Depthwise : public LibraryCall {
 public:
  Depthwise(const ConvolutionCall& call, bool stable_weights, const LaneTable& table,
            DerivedOwner& owner)
      : call_(call),
        table_(table),
        channels_(call.weights.sizes[0]),
        taps_(call.weights.sizes[3] * call.weights.sizes[4]),
        rows_(call.destination.sizes[0] * call.destination.sizes[2]),
        blocks_(ceil_div(channels_, kTaskChannels)),
        one_pass_(call.post_ops, rows_ * call.destination.sizes[3], channels_, table) {
    double sums = static_cast<double>(num_elements(call.destination.sizes) * taps_);
    threads_ = sums < kMinParallelSums ? 1 : max_threads();
    if (stable_weights) kept_.emplace(owner, DerivedKind::kWindowTaps, packed_bytes());
  }

  Status run(std::span<const CallOperand> operands) override {
    auto* result = reinterpret_cast<float*>(operands.back().data) + call_.destination.offset;
    one_pass_.begin(operands.subspan(2), result);
    DerivedOperand::Use kept;
    if (kept_) kept = kept_->use(operands[1].version);
    TUFF_RETURN_IF_ERROR(pack(operands[1], kept.bytes));
    const float* source = reinterpret_cast<const float*>(operands[0].data) + call_.source.offset;
    const int64_t tasks = rows_ * blocks_;
    // Neighbours by the same thread: what it has computed of the source lies near it.
    SplitRange range(tasks, threads_);
    in_parallel(threads_, [&](int part) {
      std::vector<const float*> window(static_cast<size_t>(call_.weights.sizes[3]));
      for (int64_t task, next; range.take(part, task, next);)
        sum_row(task / blocks_, task % blocks_ * kTaskChannels, source, result, window);
    });
    one_pass_.finish();
    return {};
  }

 private:
  int64_t packed_bytes() const { return taps_ * channels_ * 4; }

  // The weights times the factors of their channels, a row of channels for each of a window's
  // elements.
  Status pack(const CallOperand& weights, std::byte* kept) {
    const std::vector<float>& factors = one_pass_.factors();
    if (kept == nullptr && own_ == nullptr) own_ = allocate_aligned(packed_bytes());
    std::byte* memory = kept != nullptr ? kept : own_.get();
    if (memory == nullptr) return no_memory_for_part(packed_bytes());
    packed_ = reinterpret_cast<float*>(memory);
    if (kept != nullptr && kept_->holds(weights.version, factors)) return {};
    const float* from = reinterpret_cast<const float*>(weights.data) + call_.weights.offset;
    const std::vector<int64_t>& strides = call_.weights.strides;
    const int64_t window_x = call_.weights.sizes[4];
    for (int64_t t = 0; t < taps_; ++t)
      for (int64_t c = 0; c < channels_; ++c)
        packed_[t * channels_ + c] =
            from[c * strides[0] + t / window_x * strides[3] + t % window_x * strides[4]] *
            factors[static_cast<size_t>(c)];
    if (kept != nullptr) kept_->set(weights.version, factors);
    return {};
  }

  // Channels from `channel` on of a row of the result.
  void sum_row(int64_t row, int64_t channel, const float* source, float* result,
               std::vector<const float*>& window) const {
    const std::vector<int64_t>&from = call_.source.sizes, &to = call_.destination.sizes;
    const int64_t image = row / to[2], at_y = row % to[2] * call_.strides[0];
    for (size_t y = 0; y < window.size(); ++y) {
      int64_t line = at_y + static_cast<int64_t>(y) * call_.dilations[0] - call_.padding_low[0];
      bool inside = line >= 0 && line < from[2];
      window[y] =
          inside ? source + (image * from[2] + line) * from[3] * channels_ + channel : nullptr;
    }
    DepthwiseRow r;
    r.results = to[3], r.width = from[3];
    r.channels = std::min(kTaskChannels, channels_ - channel), r.step = channels_;
    r.window_y = call_.weights.sizes[3], r.window_x = call_.weights.sizes[4];
    r.stride = call_.strides[1], r.dilation = call_.dilations[1];
    r.padding = call_.padding_low[1];
    r.rows = window.data();
    r.weights = packed_ + channel;
    const int64_t place = row * to[3] * channels_ + channel;
    if (const float* addend = one_pass_.addend()) r.addend = addend + place;
    if (const float* shifts = one_pass_.shifts()) r.shifts = shifts + channel;
    r.least = one_pass_.least(), r.most = one_pass_.most();
    r.result = result + place;
    table_.depthwise_row(r);
    if (RowsFn function = one_pass_.function())
      function(r.results, r.channels, r.result, channels_);
  }

  const ConvolutionCall call_;
  const LaneTable& table_;
  const int64_t channels_, taps_, rows_, blocks_;
  OnePass one_pass_;
  int threads_ = 1;
  std::optional<DerivedOperand> kept_;
  AlignedBytes own_;         // where no copy is kept
  float* packed_ = nullptr;  // of this run
};

}  // namespace

LibraryCallPtr create_depthwise(const ConvolutionCall& call, bool stable_weights,
                                const LaneTable& table, DerivedOwner& owner) {
  return std::make_unique<Depthwise>(call, stable_weights, table, owner);
}

}  // namespace tuff::cpu
