#include "backend/cpu/gemm/small_product.h"

#include <algorithm>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/thread_memory.h"

namespace tuff::cpu {

namespace {

// Of what is packed first, of what is not, and of that where no operand comes again.
constexpr int64_t kMaxPackedProducts = 8192, kMaxProducts = 32'768, kMaxNewProducts = 131'072;

class SmallProduct : public LibraryCall {
 public:
  SmallProduct(const MatmulCall& call, const LaneTable& table)
      : rows_(rows_of(call)),
        call_(rows_.call),
        table_(table),
        row_(round_up(call_.n, kProductColumns)),
        packs_(packs_columns(call_)) {}

  Status run(std::span<const CallOperand> operands) override {
    auto floats = [&](size_t i) { return reinterpret_cast<float*>(operands[i].data); };
    if (packs_ && packed_ == nullptr) packed_ = allocate_aligned(call_.k * row_ * 4);
    if (packs_ && packed_ == nullptr) return no_memory_for_part(call_.k * row_ * 4);
    auto* packed = reinterpret_cast<float*>(packed_.get());
    RowProduct product{.m = call_.m,
                       .n = call_.n,
                       .k = call_.k,
                       .a_row = call_.a_row,
                       .a_col = call_.a_col,
                       .b_row = packs_ ? row_ : call_.b_row,
                       .c_row = call_.c_row,
                       .addend_row = call_.c_row};
    for (int64_t number = 0; number < num_elements(call_.batch); ++number) {
      const float* b =
          floats(rows_.b) + call_.b_offset + batch_offset(call_, call_.b_batch_strides, number);
      const int64_t at = batch_offset(call_, call_.c_batch_strides, number);
      product.a =
          floats(rows_.a) + call_.a_offset + batch_offset(call_, call_.a_batch_strides, number);
      if (packs_) table_.pack_columns(call_.k, call_.n, b, call_.b_row, call_.b_col, packed, row_);
      product.b = packs_ ? packed : b;
      product.c = floats(operands.size() - 1) + call_.c_offset + at;
      if (!call_.post_ops.empty()) product.addend = floats(2) + call_.post_ops[0].offset + at;
      table_.multiply_rows(product);
    }
    return {};
  }

 private:
  RowsOfProduct rows_;
  const MatmulCall& call_;
  const LaneTable& table_;
  int64_t row_;  // from one row of packed columns to the next
  bool packs_;
  AlignedBytes packed_;  // a thread's memory may be its caller's
};

}  // namespace

int64_t batch_offset(const MatmulCall& call, const std::vector<int64_t>& strides, int64_t number) {
  int64_t offset = 0;
  for (size_t d = call.batch.size(); d-- > 0; number /= call.batch[d])
    offset += number % call.batch[d] * strides[d];
  return offset;
}

bool packs_columns(const MatmulCall& call) {
  return call.b_col != 1 || call.n % kProductColumns != 0;
}

bool is_all_f32(const MatmulCall& call) {
  return call.a_type() == DType::kF32 && call.b_type() == DType::kF32 &&
         call.operand_type == DType::kF32 && call.result_type == DType::kF32;
}

RowsOfProduct rows_of(const MatmulCall& call) {
  bool by_columns = call.c_col != 1 && call.n > 1 && (call.c_row == 1 || call.m == 1);
  return by_columns ? RowsOfProduct{transposed(call), 1, 0} : RowsOfProduct{call};
}

bool is_small_product(const MatmulCall& given, bool comes_again) {
  const MatmulCall call = rows_of(given).call;
  auto sums = [](const PostOp& op) {
    return op.kind == PostOp::Kind::kAdd && op.with == PostOp::With::kElement;
  };
  bool plain =
      call.post_ops.size() <= 1 && std::all_of(call.post_ops.begin(), call.post_ops.end(), sums);
  int64_t most = packs_columns(call) ? kMaxPackedProducts
                 : comes_again       ? kMaxProducts
                                     : kMaxNewProducts;
  int64_t products = num_elements(call.batch) * call.m * call.k * round_up(call.n, kProductColumns);
  return is_all_f32(call) && plain && (call.c_col == 1 || call.n == 1) && products > 0 &&
         products <= most;
}

LibraryCallPtr create_small_product(const MatmulCall& call, const LaneTable& table) {
  return std::make_unique<SmallProduct>(call, table);
}

}  // namespace tuff::cpu
