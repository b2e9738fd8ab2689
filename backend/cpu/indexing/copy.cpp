#include "backend/cpu/indexing/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// What a thread takes at a time, in elements; and what one alone has done before a second wakes.
constexpr int64_t kShare = 1 << 13, kMinParallel = 1 << 15;
// Rows that are strided on both sides go by way of a buffer of so many elements.
constexpr int64_t kChunk = 512;
// Longer rows whose elements lie apart in the result are divided: other pieces have elements in the
// same cache lines, which are still there when their turn comes.
constexpr int64_t kLongApart = 2048;

// Rows that go along the source are this long where the result's lines go along another loop: a
// line of the source, of which each element goes to a line of the result that the next row goes on
// with.
constexpr int64_t kLineBytes = 64;

// Loops of fewer rows go outside of a longer one whose rows lie within so many bytes.
constexpr int64_t kFewRows = 8, kNearBytes = 16 << 10;

// Rows of one piece: where row r begins is told by its outer loops.
struct CopyRows {
  const CopyCall::Piece* piece;
  const CopyCall::Piece* other = nullptr;  // whose elements stand in between
  int64_t from = 0, to = 0;                // where the first one begins
  CopyCall::Loop row;                      // the elements of one
  std::vector<CopyCall::Loop> outer;       // outermost first
  int64_t count = 1;                       // product of their sizes
};

// The loop that a row goes along: the longest with neighbours on either side, or else any. Of a
// transposition it is the source's.
size_t row_loop(const std::vector<CopyCall::Loop>& loops) {
  constexpr int64_t kLong = 8;
  const bool turns = loops.back().to == 1 && loops.back().from != 1 && loops.back().size >= kLong;
  auto worth = [&](const CopyCall::Loop& loop) {
    int64_t sides = (loop.to == 1) + (loop.from == 1 || loop.from == 0);
    bool is_long = loop.size >= kLong;
    return std::tuple(is_long && turns && loop.from == 1, is_long && sides > 0,
                      loop.size * (1 + sides));
  };
  return static_cast<size_t>(
      std::max_element(loops.begin(), loops.end(),
                       [&](const auto& a, const auto& b) { return worth(a) < worth(b); }) -
      loops.begin());
}

CopyRows rows_of(const CopyCall::Piece& piece) {
  CopyRows rows{&piece, nullptr, piece.from, piece.to, {}, piece.loops, 1};
  // A turned matrix that is mirrored, too, is read forwards.
  for (CopyCall::Loop& loop : rows.outer) {
    if (loop.from != -1 || loop.to == 1) continue;
    rows.from += (loop.size - 1) * loop.from, rows.to += (loop.size - 1) * loop.to;
    loop.from = -loop.from, loop.to = -loop.to;
  }
  if (!rows.outer.empty()) {
    size_t along = row_loop(rows.outer);
    rows.row = rows.outer[along];
    rows.outer.erase(rows.outer.begin() + static_cast<long>(along));
  }
  for (const CopyCall::Loop& loop : rows.outer) rows.count *= loop.size;
  return rows;
}

// Elements that come to lie side by side: many rows are a call.
bool is_dense(const CopyRows& rows) { return rows.row.to == 1 && rows.row.from != 0; }

// So that there are many.
void lengthen_lines(CopyRows& rows, int64_t element_bytes) {
  const size_t loops = rows.outer.size();
  if (loops < 2 || !is_dense(rows)) return;
  CopyCall::Loop &inner = rows.outer[loops - 1], &next = rows.outer[loops - 2];
  const int64_t across = next.size * std::abs(next.to) * element_bytes;
  if (inner.size < kFewRows && next.size > inner.size && across <= kNearBytes)
    std::swap(inner, next);
}

// Where the lines of a piece's rows begin, which go along its innermost outer loop, one after
// another from that of a given row on.
class CopyLines {
 public:
  CopyLines(const CopyRows& rows, int64_t row) : rows_(rows), at_(rows.outer.size()) {
    from = rows.from, to = rows.to;
    for (size_t d = rows.outer.size(); d-- > 0;) {
      const CopyCall::Loop& loop = rows.outer[d];
      at_[d] = row % loop.size, row /= loop.size;
      if (d + 1 == rows.outer.size()) continue;
      from += at_[d] * loop.from, to += at_[d] * loop.to;
    }
  }

  int64_t from, to;

  void next() {
    for (size_t d = rows_.outer.size(); d-- > 1;) {
      const CopyCall::Loop& loop = rows_.outer[d - 1];
      from += loop.from, to += loop.to;
      if (++at_[d - 1] < loop.size) return;
      from -= loop.size * loop.from, to -= loop.size * loop.to;
      at_[d - 1] = 0;
    }
  }

 private:
  const CopyRows& rows_;
  std::vector<int64_t> at_;
};

// The result's lines go along another loop.
bool goes_across(const CopyRows& rows) {
  return rows.row.from == 1 && !rows.outer.empty() &&
         std::abs(rows.outer.back().to) < std::abs(rows.row.to);
}

// As rows of columns, and columns of rows: a transposition.
bool is_turned(const CopyRows& rows) { return goes_across(rows) && rows.outer.back().to == 1; }

// Parts of long rows become rows; what is left of each becomes a shorter one.
void add_rows(CopyRows rows, int64_t element_bytes, std::vector<CopyRows>& all) {
  const CopyCall::Loop row = rows.row;
  const bool across = goes_across(rows);
  const int64_t length = across ? kLineBytes / element_bytes : kLongApart;
  if (row.to == 1 || row.size <= length) return all.push_back(std::move(rows));
  const int64_t parts = row.size / length, rest = row.size % length;
  CopyRows last = rows;
  rows.row.size = length;
  rows.outer.insert(across ? rows.outer.end() - 1 : rows.outer.end(),
                    {parts, row.from * length, row.to * length});
  rows.count *= parts;
  all.push_back(std::move(rows));
  if (rest == 0) return;
  last.row.size = rest;
  last.from += row.from * length * parts, last.to += row.to * length * parts;
  all.push_back(std::move(last));
}

// Rows of a, whose elements stand side by side there and have room between them in the result for
// those of b: what complex numbers are made of.
bool interleave(const CopyRows& rows, const CopyCall::Piece& b) {
  const CopyCall::Piece& a = *rows.piece;
  auto same = [](const CopyCall::Loop& x, const CopyCall::Loop& y) {
    return x.size == y.size && x.from == y.from && x.to == y.to;
  };
  return rows.row.from == 1 && rows.row.to == 2 && a.operand && b.operand && b.to == a.to + 1 &&
         std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), same);
}

class Copy : public LibraryCall {
 public:
  Copy(const CopyCall& call, const LaneTable& table)
      : call_(call), moves_(table.moves[size_log2(call.dtype)]), size_(dtype_size(call.dtype)) {
    for (size_t p = 0; p < call_.pieces.size(); ++p) {
      CopyRows rows = rows_of(call_.pieces[p]);
      if (p + 1 < call_.pieces.size() && interleave(rows, call_.pieces[p + 1]))
        rows.other = &call_.pieces[++p];
      lengthen_lines(rows, size_);
      add_rows(std::move(rows), size_, rows_);
    }
    const int64_t beside = elements_of_lines();
    if (beside > 0) shares_at_once_ = static_cast<int64_t>(rows_.size());
    for (uint32_t p = 0; p < rows_.size(); ++p) {
      const bool apart = rows_[p].row.to > 1 && rows_[p].row.size >= kLongApart;
      if (apart || goes_across(rows_[p])) shares_at_once_ = static_cast<int64_t>(rows_.size());
      const int64_t elements = beside > 0 ? beside : rows_[p].row.size;
      int64_t step = apart ? 1 : std::max<int64_t>(1, kShare / elements);
      for (int64_t first = 0; first < rows_[p].count; first += step)
        shares_.push_back({p, first, std::min(first + step, rows_[p].count)});
    }
    // Neighbours in the result one after another.
    std::stable_sort(shares_.begin(), shares_.end(), [&](const Share& a, const Share& b) {
      return CopyLines(rows_[a.rows], a.first).to < CopyLines(rows_[b.rows], b.first).to;
    });
  }

  Status run(std::span<const CallOperand> operands) override {
    int threads = call_.elements >= kMinParallel ? max_threads() : 1;
    SharedRange range(static_cast<int64_t>(shares_.size()), shares_at_once_);
    in_parallel(threads, [&](int) {
      for (int64_t share, last; range.take(share, last);)
        for (; share < last; ++share) copy(shares_[static_cast<size_t>(share)], operands);
    });
    return {};
  }

 private:
  struct Share {
    uint32_t rows;
    int64_t first, last;
  };

  // Where row r of each piece is a part of the result's line r: how long lines are. Else 0.
  int64_t elements_of_lines() const {
    int64_t elements = 0;
    for (const CopyRows& rows : rows_) {
      if (!is_dense(rows) || rows.count != rows_.front().count || rows.outer.empty()) return 0;
      elements += rows.row.size;
    }
    for (const CopyRows& rows : rows_)
      if (rows.outer.back().to < elements) return 0;
    return rows_.size() > 1 ? elements : 0;
  }

  void copy(const Share& share, std::span<const CallOperand> operands) const {
    const CopyRows& rows = rows_[share.rows];
    const CopyCall::Piece& piece = *rows.piece;
    const std::byte* from = piece.operand ? operands[*piece.operand].data
                                          : reinterpret_cast<const std::byte*>(&piece.bits);
    // From an element of `from` to what the other piece has behind it.
    const std::byte* second =
        rows.other ? operands[*rows.other->operand].data + (rows.other->from - piece.from) * size_
                   : from;
    const bool is_value = !piece.operand, turned = is_turned(rows);
    const bool dense = !is_value && is_dense(rows);
    const CopyCall::Loop inner = rows.outer.empty() ? CopyCall::Loop{1, 0, 0} : rows.outer.back();
    CopyLines lines(rows, share.first);
    for (int64_t r = share.first; r < share.last; lines.next()) {
      const int64_t at = r % inner.size, count = std::min(inner.size - at, share.last - r);
      const std::byte* source = is_value ? from : from + (lines.from + at * inner.from) * size_;
      std::byte* target = operands.back().data + (lines.to + at * inner.to) * size_;
      r += count;
      if (turned) {
        moves_.transpose(count, rows.row.size, source, inner.from, target, rows.row.to);
      } else if (dense) {
        moves_.copy_rows(count, rows.row.size, target, inner.to, source, inner.from, rows.row.from);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          std::byte* row = target + i * inner.to * size_;
          const std::byte* elements = is_value ? from : source + i * inner.from * size_;
          if (is_value)
            fill(rows.row, elements, row);
          else if (rows.other != nullptr)
            moves_.interleave(rows.row.size, row, elements, second + (elements - from));
          else
            move(rows.row, elements, row);
        }
      }
    }
  }

  void move(const CopyCall::Loop& row, const std::byte* from, std::byte* to) const {
    if (row.from == 0) {
      fill(row, from, to);
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
  int64_t shares_at_once_ = 1;  // by one thread: they have cache lines in common
};

}  // namespace

LibraryCallPtr create_copy(const CopyCall& call, const LaneTable& table) {
  return std::make_unique<Copy>(call, table);
}

}  // namespace tuff::cpu
