#include "backend/cpu/attention/row_calls.h"

#include <algorithm>

#include "backend/cpu/lanes/block_columns.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// About 0.3 ns an element; below this a second thread costs more than it brings.
constexpr int64_t kMinParallelRowElements = 32768;

const float* floats(const CallOperand& operand) {
  return reinterpret_cast<const float*>(operand.data);
}

// Calls body(first row, rows) for all of them. As many at a time as make whole blocks of lanes.
template <typename Body>
void for_some_rows(int64_t rows, int64_t columns, const Body& body) {
  int threads = rows * columns >= kMinParallelRowElements ? max_threads() : 1;
  constexpr int64_t kBlock = kBlockColumns<float>;
  SharedRange range(rows, std::max<int64_t>(1, rows / (threads * 8 * kBlock)) * kBlock);
  in_parallel(threads, [&](int) {
    for (int64_t row, last; range.take(row, last);) body(row, last - row);
  });
}

class Softmax : public LibraryCall {
 public:
  Softmax(const SoftmaxCall& call, const LaneTable& table) : call_(call), table_(table) {}

  Status run(std::span<const CallOperand> operands) override {
    const float* from = floats(operands[0]);
    auto* to = reinterpret_cast<float*>(operands[1].data);
    for_some_rows(call_.rows, call_.columns, [&](int64_t row, int64_t rows) {
      int64_t at = row * call_.columns;
      table_.softmax_rows(rows, call_.columns, to + at, from + at);
    });
    return {};
  }

 private:
  SoftmaxCall call_;
  const LaneTable& table_;
};

class Norm : public LibraryCall {
 public:
  Norm(const NormCall& call, bool centred, const LaneTable& table)
      : call_(call), centred_(centred), table_(table) {}

  Status run(std::span<const CallOperand> operands) override {
    const float* from = floats(operands[0]);
    auto* to = reinterpret_cast<float*>(operands.back().data);
    size_t next = 1;
    auto vector = [&](const std::optional<int64_t>& offset) {
      return offset ? floats(operands[next++]) + *offset : nullptr;
    };
    const float* scale = vector(call_.scale_offset);
    const float* shift = vector(call_.shift_offset);
    for_some_rows(call_.rows, call_.columns, [&](int64_t row, int64_t rows) {
      int64_t at = row * call_.columns;
      table_.norm_rows(rows,
                       {call_.columns, to + at, from + at, scale, shift, call_.epsilon, centred_});
    });
    return {};
  }

 private:
  NormCall call_;
  bool centred_;
  const LaneTable& table_;
};

}  // namespace

LibraryCallPtr create_softmax(const SoftmaxCall& call, const LaneTable& table) {
  return std::make_unique<Softmax>(call, table);
}
LibraryCallPtr create_layer_norm(const LayerNormCall& call, const LaneTable& table) {
  return std::make_unique<Norm>(call, true, table);
}
LibraryCallPtr create_rms_norm(const RmsNormCall& call, const LaneTable& table) {
  return std::make_unique<Norm>(call, false, table);
}

}  // namespace tuff::cpu
