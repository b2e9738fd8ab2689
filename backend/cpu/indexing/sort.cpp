// Long rows are sorted digit by digit, from the last one on (LSD radix sort): what has the same
// digit keeps its order, so the result is stable. Short ones by merging.
#include "backend/cpu/indexing/sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Below this a second thread costs more than it brings.
constexpr int64_t kMinParallelSort = 20'000;
constexpr int64_t kMergedRow = 256;  // up to this, merging takes less
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr int kMostParts = 64;

using Counts = std::array<int32_t, kDigits>;

template <typename Key>
struct Item {
  Key key;
  int32_t index;
};

// A number without a sign, in the order of the elements.
template <bool is_float, typename Element>
auto key_of(Element element) {
  using Bits = std::make_unsigned_t<Element>;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto bits = static_cast<Bits>(element);
  if constexpr (is_float)
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  else if constexpr (std::is_signed_v<Element>)
    return static_cast<Bits>(bits ^ kSign);
  else
    return bits;
}

template <typename Key>
size_t digit_of(Key key, int shift) {
  return static_cast<size_t>(key >> shift) & (kDigits - 1);
}

// The items of a row, which the parts of parallel work sort together: each has a share of them.
template <typename Key>
class RadixSort {
 public:
  // Room for twice n items; the first n are sorted. counts: of each part.
  RadixSort(Item<Key>* items, int64_t n, Counts* counts) : items_(items), n_(n), counts_(counts) {}

  // Where they lie sorted.
  Item<Key>* sort(int part, int parts) {
    Item<Key>*from = items_, *to = items_ + n_;
    auto wait = [&] {
      if (parts > 1) barrier();
    };
    const int64_t first = n_ * part / parts, last = n_ * (part + 1) / parts;
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += kDigitBits) {
      counts_[part].fill(0);
      for (int64_t i = first; i < last; ++i) ++counts_[part][digit_of(from[i].key, shift)];
      wait();
      Counts places;
      const bool moves = place(part, parts, places);
      if (moves)
        for (int64_t i = first; i < last; ++i) to[places[digit_of(from[i].key, shift)]++] = from[i];
      wait();
      if (moves) std::swap(from, to);
    }
    return from;
  }

 private:
  // Where the part's items of each digit go. False where all items have one.
  bool place(int part, int parts, Counts& places) const {
    int32_t at = 0;
    bool moves = true;
    for (size_t digit = 0; digit < kDigits; ++digit) {
      const int32_t first = at;
      for (int other = 0; other < parts; ++other) {
        if (other == part) places[digit] = at;
        at += counts_[other][digit];
      }
      moves &= at - first < n_;
    }
    return moves;
  }

  Item<Key>* items_;
  int64_t n_;
  Counts* counts_;
};

template <typename Element, bool is_float>
class RowSort {
 public:
  using Key = decltype(key_of<is_float>(Element{}));

  RowSort(const SortCall& call, const std::byte* rows, int32_t* order)
      : call_(call), rows_(reinterpret_cast<const Element*>(rows)), order_(order) {}

  Status run() const {
    const int64_t bytes = 2 * call_.n * static_cast<int64_t>(sizeof(Item<Key>));
    const int threads = std::min(max_threads(), kMostParts);
    if (call_.rows < threads && call_.n >= kMinParallelSort) return run_together(threads, bytes);
    std::atomic<bool> has_memory = true;
    SharedRange range(call_.rows, 1);
    in_parallel(call_.rows * call_.n >= kMinParallelSort ? threads : 1, [&](int) {
      auto* items = reinterpret_cast<Item<Key>*>(thread_memory(static_cast<size_t>(bytes)));
      if (items == nullptr) has_memory = false;
      for (int64_t row, last; items != nullptr && range.take(row, last);) sort_row(row, items);
    });
    return has_memory ? Status() : no_memory_for_part(bytes);
  }

 private:
  // One row after another, each by all threads.
  Status run_together(int threads, int64_t bytes) const {
    AlignedBytes memory = allocate_aligned(bytes);
    if (memory == nullptr) return no_memory_for_part(bytes);
    auto* items = reinterpret_cast<Item<Key>*>(memory.get());
    std::array<Counts, kMostParts> counts;
    for (int64_t row = 0; row < call_.rows; ++row)
      in_parallel(threads, [&](int part) {
        const int parts = current_parts();
        const int64_t first = call_.n * part / parts, last = call_.n * (part + 1) / parts;
        load(row, first, last, items);
        if (parts > 1) barrier();
        const Item<Key>* sorted = RadixSort<Key>(items, call_.n, counts.data()).sort(part, parts);
        store(row, first, last, sorted);
      });
    return {};
  }

  void sort_row(int64_t row, Item<Key>* items) const {
    load(row, 0, call_.n, items);
    const Item<Key>* sorted = items;
    if (call_.n <= kMergedRow) {
      merge_sort(items);
    } else {
      Counts counts;
      sorted = RadixSort<Key>(items, call_.n, &counts).sort(0, 1);
    }
    store(row, 0, call_.n, sorted);
  }

  // Insertion into runs of a few, which are merged two by two.
  void merge_sort(Item<Key>* items) const {
    constexpr int64_t kRun = 16;
    const int64_t n = call_.n;
    for (int64_t first = 0; first < n; first += kRun)
      for (int64_t i = first + 1; i < std::min(first + kRun, n); ++i) {
        const Item<Key> item = items[i];
        int64_t to = i;
        for (; to > first && item.key < items[to - 1].key; --to) items[to] = items[to - 1];
        items[to] = item;
      }
    auto less = [](const Item<Key>& a, const Item<Key>& b) { return a.key < b.key; };
    Item<Key>*from = items, *to = items + n;
    for (int64_t run = kRun; run < n; run *= 2, std::swap(from, to))
      for (int64_t first = 0; first < n; first += 2 * run) {
        Item<Key>*middle = from + std::min(first + run, n),
        *last = from + std::min(first + 2 * run, n);
        std::merge(from + first, middle, middle, last, to + first, less);
      }
    if (from != items) std::copy_n(from, n, items);
  }

  int32_t* order_of(int64_t row) const {
    return order_ + row / call_.inner * call_.n * call_.inner + row % call_.inner;
  }

  void load(int64_t row, int64_t first, int64_t last, Item<Key>* items) const {
    const Element* elements = rows_ + row * call_.n;
    const int32_t* order = order_of(row);
    const Key flip = call_.descending ? static_cast<Key>(~Key{0}) : Key{0};
    for (int64_t i = first; i < last; ++i) {
      const auto index = call_.refines ? order[i * call_.inner] : static_cast<int32_t>(i);
      items[i] = {static_cast<Key>(key_of<is_float>(elements[index]) ^ flip), index};
    }
  }

  void store(int64_t row, int64_t first, int64_t last, const Item<Key>* items) const {
    int32_t* order = order_of(row);
    for (int64_t i = first; i < last; ++i) order[i * call_.inner] = items[i].index;
  }

  const SortCall& call_;
  const Element* rows_;
  int32_t* order_;
};

template <typename Element, bool is_float = false>
Status sort_rows(const SortCall& call, const std::byte* rows, int32_t* order) {
  return RowSort<Element, is_float>(call, rows, order).run();
}

using SortFn = Status (*)(const SortCall& call, const std::byte* rows, int32_t* order);

SortFn sort_fn(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16: return sort_rows<int16_t, true>;
    case DType::kF32: return sort_rows<int32_t, true>;
    case DType::kF64: return sort_rows<int64_t, true>;
    case DType::kI8: return sort_rows<int8_t>;
    case DType::kI16: return sort_rows<int16_t>;
    case DType::kI32: return sort_rows<int32_t>;
    case DType::kI64: return sort_rows<int64_t>;
    case DType::kBool:
    case DType::kU8: return sort_rows<uint8_t>;
    case DType::kU16: return sort_rows<uint16_t>;
    case DType::kU32: return sort_rows<uint32_t>;
    case DType::kU64: return sort_rows<uint64_t>;
    default: break;  // no key of a sort
  }
  return nullptr;
}

class Sort : public LibraryCall {
 public:
  explicit Sort(const SortCall& call) : call_(call), sort_(sort_fn(call.dtype)) {}

  Status run(std::span<const CallOperand> operands) override {
    if (call_.n == 0) return {};
    return sort_(call_, operands[0].data, reinterpret_cast<int32_t*>(operands[1].data));
  }

 private:
  SortCall call_;
  SortFn sort_;
};

}  // namespace

LibraryCallPtr create_sort(const SortCall& call) { return std::make_unique<Sort>(call); }

}  // namespace tuff::cpu
