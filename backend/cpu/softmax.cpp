#include "backend/cpu/softmax.h"

#include <omp.h>

#include <algorithm>

namespace tuff::cpu {

namespace {

// About 0.7 ns an element; below this a second thread costs more than it brings.
constexpr int64_t kMinParallelElements = 32768;

class Softmax : public LibraryCall {
 public:
  Softmax(const SoftmaxCall& call, const LaneTable& table) : call_(call), table_(table) {}

  Status run(std::span<const CallOperand> operands) override {
    auto* from = reinterpret_cast<const float*>(operands[0].data);
    auto* to = reinterpret_cast<float*>(operands[1].data);
    int64_t columns = call_.columns;
    bool parallel = call_.rows > 1 && call_.rows * columns >= kMinParallelElements;
    // Not static: a thread that the system interrupts would hold up all others.
    int64_t chunk = std::max<int64_t>(1, call_.rows / (omp_get_max_threads() * 8));
#pragma omp parallel for schedule(dynamic, chunk) if (parallel)
    for (int64_t row = 0; row < call_.rows; ++row)
      table_.softmax_row(columns, to + row * columns, from + row * columns);
    return {};
  }

 private:
  SoftmaxCall call_;
  const LaneTable& table_;
};

}  // namespace

LibraryCallPtr create_softmax(const SoftmaxCall& call, const LaneTable& table) {
  return std::make_unique<Softmax>(call, table);
}

}  // namespace tuff::cpu
