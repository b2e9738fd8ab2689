#include "backend/cpu/gemm/turned_product.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/gemm/small_product.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Of one matrix. With more of them its columns fill vectors; with a shorter sum turning the result
// takes longer than the product.
constexpr int64_t kMostRows = 12, kLeastDepth = 16;
constexpr int64_t kLeastProducts = 1 << 13;

class TurnedProduct : public LibraryCall {
 public:
  TurnedProduct(const MatmulCall& call, LibraryCallPtr dense)
      : call_(call), dense_(std::move(dense)), matrices_(num_elements(call.batch)) {}

  Status run(std::span<const CallOperand> operands) override {
    const int64_t bytes = matrices_ * call_.m * call_.n * 4;
    AlignedBytes memory = allocate_aligned(bytes);
    if (memory == nullptr) return no_memory_for_part(bytes);
    const std::array<CallOperand, 3> dense{operands[0], operands[1], {memory.get(), 0}};
    TUFF_RETURN_IF_ERROR(dense_->run(dense));
    const auto* from = reinterpret_cast<const float*>(memory.get());
    float* to = reinterpret_cast<float*>(operands[2].data) + call_.c_offset;
    const int threads = max_threads();
    SharedRange matrices(matrices_, std::max<int64_t>(1, matrices_ / (threads * 8)));
    in_parallel(threads, [&](int) {
      for (int64_t i, last; matrices.take(i, last);)
        for (; i < last; ++i)
          turn(from + i * call_.m * call_.n, to + batch_offset(call_, call_.c_batch_strides, i));
    });
    return {};
  }

 private:
  void turn(const float* from, float* to) const {
    for (int64_t j = 0; j < call_.n; ++j, to += call_.c_col)
      for (int64_t i = 0; i < call_.m; ++i) to[i * call_.c_row] = from[i * call_.n + j];
  }

  MatmulCall call_;
  LibraryCallPtr dense_;
  int64_t matrices_;
};

}  // namespace

bool is_turned_product(const MatmulCall& call) {
  const int64_t rows = num_elements(call.batch) * call.m;
  return is_all_f32(call) && call.post_ops.empty() && call.c_col != 1 && call.m <= kMostRows &&
         call.n > kMostRows && call.k >= kLeastDepth && rows * call.n * call.k >= kLeastProducts;
}

MatmulCall with_dense_result(MatmulCall call) {
  call.c_offset = 0, call.c_col = 1, call.c_row = call.n;
  int64_t step = call.m * call.n;
  for (size_t d = call.batch.size(); d-- > 0; step *= call.batch[d]) call.c_batch_strides[d] = step;
  return call;
}

LibraryCallPtr create_turned_product(const MatmulCall& call, LibraryCallPtr dense) {
  return std::make_unique<TurnedProduct>(call, std::move(dense));
}

}  // namespace tuff::cpu
