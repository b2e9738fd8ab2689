#include "backend/cpu/convolution/window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// About 0.2 ns an element of a window; below this a second thread costs more than it brings.
constexpr int64_t kMinParallelTaps = 100'000;

class Window : public LibraryCall {
 public:
  Window(const WindowCall& call, const LaneTable& table)
      : call_(call),
        combine_(table.compute[static_cast<size_t>(call.op)][static_cast<size_t>(DType::kF32)][0]),
        outside_(static_cast<size_t>(call.columns), call.initial),
        outside_counts_(call.initial != neutral(call.op)) {
    for (const WindowCall::Dim& dim : call.dims) rows_ *= dim.results, taps_ *= dim.window;
    parallel_ = rows_ * taps_ * call.columns >= kMinParallelTaps;
  }

  Status run(std::span<const CallOperand> operands) override {
    const float* from = reinterpret_cast<const float*>(operands[0].data) + call_.offset;
    auto* to = reinterpret_cast<float*>(operands[1].data);
    int threads = parallel_ ? max_threads() : 1;
    SharedRange range(rows_, std::max<int64_t>(1, rows_ / (threads * 8)));
    in_parallel(threads, [&](int) {
      for (int64_t row, last; range.take(row, last);)
        for (; row < last; ++row) reduce(row, from, to + row * call_.columns);
    });
    return {};
  }

 private:
  static float neutral(Op op) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (op == Op::kAdd) return 0;
    return op == Op::kMultiply ? 1 : op == Op::kMaximum ? -kInfinity : kInfinity;
  }

  using Index = std::array<int64_t, WindowCall::kMaxDims>;

  void reduce(int64_t row, const float* from, float* to) const {
    const size_t rank = call_.dims.size();
    Index first{}, tap{};  // where the window begins; the place in it
    for (size_t d = rank; d-- > 0; row /= call_.dims[d].results)
      first[d] = row % call_.dims[d].results * call_.dims[d].step - call_.dims[d].padding_low;
    std::copy(outside_.begin(), outside_.end(), to);
    for (int64_t t = 0; t < taps_; ++t) {
      const float* input = columns_at(first, tap, from);
      if (input == nullptr && outside_counts_) input = outside_.data();
      if (input != nullptr) combine_(call_.columns, to, to, input, nullptr);
      for (size_t d = rank; d-- > 0; tap[d] = 0)
        if (++tap[d] < call_.dims[d].window) break;
    }
  }

  // Null outside of the input.
  const float* columns_at(const Index& first, const Index& tap, const float* from) const {
    for (size_t d = 0; d < call_.dims.size(); ++d) {
      const WindowCall::Dim& dim = call_.dims[d];
      int64_t place = first[d] + tap[d] * dim.dilation;
      if (place < 0) return nullptr;
      if (dim.base_dilation > 1) {
        if (place % dim.base_dilation != 0) return nullptr;
        place /= dim.base_dilation;
      }
      if (place >= dim.inputs) return nullptr;
      from += place * dim.stride;
    }
    return from;
  }

  WindowCall call_;
  LaneFn combine_;
  std::vector<float> outside_;  // a row of what stands where the input ends
  bool outside_counts_;
  int64_t rows_ = 1, taps_ = 1;
  bool parallel_ = false;
};

}  // namespace

LibraryCallPtr create_window(const WindowCall& call, const LaneTable& table) {
  return std::make_unique<Window>(call, table);
}

}  // namespace tuff::cpu
