#include "backend/cpu/gemm/converted_gemm.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "backend/cpu/call_choice.h"
#include "backend/cpu/gemm/strided_copy.h"
#include "ir/type.h"

namespace tuff::cpu {

namespace {

using Dims = std::vector<int64_t>;

// Of each operand, in f32, at a time: what the last cache holds.
constexpr int64_t kPieceElements = int64_t{1} << 20;
constexpr int64_t kMinPieceRows = 16;

// A, B or C: [batch.., rows, cols] where the call has it, in elements.
struct Side {
  Dims sizes, strides;
  int64_t offset = 0;
  DType dtype = DType::kF32;
};

Side make_side(const Dims& batch, Dims strides, int64_t offset, DType dtype, const Dims& matrix,
               const Dims& matrix_strides) {
  Side side{batch, std::move(strides), offset, dtype};
  // What a batch shares is converted once.
  for (size_t d = 0; d < batch.size(); ++d)
    if (side.strides[d] == 0) side.sizes[d] = 1;
  side.sizes.insert(side.sizes.end(), matrix.begin(), matrix.end());
  side.strides.insert(side.strides.end(), matrix_strides.begin(), matrix_strides.end());
  return side;
}

// Strides of a dense copy that is walked in the same direction; 0 where it has one for all.
Dims dense_strides(const Dims& sizes, const Dims& like) {
  Dims strides = row_major_strides(sizes);
  size_t rows = sizes.size() - 2, cols = rows + 1;
  if (std::abs(like[rows]) < std::abs(like[cols])) {
    strides[rows] = 1;
    strides[cols] = sizes[rows];
  }
  for (size_t d = 0; d < rows; ++d)
    if (sizes[d] == 1) strides[d] = 0;
  return strides;
}

int64_t rows_that_fit(int64_t rows, int64_t row_elements) {
  int64_t fit = kPieceElements / std::max<int64_t>(row_elements, 1);
  return std::min(rows, std::max(fit / kMinPieceRows * kMinPieceRows, kMinPieceRows));
}

// Where a piece begins: the index in the outer batch dimensions, a row and a column of C.
struct Place {
  Dims outer;
  int64_t row = 0, col = 0;
};

class ConvertedMatmul : public LibraryCall {
 public:
  ConvertedMatmul(const MatmulCall& call, const LaneTable& table, DerivedOwner& owner)
      : call_(call),
        table_(table),
        owner_(owner),
        a_(make_side(call.batch, call.a_batch_strides, call.a_offset, call.a_type(),
                     {call.m, call.k}, {call.a_row, call.a_col})),
        b_(make_side(call.batch, call.b_batch_strides, call.b_offset, call.b_type(),
                     {call.k, call.n}, {call.b_row, call.b_col})),
        c_(make_side(call.batch, call.c_batch_strides, call.c_offset, call.result_type,
                     {call.m, call.n}, {call.c_row, call.c_col})) {
    int64_t largest = std::max({call.m * call.k, call.k * call.n, call.m * call.n});
    int64_t inner = num_elements(call.batch);
    for (; outer_ < call.batch.size() && inner * largest > kPieceElements; ++outer_)
      inner /= call.batch[outer_];
    piece_m_ = call.m, piece_n_ = call.n;
    if (inner * largest <= kPieceElements) return;
    piece_m_ = rows_that_fit(call.m, std::max<int64_t>(call.k, 64));
    piece_n_ = rows_that_fit(call.n, std::max(call.k, piece_m_));
  }

  Status create() {
    for (int64_t m : {piece_m_, call_.m % piece_m_})
      for (int64_t n : {piece_n_, call_.n % piece_n_}) {
        if (m == 0 || n == 0) continue;
        TUFF_ASSIGN(LibraryCallPtr piece, create_piece(m, n));
        pieces_.insert_or_assign({m, n}, std::move(piece));
      }
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    Scratch scratch;
    TUFF_RETURN_IF_ERROR(allocate(scratch));
    Place place{Dims(outer_, 0)};
    int64_t batches = 1;
    for (size_t d = 0; d < outer_; ++d) batches *= call_.batch[d];
    for (int64_t i = 0; i < batches; ++i) {
      int64_t rest = i;
      for (size_t d = outer_; d-- > 0; rest /= call_.batch[d])
        place.outer[d] = rest % call_.batch[d];
      TUFF_RETURN_IF_ERROR(run_matrix(operands, place, scratch));
    }
    return {};
  }

 private:
  struct Scratch {
    AlignedBytes a, b, c;
    std::vector<AlignedBytes> elements;
  };

  // The sizes of a piece of a side: inner batch, rows, cols.
  Dims piece_sizes(const Side& side, int64_t rows, int64_t cols) const {
    Dims sizes(side.sizes.begin() + static_cast<int64_t>(outer_), side.sizes.end() - 2);
    sizes.insert(sizes.end(), {rows, cols});
    return sizes;
  }
  Dims piece_strides(const Side& side) const {
    return {side.strides.begin() + static_cast<int64_t>(outer_), side.strides.end()};
  }
  Dims scratch_strides(const Side& side, const Dims& sizes) const {
    return dense_strides(sizes, piece_strides(side));
  }

  Result<LibraryCallPtr> create_piece(int64_t m, int64_t n) const {
    MatmulCall piece;
    piece.batch.assign(call_.batch.begin() + static_cast<int64_t>(outer_), call_.batch.end());
    piece.m = m, piece.n = n, piece.k = call_.k;
    piece.post_ops = call_.post_ops;
    auto describe = [&](const Side& side, int64_t rows, int64_t cols, Dims& batch_strides,
                        int64_t& row, int64_t& col) {
      Dims strides = scratch_strides(side, piece_sizes(side, rows, cols));
      col = strides.back();
      row = strides[strides.size() - 2];
      batch_strides.assign(strides.begin(), strides.end() - 2);
    };
    describe(a_, m, call_.k, piece.a_batch_strides, piece.a_row, piece.a_col);
    describe(b_, call_.k, n, piece.b_batch_strides, piece.b_row, piece.b_col);
    describe(c_, m, n, piece.c_batch_strides, piece.c_row, piece.c_col);
    TUFF_ASSIGN(ChosenCall chosen, choose_matmul(piece, false, false, table_, owner_));
    return std::move(chosen.call);
  }

  Status allocate(Scratch& scratch) const {
    auto bytes = [&](const Side& side, int64_t rows, int64_t cols) {
      return num_elements(piece_sizes(side, rows, cols)) * 4;
    };
    scratch.a = allocate_aligned(bytes(a_, piece_m_, call_.k));
    scratch.b = allocate_aligned(bytes(b_, call_.k, piece_n_));
    scratch.c = allocate_aligned(bytes(c_, piece_m_, piece_n_));
    bool enough = scratch.a && scratch.b && scratch.c;
    for (const PostOp& op : call_.post_ops) {
      if (op.with != PostOp::With::kElement) continue;
      scratch.elements.push_back(allocate_aligned(bytes(c_, piece_m_, piece_n_)));
      enough = enough && scratch.elements.back();
    }
    if (enough) return {};
    return Error{ErrorCode::kOutOfMemory,
                 "The converted operands of a matmul do not fit in the machine's memory.", ""};
  }

  int64_t element_at(const Side& side, const Place& place, int64_t row, int64_t col) const {
    int64_t element =
        side.offset + row * side.strides[side.strides.size() - 2] + col * side.strides.back();
    for (size_t d = 0; d < outer_; ++d) element += place.outer[d] * side.strides[d];
    return element;
  }

  enum class Direction { kToScratch, kFromScratch };
  void convert(const Side& side, const CallOperand& operand, int64_t element, const Dims& sizes,
               const AlignedBytes& scratch, Direction direction) const {
    Dims strides = piece_strides(side), dense = scratch_strides(side, sizes);
    StridedArray stored{operand.data + element * dtype_size(side.dtype), strides, side.dtype};
    StridedArray converted{scratch.get(), dense, DType::kF32};
    if (direction == Direction::kToScratch)
      strided_copy(sizes, stored, converted, table_);
    else
      strided_copy(sizes, converted, stored, table_);
  }

  Status run_matrix(std::span<const CallOperand> operands, Place place, const Scratch& scratch) {
    for (place.row = 0; place.row < call_.m; place.row += piece_m_) {
      int64_t m = std::min(piece_m_, call_.m - place.row);
      convert(a_, operands[0], element_at(a_, place, place.row, 0), piece_sizes(a_, m, call_.k),
              scratch.a, Direction::kToScratch);
      for (place.col = 0; place.col < call_.n; place.col += piece_n_) {
        int64_t n = std::min(piece_n_, call_.n - place.col);
        convert(b_, operands[1], element_at(b_, place, 0, place.col), piece_sizes(b_, call_.k, n),
                scratch.b, Direction::kToScratch);
        Dims c_sizes = piece_sizes(c_, m, n);
        std::vector<CallOperand> converted{{scratch.a.get(), 0}, {scratch.b.get(), 0}};
        bind_post_ops(operands, place, c_sizes, scratch.elements, converted);
        converted.push_back({scratch.c.get(), 0});
        TUFF_RETURN_IF_ERROR(pieces_.at({m, n})->run(converted));
        convert(c_, operands.back(), element_at(c_, place, place.row, place.col), c_sizes,
                scratch.c, Direction::kFromScratch);
      }
    }
    return {};
  }

  // What the post-ops of a piece read. `elements` has a buffer for each operand of C's
  // shape, whose piece is brought into the piece's order.
  void bind_post_ops(std::span<const CallOperand> operands, const Place& place, const Dims& sizes,
                     const std::vector<AlignedBytes>& elements,
                     std::vector<CallOperand>& piece) const {
    Side side = c_;
    side.offset = 0, side.dtype = DType::kF32;
    size_t next = 2, next_elements = 0;
    for (const PostOp& op : call_.post_ops) {
      if (!op.has_operand()) continue;
      CallOperand operand = operands[next++];
      if (op.with == PostOp::With::kColumn) operand.data += place.col * 4;
      if (op.with == PostOp::With::kElement) {
        const AlignedBytes& copy = elements[next_elements++];
        convert(side, operand, element_at(side, place, place.row, place.col), sizes, copy,
                Direction::kToScratch);
        operand.data = copy.get();
      }
      piece.push_back({operand.data, 0});
    }
  }

  MatmulCall call_;
  const LaneTable& table_;
  DerivedOwner& owner_;
  Side a_, b_, c_;
  size_t outer_ = 0;                   // batch dimensions that are gone through one by one
  int64_t piece_m_ = 0, piece_n_ = 0;  // of C; what is left over makes smaller pieces
  std::map<std::pair<int64_t, int64_t>, LibraryCallPtr> pieces_;  // by their m and n
};

}  // namespace

Result<LibraryCallPtr> create_converted_matmul(const MatmulCall& call, const LaneTable& table,
                                               DerivedOwner& owner) {
  auto matmul = std::make_unique<ConvertedMatmul>(call, table, owner);
  TUFF_RETURN_IF_ERROR(matmul->create());
  return LibraryCallPtr(std::move(matmul));
}

}  // namespace tuff::cpu
