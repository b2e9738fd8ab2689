#include "backend/cpu/indexing/top_k.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Below this a second thread costs more than it brings.
constexpr int64_t kMinParallelKeys = 50'000;

// The order of floats is that of their bits as integers, of negative ones turned round.
template <typename Bits, bool is_float>
Bits key_of(Bits bits) {
  if constexpr (!is_float)
    return bits;
  else
    return static_cast<Bits>(bits ^
                             ((bits >> (8 * sizeof(Bits) - 1)) & std::numeric_limits<Bits>::max()));
}

// The greatest k keys of one row after another. Keys above a threshold are candidates, which are
// cut down to k, and the threshold raised, when they are too many.
template <typename Bits, bool is_float>
class Selector {
 public:
  explicit Selector(const TopKCall& call)
      : n_(call.n), k_(static_cast<size_t>(call.k)), most_(2 * k_ + kChunk) {
    found_.reserve(most_ + kChunk);
  }

  void select(const Bits* row, int32_t* order) {
    found_.clear();
    full_ = false;
    for (int64_t at = 0; at < n_; at += kChunk) {
      int64_t count = std::min(kChunk, n_ - at);
      if (full_ && !any_above(row + at, count)) continue;
      for (int64_t i = at; i < at + count; ++i) {
        Bits key = key_of<Bits, is_float>(row[i]);
        if (!full_ || key > threshold_) found_.push_back({key, static_cast<int32_t>(i)});
      }
      if (found_.size() >= most_) keep_greatest();
    }
    auto end = found_.begin() + static_cast<int64_t>(k_);
    std::partial_sort(found_.begin(), end, found_.end());
    std::transform(found_.begin(), end, order, [](const Candidate& c) { return c.index; });
  }

 private:
  static constexpr int64_t kChunk = 64;
  struct Candidate {
    Bits key;
    int32_t index;
    bool operator<(const Candidate& other) const {  // stands before
      return key != other.key ? key > other.key : index < other.index;
    }
  };

  bool any_above(const Bits* keys, int64_t count) const {
    Bits above = 0;
    for (int64_t i = 0; i < count; ++i)
      above |= static_cast<Bits>(key_of<Bits, is_float>(keys[i]) > threshold_);
    return above != 0;
  }

  // What comes later with the least of the kept keys stands behind them all.
  void keep_greatest() {
    auto last = found_.begin() + static_cast<int64_t>(k_) - 1;
    std::nth_element(found_.begin(), last, found_.end());
    threshold_ = last->key;
    full_ = true;
    found_.resize(k_);
  }

  int64_t n_;
  size_t k_, most_;
  std::vector<Candidate> found_;
  bool full_ = false;  // the threshold counts
  Bits threshold_{};
};

template <typename Bits, bool is_float = false>
void select_rows(const TopKCall& call, const std::byte* rows, int32_t* order) {
  const auto* keys = reinterpret_cast<const Bits*>(rows);
  bool parallel = call.rows * call.n >= kMinParallelKeys;
  SharedRange range(call.rows, 1);
  in_parallel(parallel ? max_threads() : 1, [&](int) {
    Selector<Bits, is_float> selector(call);
    for (int64_t row, last; range.take(row, last);)
      selector.select(keys + row * call.n, order + row * call.k);
  });
}

using SelectFn = void (*)(const TopKCall& call, const std::byte* rows, int32_t* order);

SelectFn select_fn(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16: return select_rows<int16_t, true>;
    case DType::kF32: return select_rows<int32_t, true>;
    case DType::kF64: return select_rows<int64_t, true>;
    case DType::kI8: return select_rows<int8_t>;
    case DType::kI16: return select_rows<int16_t>;
    case DType::kI32: return select_rows<int32_t>;
    case DType::kI64: return select_rows<int64_t>;
    case DType::kBool:
    case DType::kU8: return select_rows<uint8_t>;
    case DType::kU16: return select_rows<uint16_t>;
    case DType::kU32: return select_rows<uint32_t>;
    case DType::kU64: return select_rows<uint64_t>;
    default: break;  // no element type of a graph
  }
  return nullptr;
}

class TopK : public LibraryCall {
 public:
  explicit TopK(const TopKCall& call) : call_(call), select_(select_fn(call.dtype)) {}

  Status run(std::span<const CallOperand> operands) override {
    if (call_.k > 0) select_(call_, operands[0].data, reinterpret_cast<int32_t*>(operands[1].data));
    return {};
  }

 private:
  TopKCall call_;
  SelectFn select_;
};

}  // namespace

LibraryCallPtr create_top_k(const TopKCall& call) { return std::make_unique<TopK>(call); }

}  // namespace tuff::cpu
