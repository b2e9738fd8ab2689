#include "backend/cpu/gemm/long_product.h"

#include <algorithm>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/gemm/small_product.h"
#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// With more rows or columns a library's blocks pay; one column is a product with a vector.
constexpr int64_t kMaxSide = 48, kLeastColumns = 2, kLeastSum = 8192;
constexpr int64_t kLeastProducts = 1 << 20;  // with fewer a library is over as soon
// Of B, in a part of the sums: they stay in a core's cache while the tiles of rows read them.
constexpr int64_t kPartElements = 32'768;

class LongProduct : public LibraryCall {
 public:
  LongProduct(const MatmulCall& call, const LaneTable& table)
      : rows_(rows_of(call)),
        call_(rows_.call),
        table_(table),
        row_(round_up(call_.n, kProductColumns)),
        depth_(kPartElements / row_),
        parts_((call_.k + depth_ - 1) / depth_) {}

  Status run(std::span<const CallOperand> operands) override {
    const int threads = static_cast<int>(std::min<int64_t>(max_threads(), parts_));
    const int64_t sums = parts_ * call_.m * row_, packed = packs_columns(call_) ? depth_ * row_ : 0;
    const int64_t bytes = (sums + threads * packed) * 4;
    AlignedBytes memory = allocate_aligned(bytes);
    if (memory == nullptr) return no_memory_for_part(bytes);
    auto* floats = reinterpret_cast<float*>(memory.get());
    SharedRange range(parts_, 1);
    in_parallel(threads, [&](int thread) {
      for (int64_t part, last; range.take(part, last);)
        multiply(operands, part, floats + part * call_.m * row_, floats + sums + thread * packed);
    });
    add_up(floats, operands);
    return {};
  }

 private:
  static float* floats_of(const CallOperand& operand) {
    return reinterpret_cast<float*>(operand.data);
  }

  void multiply(std::span<const CallOperand> operands, int64_t part, float* sums,
                float* packed) const {
    const int64_t first = part * depth_;
    const float* b = floats_of(operands[rows_.b]) + call_.b_offset + first * call_.b_row;
    RowProduct product{.m = call_.m,
                       .n = call_.n,
                       .k = std::min(depth_, call_.k - first),
                       .a_row = call_.a_row,
                       .a_col = call_.a_col,
                       .b_row = packs_columns(call_) ? row_ : call_.b_row,
                       .c_row = row_};
    product.a = floats_of(operands[rows_.a]) + call_.a_offset + first * call_.a_col;
    if (packs_columns(call_))
      table_.pack_columns(product.k, call_.n, b, call_.b_row, call_.b_col, packed, row_);
    product.b = packs_columns(call_) ? packed : b;
    product.c = sums;
    table_.multiply_rows(product);
  }

  void add_up(const float* sums, std::span<const CallOperand> operands) const {
    float* to = floats_of(operands.back()) + call_.c_offset;
    for (int64_t i = 0; i < call_.m; ++i, to += call_.c_row, sums += row_) {
      std::copy_n(sums, call_.n, to);
      for (int64_t part = 1; part < parts_; ++part) {
        const float* more = sums + part * call_.m * row_;
        for (int64_t j = 0; j < call_.n; ++j) to[j] += more[j];
      }
    }
  }

  RowsOfProduct rows_;
  const MatmulCall& call_;
  const LaneTable& table_;
  int64_t row_, depth_, parts_;  // elements of a row of sums; products in a part of a sum
};

}  // namespace

bool is_long_product(const MatmulCall& given) {
  const MatmulCall call = rows_of(given).call;
  return is_all_f32(call) && call.post_ops.empty() && call.batch.empty() && call.c_col == 1 &&
         call.m > 1 && call.m <= kMaxSide && call.n >= kLeastColumns && call.n <= kMaxSide &&
         call.k >= kLeastSum && call.m * call.n * call.k >= kLeastProducts;
}

LibraryCallPtr create_long_product(const MatmulCall& call, const LaneTable& table) {
  return std::make_unique<LongProduct>(call, table);
}

}  // namespace tuff::cpu
