#include "backend/cpu/convolution/window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// About 0.2 ns an element of a window; below this a second thread costs more than it brings.
constexpr int64_t kMinParallelTaps = 100'000;

// In a dimension, the taps of a window that lie on inputs: how many, where the first one is and how
// far the next, in elements of A.
struct Taps {
  int64_t count = 0, first = 0, next = 0;
};

Taps taps_at(const WindowCall::Dim& dim, int64_t result) {
  const int64_t begin = result * dim.step - dim.padding_low;
  const int64_t period = dim.base_dilation / std::gcd(dim.base_dilation, dim.dilation);
  auto place = [&](int64_t tap) { return begin + tap * dim.dilation; };
  int64_t tap = begin < 0 ? (dim.dilation - 1 - begin) / dim.dilation : 0;
  // All inputs lie on multiples of the base dilation, the last one among its first `period` taps.
  for (int64_t tries = 1; tries < period && place(tap) % dim.base_dilation != 0; ++tries) ++tap;
  if (place(tap) % dim.base_dilation != 0) return {};
  const int64_t behind = dim.inputs * dim.base_dilation - place(tap);
  if (tap >= dim.window || behind <= 0) return {};
  const int64_t inside = (behind - 1) / (dim.dilation * period) + 1;
  return {std::min(inside, (dim.window - 1 - tap) / period + 1),
          place(tap) / dim.base_dilation * dim.stride,
          period * dim.dilation / dim.base_dilation * dim.stride};
}

// Of all results of a dimension, or of none where they are many.
std::vector<Taps> taps_of(const WindowCall::Dim& dim) {
  constexpr int64_t kMostKept = 4096;
  std::vector<Taps> taps;
  for (int64_t i = 0; dim.results <= kMostKept && i < dim.results; ++i)
    taps.push_back(taps_at(dim, i));
  return taps;
}

class Window : public LibraryCall {
 public:
  Window(const WindowCall& call, const LaneTable& table)
      : call_(call),
        combine_(table.compute[static_cast<size_t>(call.op)][static_cast<size_t>(DType::kF32)][0]),
        fold_(table.fold_window[static_cast<size_t>(fold_of(call.op))]),
        outside_(static_cast<size_t>(call.columns), call.initial),
        outside_counts_(call.initial != neutral(call.op)) {
    if (call_.dims.empty()) call_.dims.emplace_back();
    for (const WindowCall::Dim& dim : call_.dims) {
      rows_ *= dim.results, taps_ *= dim.window;
      taps_of_.push_back(taps_of(dim));
    }
    parallel_ = rows_ * taps_ * call.columns >= kMinParallelTaps;
  }

  Status run(std::span<const CallOperand> operands) override {
    const float* from = reinterpret_cast<const float*>(operands[0].data) + call_.offset;
    auto* to = reinterpret_cast<float*>(operands[1].data);
    int threads = parallel_ ? max_threads() : 1;
    SharedRange range(rows_, std::max<int64_t>(1, rows_ / (threads * 8)));
    in_parallel(threads, [&](int) {
      for (int64_t row, last; range.take(row, last);) {
        float* result = to + row * call_.columns;
        if (!outside_counts_) reduce_inputs(row, last, from, result);
        for (; outside_counts_ && row < last; ++row, result += call_.columns)
          reduce_all(row, from, result);
      }
    });
    return {};
  }

 private:
  static float neutral(Op op) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (op == Op::kAdd) return 0;
    return op == Op::kMultiply ? 1 : op == Op::kMaximum ? -kInfinity : kInfinity;
  }

  static WindowFold fold_of(Op op) {
    if (op == Op::kAdd) return WindowFold::kAdd;
    if (op == Op::kMultiply) return WindowFold::kMultiply;
    return op == Op::kMaximum ? WindowFold::kMaximum : WindowFold::kMinimum;
  }

  using Index = std::array<int64_t, WindowCall::kMaxDims>;

  // Rows where what stands outside changes nothing.
  void reduce_inputs(int64_t row, int64_t last, const float* from, float* to) const {
    Index result{};
    std::array<Taps, WindowCall::kMaxDims> taps;
    const size_t inner = call_.dims.size() - 1;
    int64_t rest = row;
    for (size_t d = inner + 1; d-- > 0; rest /= call_.dims[d].results) {
      result[d] = rest % call_.dims[d].results;
      taps[d] = find_taps(d, result[d]);
    }
    OpenFold fold;
    fold.rows = {.columns = call_.columns, .from = from, .initial = call_.initial};
    fold.rows.offsets = fold.offsets.data();
    std::vector<int64_t> lines;  // where those of the last dimension begin that a window has
    add_lines(std::span(taps.data(), inner), 0, lines);
    while (row < last) {
      fold.rows.to = to, fold.rows.sum = nullptr;
      const int64_t count = find_alike(taps[inner], result[inner], last - row, fold.rows.advance);
      fold.rows.results = count;
      for (int64_t line : lines) add_taps(taps[inner], line, fold);
      if (fold.rows.taps > 0 || fold.rows.sum == nullptr) fold_taps(fold);
      row += count, to += count * call_.columns, result[inner] += count - 1;
      bool carries = true;
      for (size_t d = inner + 1; carries && d-- > 0;) {
        carries = ++result[d] == call_.dims[d].results;
        if (carries) result[d] = 0;
        taps[d] = find_taps(d, result[d]);
      }
      if (result[inner] > 0) continue;
      lines.clear();
      add_lines(std::span(taps.data(), inner), 0, lines);
    }
  }

  Taps find_taps(size_t dim, int64_t result) const {
    const std::vector<Taps>& kept = taps_of_[dim];
    return kept.empty() ? taps_at(call_.dims[dim], result) : kept[static_cast<size_t>(result)];
  }

  // How many results of the last dimension, `result` first, have as many taps, each `advance`
  // elements behind those of the one before.
  int64_t find_alike(const Taps& first, int64_t result, int64_t most, int64_t& advance) const {
    const size_t inner = call_.dims.size() - 1;
    most = std::min(most, call_.dims[inner].results - result);
    advance = 0;
    Taps before = first;
    int64_t count = 1;
    for (; count < most; ++count) {
      const Taps taps = find_taps(inner, result + count);
      if (taps.count != first.count || taps.next != first.next) break;
      if (count == 1) advance = taps.first - first.first;
      if (taps.first - before.first != advance) break;
      before = taps;
    }
    return count;
  }

  void add_lines(std::span<const Taps> taps, int64_t from, std::vector<int64_t>& lines) const {
    if (taps.empty()) return lines.push_back(from);
    from += taps[0].first;
    for (int64_t i = 0; i < taps[0].count; ++i, from += taps[0].next)
      add_lines(taps.subspan(1), from, lines);
  }

  // Inputs that are still to be folded into a result.
  struct OpenFold {
    WindowRows rows;
    std::array<int64_t, 64> offsets;
  };

  // Those that do not fit are folded.
  void add_taps(const Taps& taps, int64_t line, OpenFold& fold) const {
    line += taps.first;
    for (int64_t i = 0; i < taps.count; ++i, line += taps.next) {
      if (fold.rows.taps == std::ssize(fold.offsets)) fold_taps(fold);
      fold.offsets[static_cast<size_t>(fold.rows.taps++)] = line;
    }
  }

  void fold_taps(OpenFold& fold) const {
    fold_(fold.rows);
    fold.rows.taps = 0, fold.rows.sum = fold.rows.to;
  }

  void reduce_all(int64_t row, const float* from, float* to) const {
    const size_t rank = call_.dims.size();
    Index first{}, tap{};  // where the window begins; the place in it
    for (size_t d = rank; d-- > 0; row /= call_.dims[d].results)
      first[d] = row % call_.dims[d].results * call_.dims[d].step - call_.dims[d].padding_low;
    std::copy(outside_.begin(), outside_.end(), to);
    for (int64_t t = 0; t < taps_; ++t) {
      const float* input = columns_at(first, tap, from);
      combine_(call_.columns, to, to, input != nullptr ? input : outside_.data(), nullptr);
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
  void (*fold_)(const WindowRows& rows);
  std::vector<float> outside_;  // a row of what stands where the input ends
  bool outside_counts_;
  std::vector<std::vector<Taps>> taps_of_;  // by dimension and result
  int64_t rows_ = 1, taps_ = 1;
  bool parallel_ = false;
};

}  // namespace

LibraryCallPtr create_window(const WindowCall& call, const LaneTable& table) {
  return std::make_unique<Window>(call, table);
}

}  // namespace tuff::cpu
