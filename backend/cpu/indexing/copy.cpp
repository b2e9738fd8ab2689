#include "backend/cpu/indexing/copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// What a thread takes at a time, in elements; and what one alone has done before a second wakes.
constexpr int64_t kShare = 1 << 13, kMinParallel = 1 << 15;
// Rows that are strided on both sides go by way of a buffer of so many elements.
constexpr int64_t kChunk = 512;

// Rows of one piece: where row r begins is told by its outer loops.
struct CopyRows {
  const CopyCall::Piece* piece;
  CopyCall::Loop row;                 // the elements of one
  std::vector<CopyCall::Loop> outer;  // outermost first
  int64_t count = 1;                  // product of their sizes
};

// The loop that a row goes along: the longest with neighbours on either side, or else any.
size_t row_loop(const std::vector<CopyCall::Loop>& loops) {
  auto worth = [](const CopyCall::Loop& loop) {
    int64_t sides = (loop.to == 1) + (loop.from == 1 || loop.from == 0);
    return std::pair(loop.size >= 8 && sides > 0, loop.size * (1 + sides));
  };
  return static_cast<size_t>(
      std::max_element(loops.begin(), loops.end(),
                       [&](const auto& a, const auto& b) { return worth(a) < worth(b); }) -
      loops.begin());
}

CopyRows rows_of(const CopyCall::Piece& piece) {
  CopyRows rows{&piece, {}, piece.loops, 1};
  if (!rows.outer.empty()) {
    size_t along = row_loop(rows.outer);
    rows.row = rows.outer[along];
    rows.outer.erase(rows.outer.begin() + static_cast<long>(along));
  }
  for (const CopyCall::Loop& loop : rows.outer) rows.count *= loop.size;
  return rows;
}

class Copy : public LibraryCall {
 public:
  Copy(const CopyCall& call, const LaneTable& table)
      : call_(call), moves_(table.moves[size_log2(call.dtype)]), size_(dtype_size(call.dtype)) {
    for (const CopyCall::Piece& piece : call_.pieces) rows_.push_back(rows_of(piece));
    for (uint32_t p = 0; p < rows_.size(); ++p) {
      int64_t step = std::max<int64_t>(1, kShare / rows_[p].row.size);
      for (int64_t first = 0; first < rows_[p].count; first += step)
        shares_.push_back({p, first, std::min(first + step, rows_[p].count)});
    }
  }

  Status run(std::span<const CallOperand> operands) override {
    int threads = call_.elements >= kMinParallel ? max_threads() : 1;
    SharedRange range(static_cast<int64_t>(shares_.size()), 1);
    in_parallel(threads, [&](int) {
      for (int64_t share, last; range.take(share, last);)
        copy(shares_[static_cast<size_t>(share)], operands);
    });
    return {};
  }

 private:
  struct Share {
    uint32_t piece;
    int64_t first, last;  // rows
  };

  void copy(const Share& share, std::span<const CallOperand> operands) const {
    const CopyRows& rows = rows_[share.piece];
    const CopyCall::Piece& piece = *rows.piece;
    const std::byte* from = piece.operand ? operands[*piece.operand].data
                                          : reinterpret_cast<const std::byte*>(&piece.bits);
    std::byte* to = operands.back().data;
    const bool is_value = !piece.operand;
    // The innermost outer loop is walked here, the others by division.
    const CopyCall::Loop inner = rows.outer.empty() ? CopyCall::Loop{1, 0, 0} : rows.outer.back();
    for (int64_t r = share.first; r < share.last;) {
      int64_t rest = r / inner.size, at = r % inner.size;
      int64_t source = piece.from, target = piece.to;
      for (size_t d = rows.outer.empty() ? 0 : rows.outer.size() - 1; d-- > 0;) {
        const CopyCall::Loop& loop = rows.outer[d];
        source += rest % loop.size * loop.from, target += rest % loop.size * loop.to;
        rest /= loop.size;
      }
      for (; at < inner.size && r < share.last; ++at, ++r) {
        std::byte* row = to + (target + at * inner.to) * size_;
        if (is_value)
          fill(rows.row, from, row);
        else
          move(rows.row, from + (source + at * inner.from) * size_, row);
      }
    }
  }

  void move(const CopyCall::Loop& row, const std::byte* from, std::byte* to) const {
    if (row.from == 1 && row.to == 1) {
      std::memcpy(to, from, static_cast<size_t>(row.size * size_));
    } else if (row.from == 0) {
      fill(row, from, to);
    } else if (row.to == 1) {
      moves_.load_strided(row.size, to, from, row.from);
    } else if (row.from == 1) {
      moves_.store_strided(row.size, to, from, row.to);
    } else {
      alignas(64) std::byte chunk[kChunk * 8];
      for (int64_t i = 0; i < row.size; i += kChunk) {
        int64_t n = std::min(kChunk, row.size - i);
        moves_.load_strided(n, chunk, from + i * row.from * size_, row.from);
        moves_.store_strided(n, to + i * row.to * size_, chunk, row.to);
      }
    }
  }

  void fill(const CopyCall::Loop& row, const std::byte* value, std::byte* to) const {
    if (row.to == 1) return moves_.fill(row.size, to, value);
    for (int64_t i = 0; i < row.size; ++i)
      std::memcpy(to + i * row.to * size_, value, static_cast<size_t>(size_));
  }

  const CopyCall call_;
  const MoveFns& moves_;
  const int64_t size_;
  std::vector<CopyRows> rows_;
  std::vector<Share> shares_;
};

}  // namespace

LibraryCallPtr create_copy(const CopyCall& call, const LaneTable& table) {
  return std::make_unique<Copy>(call, table);
}

}  // namespace tuff::cpu
