#include "backend/cpu/indexing/scatter.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Some nanoseconds an update; below this a second thread costs more than it brings.
constexpr int64_t kMinParallelElements = 20'000;
// Each part looks at all targets and takes those in its share of the rows.
constexpr int kMaxParts = 8;

// The updates of rows [low, high), in order.
struct Updates {
  const int32_t* targets;
  int64_t count, low, high;
  const std::byte* from;
  std::byte* to;
};

// Of one element each. Those of other rows go to a place of their own: which rows are whose is
// beyond what a processor predicts.
template <typename T, typename Apply>
void put_elements(const Updates& updates, const Apply& apply) {
  const auto* from = reinterpret_cast<const T*>(updates.from);
  auto* to = reinterpret_cast<T*>(updates.to);
  auto rows = static_cast<uint64_t>(updates.high - updates.low);
  T elsewhere{};
  for (int64_t i = 0; i < updates.count; ++i) {
    int64_t row = updates.targets[i];
    T* place = static_cast<uint64_t>(row - updates.low) < rows ? to + row : &elsewhere;
    apply(*place, from[i]);
  }
}

using PutFn = void (*)(const Updates& updates);

template <typename T>
void set_elements(const Updates& updates) {
  put_elements<T>(updates, [](T& to, T from) { to = from; });
}
template <typename T>
void add_elements(const Updates& updates) {
  put_elements<T>(updates, [](T& to, T from) { to += from; });
}

// What most scatters of single elements are; others go by the functions of lanes. Null: none.
PutFn put_fn(const ScatterCall& call) {
  constexpr PutFn kSet[] = {set_elements<uint8_t>, set_elements<uint16_t>, set_elements<uint32_t>,
                            set_elements<uint64_t>};
  if (call.width != 1 || (call.op && *call.op != Op::kAdd)) return nullptr;
  auto size = static_cast<uint64_t>(dtype_size(call.dtype));
  if (!call.op) return kSet[std::countr_zero(size)];
  if (call.dtype == DType::kF32) return add_elements<float>;
  if (call.dtype == DType::kF64) return add_elements<double>;
  return size == 4 ? add_elements<uint32_t> : add_elements<uint64_t>;
}

class Scatter : public LibraryCall {
 public:
  Scatter(const ScatterCall& call, const LaneTable& table)
      : call_(call), put_(put_fn(call)), row_bytes_(call.width * dtype_size(call.dtype)) {
    if (call.op)
      combine_ = table.compute[static_cast<size_t>(*call.op)][static_cast<size_t>(call.dtype)][0];
  }

  Status run(std::span<const CallOperand> operands) override {
    const auto* targets = reinterpret_cast<const int32_t*>(operands[0].data);
    const std::byte* updates = operands[1].data;
    bool parallel = call_.outer * call_.count * call_.width >= kMinParallelElements;
    int64_t parts = parallel ? std::min(max_threads(), kMaxParts) : 1;
    in_parallel(static_cast<int>(parts), [&](int) {
      // Fewer parts than asked for, where the system refuses threads.
      int64_t part = current_part(), shares = std::max(current_parts(), 1);
      bool by_outer = call_.outer >= shares;
      int64_t first = by_outer ? share(call_.outer, part, shares) : 0;
      int64_t last = by_outer ? share(call_.outer, part + 1, shares) : call_.outer;
      int64_t low = by_outer ? 0 : share(call_.span, part, shares);
      int64_t high = by_outer ? call_.span : share(call_.span, part + 1, shares);
      for (int64_t o = first; o < last; ++o)
        put({targets, call_.count, low, high, updates + o * call_.count * row_bytes_,
             operands[2].data + o * call_.span * row_bytes_});
    });
    return {};
  }

 private:
  static int64_t share(int64_t count, int64_t part, int64_t parts) { return count * part / parts; }

  void put(const Updates& updates) const {
    if (put_) return put_(updates);
    for (int64_t i = 0; i < updates.count; ++i) {
      int64_t row = updates.targets[i];
      if (row < updates.low || row >= updates.high) continue;
      std::byte* to = updates.to + row * row_bytes_;
      const std::byte* from = updates.from + i * row_bytes_;
      if (combine_)
        combine_(call_.width, to, to, from, nullptr);
      else
        std::memcpy(to, from, static_cast<size_t>(row_bytes_));
    }
  }

  ScatterCall call_;
  PutFn put_;
  LaneFn combine_ = nullptr;  // null: rows are copied
  int64_t row_bytes_;
};

}  // namespace

LibraryCallPtr create_scatter(const ScatterCall& call, const LaneTable& table) {
  return std::make_unique<Scatter>(call, table);
}

}  // namespace tuff::cpu
