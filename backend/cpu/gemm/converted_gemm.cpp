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

// Where a run is: the index in the outer batch dimensions, a row and a column of C.
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
    elements_ = c_;
    elements_.offset = 0, elements_.dtype = DType::kF32;
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
        TUFF_ASSIGN(Piece piece, create_piece(m, n));
        pieces_.insert_or_assign({m, n}, std::move(piece));
      }
    size_t operands = 3, elements = 0;
    for (const PostOp& op : call_.post_ops) {
      operands += op.has_operand();
      elements += op.with == PostOp::With::kElement;
    }
    scratch_.piece.resize(operands);
    scratch_.elements.resize(elements);
    place_.outer.resize(outer_);
    return {};
  }

  Status run(std::span<const CallOperand> operands) override {
    Status status = allocate();
    if (status.ok()) status = run_matrices(operands);
    release();
    return status;
  }

 private:
  // The memory is of one run, the lists are kept: what the product of a piece reads and writes
  // is in `piece`, in its order.
  struct Scratch {
    AlignedBytes a, b, c;
    std::vector<AlignedBytes> elements;
    std::vector<CallOperand> piece;
  };
  // A piece of a side: inner batch, rows, columns, where it is stored and in the scratch memory.
  struct PieceSide {
    Dims sizes, strides, dense;
  };
  struct Piece {
    PieceSide a, b, c;
    LibraryCallPtr call;
  };

  PieceSide piece_side(const Side& side, int64_t rows, int64_t cols) const {
    auto outer = static_cast<int64_t>(outer_);
    PieceSide piece{{side.sizes.begin() + outer, side.sizes.end()},
                    {side.strides.begin() + outer, side.strides.end()},
                    {}};
    piece.sizes[piece.sizes.size() - 2] = rows;
    piece.sizes.back() = cols;
    piece.dense = dense_strides(piece.sizes, piece.strides);
    return piece;
  }

  Result<Piece> create_piece(int64_t m, int64_t n) const {
    Piece piece{piece_side(a_, m, call_.k), piece_side(b_, call_.k, n), piece_side(c_, m, n), {}};
    MatmulCall call;
    call.batch.assign(call_.batch.begin() + static_cast<int64_t>(outer_), call_.batch.end());
    call.m = m, call.n = n, call.k = call_.k;
    call.post_ops = call_.post_ops;
    auto describe = [](const Dims& dense, Dims& batch_strides, int64_t& row, int64_t& col) {
      col = dense.back();
      row = dense[dense.size() - 2];
      batch_strides.assign(dense.begin(), dense.end() - 2);
    };
    describe(piece.a.dense, call.a_batch_strides, call.a_row, call.a_col);
    describe(piece.b.dense, call.b_batch_strides, call.b_row, call.b_col);
    describe(piece.c.dense, call.c_batch_strides, call.c_row, call.c_col);
    TUFF_ASSIGN(ChosenCall chosen, choose_matmul(call, false, false, table_, owner_));
    piece.call = std::move(chosen.call);
    return piece;
  }

  Status allocate() {
    const Piece& largest = pieces_.at({piece_m_, piece_n_});
    bool enough = true;
    auto take = [&](AlignedBytes& bytes, const PieceSide& side) {
      bytes = allocate_aligned(num_elements(side.sizes) * 4);
      enough = enough && bytes;
    };
    take(scratch_.a, largest.a);
    take(scratch_.b, largest.b);
    take(scratch_.c, largest.c);
    for (AlignedBytes& bytes : scratch_.elements) take(bytes, largest.c);
    if (enough) return {};
    return Error{ErrorCode::kOutOfMemory,
                 "The converted operands of a matmul do not fit in the machine's memory.", ""};
  }

  void release() {
    for (AlignedBytes* bytes : {&scratch_.a, &scratch_.b, &scratch_.c}) bytes->reset();
    for (AlignedBytes& bytes : scratch_.elements) bytes.reset();
  }

  // The element of a side at a row and a column of where the run is.
  int64_t element_at(const Side& side, int64_t row, int64_t col) const {
    int64_t element =
        side.offset + row * side.strides[side.strides.size() - 2] + col * side.strides.back();
    for (size_t d = 0; d < outer_; ++d) element += place_.outer[d] * side.strides[d];
    return element;
  }

  enum class Direction { kToScratch, kFromScratch };
  void convert(const Side& side, const PieceSide& piece, const CallOperand& operand,
               int64_t element, const AlignedBytes& scratch, Direction direction) const {
    StridedArray stored{operand.data + element * dtype_size(side.dtype), piece.strides, side.dtype};
    StridedArray converted{scratch.get(), piece.dense, DType::kF32};
    if (direction == Direction::kToScratch)
      strided_copy(piece.sizes, stored, converted, table_);
    else
      strided_copy(piece.sizes, converted, stored, table_);
  }

  Status run_matrices(std::span<const CallOperand> operands) {
    int64_t batches = 1;
    for (size_t d = 0; d < outer_; ++d) batches *= call_.batch[d];
    for (int64_t i = 0; i < batches; ++i) {
      int64_t rest = i;
      for (size_t d = outer_; d-- > 0; rest /= call_.batch[d])
        place_.outer[d] = rest % call_.batch[d];
      TUFF_RETURN_IF_ERROR(run_matrix(operands));
    }
    return {};
  }

  Status run_matrix(std::span<const CallOperand> operands) {
    for (place_.row = 0; place_.row < call_.m; place_.row += piece_m_) {
      int64_t m = std::min(piece_m_, call_.m - place_.row);
      convert(a_, pieces_.at({m, piece_n_}).a, operands[0], element_at(a_, place_.row, 0),
              scratch_.a, Direction::kToScratch);
      for (place_.col = 0; place_.col < call_.n; place_.col += piece_n_) {
        const Piece& piece = pieces_.at({m, std::min(piece_n_, call_.n - place_.col)});
        convert(b_, piece.b, operands[1], element_at(b_, 0, place_.col), scratch_.b,
                Direction::kToScratch);
        scratch_.piece[0] = {scratch_.a.get(), 0};
        scratch_.piece[1] = {scratch_.b.get(), 0};
        bind_post_ops(operands, piece);
        scratch_.piece.back() = {scratch_.c.get(), 0};
        TUFF_RETURN_IF_ERROR(piece.call->run(scratch_.piece));
        convert(c_, piece.c, operands.back(), element_at(c_, place_.row, place_.col), scratch_.c,
                Direction::kFromScratch);
      }
    }
    return {};
  }

  // What the post-ops of a piece read. An operand of C's shape has a buffer in `elements`, into
  // which its piece is brought.
  void bind_post_ops(std::span<const CallOperand> operands, const Piece& piece) {
    size_t next = 2, next_elements = 0;
    for (const PostOp& op : call_.post_ops) {
      if (!op.has_operand()) continue;
      CallOperand operand = operands[next];
      if (op.with == PostOp::With::kColumn) operand.data += place_.col * 4;
      if (op.with == PostOp::With::kElement) {
        const AlignedBytes& copy = scratch_.elements[next_elements++];
        convert(elements_, piece.c, operand, element_at(elements_, place_.row, place_.col), copy,
                Direction::kToScratch);
        operand.data = copy.get();
      }
      scratch_.piece[next++] = {operand.data, 0};
    }
  }

  MatmulCall call_;
  const LaneTable& table_;
  DerivedOwner& owner_;
  Side a_, b_, c_;
  Side elements_;                      // post-ops' operands of C's shape: as C, in f32
  size_t outer_ = 0;                   // batch dimensions that are gone through one by one
  int64_t piece_m_ = 0, piece_n_ = 0;  // of C; what is left over makes smaller pieces
  std::map<std::pair<int64_t, int64_t>, Piece> pieces_;  // by their m and n
  Place place_;
  Scratch scratch_;
};

}  // namespace

Result<LibraryCallPtr> create_converted_matmul(const MatmulCall& call, const LaneTable& table,
                                               DerivedOwner& owner) {
  auto matmul = std::make_unique<ConvertedMatmul>(call, table, owner);
  TUFF_RETURN_IF_ERROR(matmul->create());
  return LibraryCallPtr(std::move(matmul));
}

}  // namespace tuff::cpu
