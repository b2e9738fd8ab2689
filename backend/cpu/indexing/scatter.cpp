#include "backend/cpu/indexing/scatter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/ops/neutral.h"
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {

namespace {

// Some nanoseconds an update; below this a second thread costs more than it brings.
constexpr int64_t kMinUpdates = 20'000;
// Parts of one scatter each look at all targets and take those in their share of the rows. Below
// both of these that does not pay: a program that adds 65,536 elements takes .16 to .23 ms with one
// thread here, .21 to .26 with two.
constexpr int64_t kMinSharedUpdates = 500'000, kMinSharedElements = 4'000'000;
// Of wide rows the looking is little of the work.
constexpr int64_t kWide = 16, kMinSharedWide = 500'000;
constexpr int kMaxParts = 8;

// Updates, of which a part takes those of rows [low, high), in order.
struct Updates {
  const int32_t* targets;
  int64_t count, low, high;
  bool all_rows;  // there are no others
  int64_t width;  // elements of a row
  bool alike;     // one element is all there is of `from`
  const std::byte* from;
  std::byte* to;
};

// Which rows are whose is beyond what a processor predicts: a part looks at so many updates
// without a branch, notes its own, and then puts them.
constexpr int64_t kLookAhead = 256;
// Of wider rows the functions of lanes are worth a call each.
constexpr int64_t kMaxInlineWidth = 16;

// Of the updates [first, first + count), those of the part; in order.
class Chosen {
 public:
  Chosen(const Updates& updates, int64_t first, int64_t count)
      : updates_(updates), first_(first), count_(count) {
    if (updates.all_rows) return;
    count_ = 0;
    for (int64_t i = first; i < first + count; ++i) {
      list_[static_cast<size_t>(count_)] = i;
      count_ += is_own(i) ? 1 : 0;
    }
  }

  // put(number of an update). Where all rows are the part's, a branch is predicted.
  template <typename Put>
  void for_each(const Put& put) const {
    if (updates_.all_rows) {
      for (int64_t i = first_; i < first_ + count_; ++i)
        if (is_own(i)) put(i);
    } else {
      for (int64_t i : std::span(list_).first(static_cast<size_t>(count_))) put(i);
    }
  }

 private:
  bool is_own(int64_t i) const {
    auto low = static_cast<uint64_t>(updates_.low);
    return static_cast<uint64_t>(int64_t{updates_.targets[i]}) - low <
           static_cast<uint64_t>(updates_.high) - low;
  }

  const Updates& updates_;
  int64_t first_, count_;
  std::array<int64_t, kLookAhead> list_;
};

template <typename T, typename Apply>
void put_elements(const Updates& updates, const Chosen& chosen, const Apply& apply) {
  const auto* from = reinterpret_cast<const T*>(updates.from);
  auto* to = reinterpret_cast<T*>(updates.to);
  const int64_t width = updates.width;
  if (updates.alike) {
    const T update = *from;
    chosen.for_each([&](int64_t i) { apply(to[updates.targets[i]], update); });
    return;
  }
  if (width == 1) {
    chosen.for_each([&](int64_t i) { apply(to[updates.targets[i]], from[i]); });
    return;
  }
  chosen.for_each([&](int64_t i) {
    T* row = to + updates.targets[i] * width;
    for (int64_t j = 0; j < width; ++j) apply(row[j], from[i * width + j]);
  });
}

using PutFn = void (*)(const Updates& updates, const Chosen& chosen);

template <typename T>
void set_elements(const Updates& updates, const Chosen& chosen) {
  put_elements<T>(updates, chosen, [](T& to, T from) { to = from; });
}
// Which is larger is beyond what a processor predicts: without a branch.
template <typename T>
__attribute__((always_inline)) inline T either(bool first, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  return std::bit_cast<T>(static_cast<Bits>(y ^ ((x ^ y) & -Bits{first})));
}
// What maximum and minimum compare.
template <Op op, typename T>
auto key(T a) {
  if constexpr (std::is_integral_v<T>)
    return a;
  else if constexpr (op == Op::kMaximum)
    return prelude::t_max_key(a);
  else
    return prelude::t_min_key(a);
}

// As the operations of kernels have it; sums and products of integers wrap.
template <Op op, typename T>
__attribute__((always_inline)) inline T combined(T a, T b) {
  constexpr bool largest = op == Op::kMaximum;
  if constexpr (largest || op == Op::kMinimum) {
    // Of two zeros, or where one is NaN, the keys decide.
    if constexpr (std::is_floating_point_v<T>)
      if (__builtin_islessgreater(a, b)) return largest ? std::max(a, b) : std::min(a, b);
    return either(largest ? key<op>(a) >= key<op>(b) : key<op>(a) <= key<op>(b), a, b);
  }
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    const auto x = static_cast<Bits>(a), y = static_cast<Bits>(b);
    return static_cast<T>(op == Op::kAdd ? x + y : x * y);
  } else {
    return op == Op::kAdd ? a + b : a * b;
  }
}

template <Op op, typename T>
void combine_elements(const Updates& updates, const Chosen& chosen) {
  put_elements<T>(updates, chosen, [](T& to, T from) { to = combined<op>(to, from); });
}

template <Op op>
PutFn combine_fn(DType dtype) {
  switch (dtype) {
    case DType::kF32: return combine_elements<op, float>;
    case DType::kF64: return combine_elements<op, double>;
    case DType::kI32: return combine_elements<op, int32_t>;
    case DType::kU32: return combine_elements<op, uint32_t>;
    case DType::kI64: return combine_elements<op, int64_t>;
    case DType::kU64: return combine_elements<op, uint64_t>;
    default: return nullptr;
  }
}

// What most scatters of narrow rows are; others go by the functions of lanes. Null: none.
PutFn put_fn(const ScatterCall& call) {
  constexpr PutFn kSet[] = {set_elements<uint8_t>, set_elements<uint16_t>, set_elements<uint32_t>,
                            set_elements<uint64_t>};
  if (call.width > kMaxInlineWidth) return nullptr;
  if (!call.op) return kSet[std::countr_zero(static_cast<uint64_t>(dtype_size(call.dtype)))];
  switch (*call.op) {
    case Op::kAdd: return combine_fn<Op::kAdd>(call.dtype);
    case Op::kMultiply: return combine_fn<Op::kMultiply>(call.dtype);
    case Op::kMaximum: return combine_fn<Op::kMaximum>(call.dtype);
    case Op::kMinimum: return combine_fn<Op::kMinimum>(call.dtype);
    default: return nullptr;
  }
}

// Many updates of few single elements: as many parts of them as this, whatever the threads, each
// with bins of its own, which are combined in order.
constexpr int64_t kBinParts = 8;
constexpr int64_t kMaxBins = 1 << 15, kMinUpdatesOfBin = 8;

bool has_bins(const ScatterCall& call) {
  return call.op && dtype_size(call.dtype) >= 4 && call.width == 1 && call.outer == 1 &&
         call.span <= kMaxBins && call.count >= kMinUpdates &&
         call.count >= kMinUpdatesOfBin * call.span;
}

class Scatter : public LibraryCall {
 public:
  Scatter(const ScatterCall& call, const LaneTable& table)
      : call_(call), put_(put_fn(call)), row_bytes_(call.width * dtype_size(call.dtype)) {
    const int64_t size = dtype_size(call.dtype);
    fill_ = table.moves[std::countr_zero(static_cast<uint64_t>(size))].fill;
    if (!call.op) return;
    const Literal neutral = neutral_value(*call.op, call.dtype).value();
    std::memcpy(&neutral_, neutral.bytes(), static_cast<size_t>(size));
    combine_ = table.compute[static_cast<size_t>(*call.op)][static_cast<size_t>(call.dtype)][0];
  }

  Status run(std::span<const CallOperand> operands) override {
    const auto* targets = reinterpret_cast<const int32_t*>(operands[0].data);
    const std::byte* updates = operands[1].data;
    if (has_bins(call_)) return combine_in_bins(targets, updates, operands[2].data);
    const int64_t elements = call_.outer * call_.count * call_.width;
    int64_t parts = is_shared(elements) ? std::min(max_threads(), kMaxParts) : 1;
    in_parallel(static_cast<int>(parts), [&](int) {
      // Fewer parts than asked for, where the system refuses threads.
      int64_t part = current_part(), shares = std::max(current_parts(), 1);
      bool by_outer = call_.outer >= shares;
      int64_t first = by_outer ? share(call_.outer, part, shares) : 0;
      int64_t last = by_outer ? share(call_.outer, part + 1, shares) : call_.outer;
      int64_t low = by_outer ? 0 : share(call_.span, part, shares);
      int64_t high = by_outer ? call_.span : share(call_.span, part + 1, shares);
      for (int64_t o = first; o < last; ++o)
        put({targets, call_.count, low, high, high - low == call_.span, call_.width, call_.alike,
             updates + o * call_.count * row_bytes_,
             operands[2].data + o * call_.span * row_bytes_});
    });
    return {};
  }

 private:
  bool is_shared(int64_t elements) const {
    if (call_.outer > 1) return elements >= kMinUpdates;
    return call_.count >= kMinSharedUpdates ||
           elements >= (call_.width >= kWide ? kMinSharedWide : kMinSharedElements);
  }

  static int64_t share(int64_t count, int64_t part, int64_t parts) { return count * part / parts; }

  Status combine_in_bins(const int32_t* targets, const std::byte* updates, std::byte* to) {
    const int64_t bytes = call_.span * row_bytes_;
    if (bins_ == nullptr) bins_ = allocate_aligned(kBinParts * bytes);
    if (bins_ == nullptr) return no_memory_for_part(kBinParts * bytes);
    SharedRange range(kBinParts, 1);
    in_parallel(static_cast<int>(std::min<int64_t>(max_threads(), kBinParts)), [&](int) {
      for (int64_t part, last; range.take(part, last);) {
        std::byte* bins = bins_.get() + part * bytes;
        fill_(call_.span, bins, &neutral_);
        int64_t first = share(call_.count, part, kBinParts);
        int64_t count = share(call_.count, part + 1, kBinParts) - first;
        put({targets + first, count, 0, call_.span, true, call_.width, call_.alike,
             call_.alike ? updates : updates + first * row_bytes_, bins});
      }
    });
    for (int64_t part = 0; part < kBinParts; ++part)
      combine_(call_.span, to, to, bins_.get() + part * bytes, nullptr);
    return {};
  }

  void put(const Updates& updates) const {
    for (int64_t first = 0; first < updates.count; first += kLookAhead) {
      const Chosen own(updates, first, std::min(kLookAhead, updates.count - first));
      if (put_)
        put_(updates, own);
      else
        put_rows(updates, own);
    }
  }

  void put_rows(const Updates& updates, const Chosen& chosen) const {
    chosen.for_each([&](int64_t i) {
      std::byte* to = updates.to + updates.targets[i] * row_bytes_;
      const std::byte* from = updates.alike ? updates.from : updates.from + i * row_bytes_;
      if (combine_)
        combine_(call_.width, to, to, from, nullptr);
      else
        std::memcpy(to, from, static_cast<size_t>(row_bytes_));
    });
  }

  ScatterCall call_;
  PutFn put_;
  LaneFn combine_ = nullptr;  // null: rows are copied
  int64_t row_bytes_;
  void (*fill_)(int64_t n, void* dst, const void* value) = nullptr;
  uint64_t neutral_ = 0;  // an element of bins before it gets any update
  AlignedBytes bins_;
};

}  // namespace

LibraryCallPtr create_scatter(const ScatterCall& call, const LaneTable& table) {
  return std::make_unique<Scatter>(call, table);
}

}  // namespace tuff::cpu
