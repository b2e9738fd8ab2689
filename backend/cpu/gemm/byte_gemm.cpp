#include "backend/cpu/gemm/byte_gemm.h"

#include <algorithm>

#include "backend/cpu/gemm/converted_gemm.h"
#include "backend/cpu/gemm/strided_copy.h"

namespace tuff::cpu {

namespace {

using Dims = std::vector<int64_t>;

// So many products of i8 have a sum of at most 2^24, up to which f32 has all integers.
constexpr int64_t kMostSteps = 1024;

// Steps of k that f32 can add up, one part after another.
class ByteMatmul : public LibraryCall {
 public:
  ByteMatmul(const MatmulCall& call, const LaneTable& table) : call_(call), table_(table) {
    sizes_ = call.batch;
    sizes_.insert(sizes_.end(), {call.m, call.n});
    dense_ = row_major_strides(sizes_);
    to_ = call.c_batch_strides;
    to_.insert(to_.end(), {call.c_row, call.c_col});
  }

  Status create(DerivedOwner& owner) {
    for (int64_t first = 0; first < std::max<int64_t>(call_.k, 1); first += kMostSteps) {
      MatmulCall part = call_;
      part.operand_type = DType::kF32;
      part.a_narrow = part.b_narrow = DType::kI8;
      part.k = std::min(kMostSteps, call_.k - first);
      part.a_offset += first * part.a_col, part.b_offset += first * part.b_row;
      part.c_batch_strides.assign(dense_.begin(), dense_.end() - 2);
      part.c_offset = 0, part.c_row = call_.n, part.c_col = 1;
      TUFF_ASSIGN(LibraryCallPtr product, create_converted_matmul(part, table_, owner));
      parts_.push_back(std::move(product));
    }
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    const int64_t count = num_elements(sizes_), bytes = count * dtype_size(DType::kI32);
    AlignedBytes sum = allocate_aligned(bytes);
    AlignedBytes next = allocate_aligned(parts_.size() > 1 ? bytes : 0);
    if (sum == nullptr || next == nullptr)
      return Error{ErrorCode::kOutOfMemory,
                   "The sums of a matmul (" + std::to_string(bytes) +
                       " bytes) do not fit in the machine's memory.",
                   ""};
    for (const LibraryCallPtr& part : parts_) {
      std::byte* to = part == parts_.front() ? sum.get() : next.get();
      const CallOperand own[] = {operands[0], operands[1], {to, 0}};
      TUFF_RETURN_IF_ERROR(part->run(own));
      if (to == next.get()) add_(count, sum.get(), sum.get(), to, nullptr);
    }
    StridedArray target{operands.back().data + call_.c_offset * dtype_size(DType::kI32), to_,
                        DType::kI32};
    strided_copy(sizes_, {sum.get(), dense_, DType::kI32}, target, table_);
    return {};
  }

 private:
  MatmulCall call_;
  const LaneTable& table_;
  LaneFn add_ = table_.compute[static_cast<size_t>(Op::kAdd)][static_cast<size_t>(DType::kI32)][0];
  Dims sizes_, dense_, to_;  // of C: its sizes, its strides as it is made and where it goes
  std::vector<LibraryCallPtr> parts_;
};

}  // namespace

Result<LibraryCallPtr> create_byte_matmul(const MatmulCall& call, const LaneTable& table,
                                          DerivedOwner& owner) {
  auto matmul = std::make_unique<ByteMatmul>(call, table);
  TUFF_RETURN_IF_ERROR(matmul->create(owner));
  return LibraryCallPtr(std::move(matmul));
}

}  // namespace tuff::cpu
