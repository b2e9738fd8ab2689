// Attention on GPUs: a workgroup has a tile of rows and walks tiles of columns. Scores are a matrix
// product whose operands' tiles stand in shared memory, some steps of the depth at a time, and so
// are results: there the weights of a tile of scores are one operand. Each lane holds scores of
// several rows and columns, and results of the same rows. The lanes of a row tell each other the
// largest logit of each tile of columns; sums of weights they keep apart until the end.
//
// Tiles of K and V share the two halves of one array, tiles of Q and the weights another array.
// What the next step multiplies is loaded ahead of a step's products, which cover its way: through
// registers where other statements lie between a load and the memory's being free. Where rows are
// few, workgroups share their columns (attention_parts.h).
#include <cmath>

#include "ir/support/parts.h"
#include "shaders/families/attention/attention_kernel.h"
#include "shaders/families/attention/attention_parts.h"
#include "shaders/families/contraction/contraction_k_tiles.h"
#include "shaders/families/contraction/contraction_tile_loader.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

class RowTiles {
 public:
  RowTiles(GroupContext& group, const AttentionShape& shape, const AttentionTiles& tiles)
      : group_(group),
        shape_(shape),
        sizes_(shape.sizes()),
        t_(tiles),
        blocks_(ceil_div(sizes_.columns, t_.scores.columns)),
        depth_tiles_(ceil_div(sizes_.depth, t_.scores.k)),
        column_tiles_(t_.scores.columns / t_.values.k),
        kernel_(group, shape, t_.lanes(), t_.parts == 1),
        b_(kernel_.family.builder),
        keys_along_depth_(kernel_.keys_along_depth()),
        scratch_(group, tiles.parts) {
    if (t_.parts > 1)
      buffer_ = b_.add_buffer(DType::kF32, Access::kWrite, scratch_.type().size_bytes());
  }

  Result<LoweredStep> build() {
    kernel_.open_batch();
    part_ = b_.grid("part", t_.parts);
    IndexExpr row_block = b_.grid("rows", ceil_div(sizes_.rows, t_.scores.rows));
    first_row_ = b_.block_start(row_block, t_.scores.rows, sizes_.rows);
    queries_.emplace(group_, b_, t_.scores, query_lines(), row_block, depth_together());
    values_.emplace(group_, b_, t_.values, value_lines(), 0, neighbours(sizes_.columns));
    declare();
    begin();
    block_ = part_ * t_.blocks + b_.begin_serial("block", t_.blocks);
    first_column_ = b_.block_start(block_, t_.scores.columns, sizes_.columns, whole_blocks());
    add_scores();
    weigh();
    add_values();
    b_.end();
    sum_up();
    if (t_.parts == 1) return kernel_.family.finish();
    return kernel_.family.finish_with({GroupBuffer::Kind::kScratch, 0});
  }

 private:
  int64_t depth_together() const {
    return shape_.depth.empty() ? 1 : neighbours(shape_.depth.back());
  }
  int64_t run() const { return t_.scores.run; }
  int64_t lane_rows() const { return t_.scores.lane_rows; }
  int64_t lanes_down() const { return t_.scores.rows / lane_rows(); }

  IndexExpr begin_lanes() {
    IndexExpr lane = b_.begin_lanes(Operand::i32(t_.lanes()));
    place_ = place_lane(b_, lane, t_.lanes_across());
    return lane;
  }

  void declare() {
    auto registers = [&](int64_t count) {
      return b_.add_array(Scope::kRegister, DType::kF32, count);
    };
    scores_ = registers(lane_rows() * t_.scores.lane_columns);
    results_ = registers(lane_rows() * t_.values.lane_columns);
    max_ = registers(lane_rows());
    sum_ = registers(lane_rows());
    next_rows_ = registers(queries_->lane_elements());
    TileLoader keys = key_loader(0);
    next_lines_ = registers(std::max(keys.lane_elements(), values_->lane_elements()));
    DType word = tile_word_type(DType::kF32, run());
    rows_ = b_.add_array(Scope::kShared, word, t_.row_words());
    lines_ = b_.add_array(Scope::kShared, word, 2 * t_.line_words());
    totals_ = b_.add_array(Scope::kShared, DType::kF32, t_.scores.rows);
  }

  // The operands as lines of tiles.
  TileLoader::Operands query_lines() {
    return {shape_.rows, t_.scores.rows, kernel_.queries_along_depth(), false,
            [this](const IndexVector& row, const KStep& step) {
              kernel_.bind_row_parts(row);
              return kernel_.query(step.k[0], b_.all_of(step.inside, std::nullopt));
            }};
  }
  TileLoader key_loader(const IndexExpr& block) {
    TileLoader::Operands lines{shape_.columns, t_.scores.columns, keys_along_depth_, false,
                               [this](const IndexVector& column, const KStep& step) {
                                 kernel_.bind_column_parts(column);
                                 return kernel_.key(step.k[0],
                                                    b_.all_of(step.inside, std::nullopt));
                               }};
    return TileLoader(group_, b_, t_.scores, std::move(lines), block, depth_together());
  }
  TileLoader::Operands value_lines() {
    return {shape_.outs, t_.values.columns, kernel_.values_along_columns(), false,
            [this](const IndexVector& out, const KStep& step) {
              kernel_.bind_column(step.k[0]);
              kernel_.bind_out_parts(out);
              return kernel_.value(b_.all_of(step.inside, std::nullopt));
            }};
  }

  // Steps of tile number `tile`.
  TileLoader::StepAt depth_steps(const IndexExpr& tile) {
    return [this, tile](const IndexExpr& within) {
      KStep step{{tile * t_.scores.k + within}, {}};
      require(group_.index, step.inside, IndexExpr(sizes_.depth - 1) - step.k[0]);
      return step;
    };
  }
  // A column beyond the last is not loaded: its weight is 0, but 0 times an infinity is not.
  TileLoader::StepAt column_steps(const IndexExpr& tile) {
    return [this, tile](const IndexExpr& within) {
      IndexExpr column = tile * t_.values.k + within;
      KStep step{{block_ * t_.scores.columns + column}, {}};
      if (!whole_blocks()) step.inside = {{IndexExpr(sizes_.columns - 1) - first_column_ - column}};
      return step;
    };
  }
  // (The last part may have blocks to spare.)
  bool whole_blocks() const { return sizes_.columns == t_.parts * t_.blocks * t_.scores.columns; }

  std::vector<Operand> fetch(TileLoader& loader, const IndexExpr& lane,
                             const TileLoader::StepAt& step_at) {
    kernel_.family.emitter.run = kNeighbours;
    std::vector<Operand> elements = loader.fetch(lane, step_at);
    kernel_.family.emitter.run = 1;
    return elements;
  }
  void keep(uint32_t array, const std::vector<Operand>& elements) {
    for (size_t i = 0; i < elements.size(); ++i)
      b_.write(array, static_cast<int64_t>(i), elements[i]);
  }
  std::vector<Operand> kept(uint32_t array, const TileLoader& loader) {
    std::vector<Operand> elements;
    for (int64_t i = 0; i < loader.lane_elements(); ++i) elements.push_back(b_.read(array, i));
    return elements;
  }

  // Where the half for tile number `tile` begins, halves of so many words taking turns.
  IndexExpr half(const IndexExpr& tile, int64_t words) {
    if (tile.is_constant()) return tile.constant % 2 * words;
    Operand odd = b_.compute(Op::kAnd, DType::kI32, {b_.index(tile), Operand::i32(1)});
    Operand first = b_.compute(Op::kMultiply, DType::kI32, {odd, Operand::i32(words)});
    return b_.symbol_for(first, 0, words);
  }
  IndexExpr row_half(const IndexExpr& tile) {
    return half(tile, t_.scores.k * t_.scores.pitch(t_.scores.rows));
  }
  IndexExpr line_half(const IndexExpr& tile) { return half(tile, t_.line_words()); }

  SharedTile shared_tile(uint32_t array, const TileSchedule& s, int64_t lines,
                         const IndexExpr& first) const {
    return {array, DType::kF32, s.run, s.pitch(lines), first};
  }

  // sums += rows times columns of two tiles.
  void multiply(uint32_t sums, const TileSchedule& s, const SharedTile& rows,
                const SharedTile& columns) {
    Operand step = b_.index(b_.begin_fixed("k", s.k));
    std::vector<Operand> x = read_line(b_, rows, step, place_.slow, lanes_down(), s.lane_rows);
    std::vector<Operand> y =
        read_line(b_, columns, step, place_.fast, t_.lanes_across(), s.lane_columns);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < y.size(); ++j) {
        auto at = static_cast<int64_t>(i * y.size() + j);
        b_.write(sums, at, kernel_.multiply_add(x[i], y[j], b_.read(sums, at)));
      }
    b_.end();
  }
  void multiply_depth(const IndexExpr& tile) {
    multiply(scores_, t_.scores, shared_tile(rows_, t_.scores, t_.scores.rows, row_half(tile)),
             shared_tile(lines_, t_.scores, t_.scores.columns, line_half(tile)));
  }
  void multiply_columns(const IndexExpr& tile) {
    int64_t words = t_.values.k * t_.values.pitch(t_.values.rows);
    IndexExpr first = b_.block_start(tile, words, column_tiles_ * words, true);
    multiply(results_, t_.values, shared_tile(rows_, t_.values, t_.values.rows, first),
             shared_tile(lines_, t_.values, t_.values.columns, line_half(tile + value_half())));
  }
  // The half of the first tile of V: that of the last tile of K.
  int64_t value_half() const { return (depth_tiles_ - 1) % 2; }

  void begin() {
    IndexExpr lane = begin_lanes();
    for (int64_t i = 0; i < lane_rows(); ++i) {
      b_.write(max_, i, f32_immediate(-INFINITY));
      b_.write(sum_, i, f32_immediate(0));
    }
    for (int64_t i = 0; i < lane_rows() * t_.values.lane_columns; ++i)
      b_.write(results_, i, f32_immediate(0));
    fetch_first(lane, part_ * t_.blocks);
    b_.end();
  }

  // The first tiles of a block's scores, which go to shared memory when the block begins.
  void fetch_first(const IndexExpr& lane, const IndexExpr& block) {
    keep(next_rows_, fetch(*queries_, lane, depth_steps(0)));
    TileLoader keys = key_loader(block);
    keep(next_lines_, fetch(keys, lane, depth_steps(0)));
  }

  void add_scores() {
    TileLoader keys = key_loader(b_.clamp_to(block_, blocks_ - 1));
    IndexExpr lane = begin_lanes();
    for (int64_t i = 0; i < lane_rows() * t_.scores.lane_columns; ++i)
      b_.write(scores_, i, f32_immediate(0));
    queries_->place(lane);
    queries_->put(rows_, kept(next_rows_, *queries_));
    keys.place(lane);
    keys.put(lines_, kept(next_lines_, keys));
    b_.end();
    if (depth_tiles_ > 1) {
      IndexExpr tile = b_.begin_serial("tile", depth_tiles_ - 1);
      lane = begin_lanes();
      std::vector<Operand> rows = fetch(*queries_, lane, depth_steps(tile + 1));
      std::vector<Operand> lines = fetch(keys, lane, depth_steps(tile + 1));
      multiply_depth(tile);
      queries_->put(rows_, rows, row_half(tile + 1));
      keys.put(lines_, lines, line_half(tile + 1));
      b_.end();
      b_.end();
    }
    lane = begin_lanes();
    keep(next_lines_, fetch(*values_, lane, column_steps(0)));
    multiply_depth(depth_tiles_ - 1);
    tell_largest();
    b_.end();
  }

  IndexExpr row(int64_t i) { return first_row_ + line_of(b_, place_.slow, lanes_down(), run(), i); }
  IndexExpr column(int64_t j) {
    return first_column_ + line_of(b_, place_.fast, t_.lanes_across(), run(), j);
  }
  int64_t score(int64_t i, int64_t j) const { return i * t_.scores.lane_columns + j; }

  // Any NaN reaches its row's results by a weight, whichever is taken for the larger one.
  Operand larger(const Operand& x, const Operand& y) {
    Operand first = b_.compute(Op::kGt, DType::kBool, {x, y});
    return b_.compute(Op::kSelect, DType::kF32, {first, x, y});
  }

  // Turns scores into logits.
  void tell_largest() {
    std::vector<Operand> largest;
    for (int64_t i = 0; i < lane_rows(); ++i)
      for (int64_t j = 0; j < t_.scores.lane_columns; ++j) {
        kernel_.bind_row(b_.clamp_to(row(i), sizes_.rows - 1));
        kernel_.bind_column(b_.clamp_to(column(j), sizes_.columns - 1));
        std::optional<Operand> there;
        if (!whole_blocks()) there = kernel_.has(IndexExpr(sizes_.columns - 1) - column(j));
        Operand logit = kernel_.logit(b_.read(scores_, score(i, j)), there);
        b_.write(scores_, score(i, j), logit);
        if (j == 0)
          largest.push_back(logit);
        else
          largest.back() = larger(largest.back(), logit);
      }
    for (Operand& logit : largest)
      logit = b_.bitcast(reorder(b_.bitcast(logit, DType::kI32)), DType::kF32);
    tell(largest, line_half(1 - value_half()));
  }

  // Bits of a float as an integer in the same order, and back: GPUs take the largest of two or
  // three in one instruction.
  Operand reorder(const Operand& bits) {
    auto op = [&](Op o, const Operand& x, int64_t y) {
      return b_.compute(o, DType::kI32, {x, Operand::i32(y)});
    };
    Operand flips = op(Op::kAnd, op(Op::kShiftRightArithmetic, bits, 31), 0x7fffffff);
    return b_.compute(Op::kXor, DType::kI32, {bits, flips});
  }

  // Lanes of a row tell each other a value for each row, in the memory from word `first` on.
  void tell(const std::vector<Operand>& by_row, const IndexExpr& first) {
    Operand words = b_.compute(Op::kMultiply, DType::kI32,
                               {b_.index(place_.fast), Operand::i32(t_.scores.rows / run())});
    IndexExpr at =
        in_lines(b_.compute(Op::kAdd, DType::kI32, {words, b_.index(first + place_.slow)}));
    auto step = static_cast<size_t>(run());
    for (size_t i = 0; i < by_row.size(); i += step) {
      Operand packed = pack_word(b_, std::span(by_row).subspan(i, step));
      b_.write(lines_, b_.stepped(at, static_cast<int64_t>(i / step) * lanes_down()), packed);
    }
  }
  IndexExpr in_lines(const Operand& word) {
    return b_.symbol_for(word, 0, 2 * t_.line_words() - 1);
  }

  // What all lanes of each row told, folded in their order: the bits as a type. The rows are those
  // of so many words, the first of them at `at`.
  template <typename Fold>
  std::vector<Operand> hear(const IndexExpr& at, int64_t words, DType dtype, const Fold& fold) {
    std::vector<Operand> folded;
    for (int64_t i = 0; i < words; ++i)
      for (int64_t x = 0; x < t_.lanes_across(); ++x) {
        Operand word =
            b_.read(lines_, b_.stepped(at, x * (t_.scores.rows / run()) + i * lanes_down()));
        std::vector<Operand> values = unpack_word(b_, word, DType::kF32, run());
        for (size_t e = 0; e < values.size(); ++e) {
          size_t r = static_cast<size_t>(i * run()) + e;
          values[e] = b_.bitcast(values[e], dtype);
          if (x == 0)
            folded.push_back(values[e]);
          else
            folded[r] = fold(folded[r], values[e]);
        }
      }
    return folded;
  }

  // weights = exp(logits - largest so far), to shared memory; what was summed so far is scaled to
  // match.
  void weigh() {
    IndexExpr lane = begin_lanes();
    IndexExpr told = in_lines(b_.index(line_half(1 - value_half()) + place_.slow));
    std::vector<Operand> largest =
        hear(told, lane_rows() / run(), DType::kI32, [&](const Operand& x, const Operand& y) {
          return b_.compute(Op::kMaximum, DType::kI32, {x, y});
        });
    std::vector<Operand> weights;
    for (int64_t i = 0; i < lane_rows(); ++i) {
      Operand bits = reorder(largest[static_cast<size_t>(i)]);
      weigh_row(i, b_.bitcast(bits, DType::kF32), weights);
    }
    put_weights(weights);
    values_->place(lane);
    values_->put(lines_, kept(next_lines_, *values_), line_half(value_half()));
    b_.end();
  }

  void weigh_row(int64_t i, const Operand& largest_here, std::vector<Operand>& weights) {
    Operand old = b_.read(max_, i), largest = larger(old, largest_here);
    Operand base = attention_base(b_, largest);
    Operand scale = kernel_.weight(kernel_.op(Op::kSubtract, old, base));
    Operand sum = kernel_.op(Op::kMultiply, b_.read(sum_, i), scale);
    for (int64_t j = 0; j < t_.scores.lane_columns; ++j) {
      Operand logit = b_.read(scores_, score(i, j));
      weights.push_back(kernel_.weight(kernel_.op(Op::kSubtract, logit, base)));
      sum = kernel_.op(Op::kAdd, sum, weights.back());
    }
    b_.write(max_, i, largest);
    b_.write(sum_, i, sum);
    for (int64_t j = 0; j < t_.values.lane_columns; ++j) {
      int64_t at = i * t_.values.lane_columns + j;
      b_.write(results_, at, kernel_.op(Op::kMultiply, b_.read(results_, at), scale));
    }
  }

  // Columns are the steps of the tile that they make.
  void put_weights(const std::vector<Operand>& weights) {
    int64_t pitch = t_.values.pitch(t_.values.rows);
    for (int64_t j = 0; j < t_.scores.lane_columns; ++j) {
      IndexExpr step = line_of(b_, place_.fast, t_.lanes_across(), run(), j);
      Operand start = b_.compute(Op::kMultiply, DType::kI32, {b_.index(step), Operand::i32(pitch)});
      Operand origin = b_.compute(Op::kAdd, DType::kI32, {start, b_.index(place_.slow)});
      IndexExpr at = b_.symbol_for(origin, 0, t_.scores.columns * pitch - 1);
      for (int64_t i = 0; i < lane_rows(); i += run()) {
        std::vector<Operand> word;
        for (int64_t e = i; e < i + run(); ++e)
          word.push_back(weights[static_cast<size_t>(score(e, j))]);
        Operand packed = pack_word(b_, word);
        b_.write(rows_, b_.stepped(at, i / run() * lanes_down()), packed);
      }
    }
  }

  void add_values() {
    if (column_tiles_ > 1) {
      IndexExpr tile = b_.begin_serial("tile", column_tiles_ - 1);
      IndexExpr lane = begin_lanes();
      std::vector<Operand> lines = fetch(*values_, lane, column_steps(tile + 1));
      multiply_columns(tile);
      values_->put(lines_, lines, line_half(tile + 1 + value_half()));
      b_.end();
      b_.end();
    }
    IndexExpr lane = begin_lanes();
    if (t_.blocks > 1) fetch_first(lane, b_.clamp_to(block_ + 1, blocks_ - 1));
    multiply_columns(column_tiles_ - 1);
    b_.end();
  }

  void sum_up() {
    begin_lanes();
    std::vector<Operand> sums;
    for (int64_t i = 0; i < lane_rows(); ++i) sums.push_back(b_.read(sum_, i));
    tell(sums, 0);
    b_.end();
    total_rows();
    begin_lanes();
    for (int64_t i = 0; i < lane_rows(); ++i) {
      kernel_.bind_row(b_.clamp_to(row(i), sizes_.rows - 1));
      Operand total = b_.read(totals_, line_of(b_, place_.slow, lanes_down(), run(), i));
      if (t_.parts == 1)
        store_row(i, total);
      else
        leave_row(i, total);
    }
    b_.end();
  }

  // A row's sum is one lane's work. Where results are stored it is the sum's inverse: a division
  // of each result would be exact, and cost as much as all products.
  void total_rows() {
    IndexExpr row = b_.begin_lanes(Operand::i32(t_.scores.rows));
    IndexVector at = delinearize(group_.index, row, {t_.scores.rows / run(), run()});
    std::vector<Operand> sums =
        hear(at[0], 1, DType::kF32,
             [&](const Operand& x, const Operand& y) { return kernel_.op(Op::kAdd, x, y); });
    Operand total = sums[0];
    if (run() == 2) {
      Operand second = b_.compute(Op::kGt, DType::kBool, {b_.index(at[1]), Operand::i32(0)});
      total = b_.compute(Op::kSelect, DType::kF32, {second, sums[1], sums[0]});
    }
    if (t_.parts == 1) total = kernel_.op(Op::kDivide, f32_immediate(1), total);
    b_.write(totals_, row, total);
    b_.end();
  }

  std::vector<IndexCondition> row_inside(int64_t i) {
    std::vector<IndexCondition> inside;
    require(group_.index, inside, IndexExpr(sizes_.rows - 1) - row(i));
    return inside;
  }

  // store(result, guard) at the place of each of the lane's results of a row.
  template <typename Store>
  void for_each_result(int64_t i, const Store& store) {
    for (int64_t j = 0; j < t_.values.lane_columns; ++j) {
      IndexExpr out = line_of(b_, place_.fast, t_.lanes_across(), run(), j);
      std::vector<IndexCondition> inside = row_inside(i);
      require(group_.index, inside, IndexExpr(sizes_.outs - 1) - out);
      kernel_.bind_out(b_.clamp_to(out, sizes_.outs - 1));
      std::optional<Operand> guard = b_.all_of(inside, std::nullopt);
      store(b_.read(results_, i * t_.values.lane_columns + j), guard);
    }
  }

  void store_row(int64_t i, const Operand& inverse) {
    for_each_result(i, [&](const Operand& result, const std::optional<Operand>& guard) {
      kernel_.store(kernel_.op(Op::kMultiply, result, inverse), guard);
    });
  }

  void leave_row(int64_t i, const Operand& sum) {
    for_each_result(i, [&](const Operand& result, const std::optional<Operand>& guard) {
      b_.store(buffer_, scratch_.result(group_.space, part_), result, guard);
    });
    std::vector<IndexCondition> inside = row_inside(i);
    inside.push_back({place_.fast, IndexCondition::Kind::kZero});
    std::optional<Operand> guard = b_.all_of(inside, std::nullopt);
    b_.store(buffer_, scratch_.largest(group_.space, part_), b_.read(max_, i), guard);
    b_.store(buffer_, scratch_.sum(group_.space, part_), sum, guard);
  }

  GroupContext& group_;
  const AttentionShape& shape_;
  AttentionSizes sizes_;
  AttentionTiles t_;
  int64_t blocks_;                      // of all columns
  int64_t depth_tiles_, column_tiles_;  // of a block
  AttentionKernel kernel_;
  KernelBuilder& b_;
  bool keys_along_depth_;
  AttentionScratch scratch_;  // if there are parts
  uint32_t buffer_ = 0;
  std::optional<TileLoader> queries_, values_;
  IndexExpr part_, first_row_, block_, first_column_;
  LanePlace place_;  // of the open lane loop: rows are the slow part
  uint32_t scores_ = 0, results_ = 0, max_ = 0, sum_ = 0;
  uint32_t next_rows_ = 0, next_lines_ = 0;     // loaded ahead
  uint32_t rows_ = 0, lines_ = 0, totals_ = 0;  // shared
};

}  // namespace

Result<LoweredGroup> lower_attention_tiles(GroupContext& group, const AttentionShape& shape,
                                           const AttentionTiles& tiles) {
  LoweredGroup lowered;
  GroupContext products = group;
  TUFF_ASSIGN(LoweredStep step, RowTiles(products, shape, tiles).build());
  lowered.steps.push_back(std::move(step));
  if (tiles.parts == 1) return lowered;
  TensorType scratch = AttentionScratch(group, tiles.parts).type();
  lowered.scratch_bytes = storage_bytes(scratch, group.caps);
  TUFF_ASSIGN(LoweredStep fold, lower_attention_fold(group, tiles.parts));
  lowered.steps.push_back(std::move(fold));
  return lowered;
}

}  // namespace tuff
