// attention: softmax(Q K^T) V in one kernel, with no scores in memory. A lane owns a row
// and walks the columns in blocks: the scores of a block stand in its registers, and the
// softmax runs along (online): the largest logit so far, the sum of the weights, and the
// row of results, which are scaled down whenever a larger logit turns up. Rows of K and V
// are the same for all lanes, so each lane loads a part and the lanes read them from each
// other. Edges: indices are clamped for loads; columns beyond the last have no weight.
// GPUs have tiles instead (attention_tiles.cpp).
#include <cmath>

#include "shaders/families/attention/attention_kernel.h"

namespace tuff {

namespace {

class RowPerLane {
 public:
  RowPerLane(GroupContext& group, const AttentionShape& shape)
      : sizes_(shape.sizes()),
        s_(choose_attention_schedule(group.caps, sizes_.columns,
                                     shape.depth.empty() ? 1 : shape.depth.back())),
        out_step_(s_.wide_loads && sizes_.outs % 2 == 0 ? 2 : 1),
        kernel_(group, shape, s_.lanes),
        b_(kernel_.family.builder) {}

  Result<LoweredStep> build() {
    kernel_.open_batch();
    IndexExpr rows = b_.grid("rows", (sizes_.rows + s_.lanes - 1) / s_.lanes);
    first_row_ = b_.block_start(rows, s_.lanes, sizes_.rows);
    declare();
    int64_t blocks = (sizes_.columns + s_.columns - 1) / s_.columns;
    block_ = b_.block_start(b_.begin_serial("block", blocks), s_.columns, sizes_.columns);
    add_scores();
    weigh();
    add_values();
    b_.end();
    store();
    return kernel_.family.finish();
  }

 private:
  void bind_column(const IndexExpr& column) {
    kernel_.bind_column(b_.clamp_to(column, sizes_.columns - 1));
  }
  IndexExpr begin_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes)); }
  void begin_row_lanes() {
    row_ = first_row_ + begin_lanes();
    kernel_.bind_row(b_.clamp_to(row_, sizes_.rows - 1));
  }

  // Arrays of one element for each lane, read by all: `count` of them.
  std::vector<uint32_t> shared_arrays(int64_t count) {
    std::vector<uint32_t> arrays;
    for (int64_t i = 0; i < count; ++i)
      arrays.push_back(b_.add_array(Scope::kShared, DType::kF32, s_.lanes));
    return arrays;
  }
  int64_t lane_blocks(int64_t count) const { return (count + s_.lanes - 1) / s_.lanes; }

  void declare() {
    auto registers = [&](int64_t count) {
      return b_.add_array(Scope::kRegister, DType::kF32, count);
    };
    products_ = registers(s_.columns);
    weights_ = registers(s_.columns);
    max_ = registers(1);
    sum_ = registers(1);
    result_ = registers(sizes_.outs);
    keys_ = shared_arrays(lane_blocks(s_.columns) * s_.k_unroll);
    v_ = shared_arrays(lane_blocks(sizes_.outs / out_step_) * out_step_);
    begin_lanes();
    b_.write(max_, 0, f32_immediate(-INFINITY));
    b_.write(sum_, 0, f32_immediate(0));
    for (int64_t i = 0; i < sizes_.outs; ++i) b_.write(result_, i, f32_immediate(0));
    b_.end();
  }

  // products = Q K^T of this lane's row and the block's columns.
  void add_scores() {
    begin_lanes();
    for (int64_t c = 0; c < s_.columns; ++c) b_.write(products_, c, f32_immediate(0));
    b_.end();
    if (sizes_.depth == 0) return;
    IndexExpr k = b_.begin_serial("k", sizes_.depth / s_.k_unroll) * s_.k_unroll;
    kernel_.family.emitter.wide_loads = s_.wide_loads;
    load_keys(k);
    begin_row_lanes();
    for (int64_t u = 0; u < s_.k_unroll; ++u) {
      Operand q = kernel_.query(k + u);
      for (int64_t c = 0; c < s_.columns; ++c) {
        auto array = static_cast<size_t>(c / s_.lanes * s_.k_unroll + u);
        Operand key = b_.read(keys_[array], c % s_.lanes);
        b_.write(products_, c, kernel_.multiply_add(q, key, b_.read(products_, c)));
      }
    }
    b_.end();
    kernel_.family.emitter.wide_loads = false;
    b_.end();
  }

  void load_keys(const IndexExpr& k) {
    IndexExpr lane = begin_lanes();
    for (int64_t g = 0; g < lane_blocks(s_.columns); ++g) {
      bind_column(b_.stepped(block_, g * s_.lanes) + lane);
      for (int64_t u = 0; u < s_.k_unroll; ++u)
        b_.write(keys_[static_cast<size_t>(g * s_.k_unroll + u)], lane, kernel_.key(k + u));
    }
    b_.end();
  }

  // Is column `c` of the block there at all? Nothing where all are.
  std::optional<Operand> is_column(const IndexExpr& c) {
    if (sizes_.columns % s_.columns == 0) return std::nullopt;
    return kernel_.has(IndexExpr(sizes_.columns - 1) - c);
  }

  Operand logit(int64_t c) {
    IndexExpr column = b_.stepped(block_, c);
    bind_column(column);
    Operand product = b_.read(products_, c);
    return kernel_.logit(product, is_column(column));
  }

  // weights = exp(logits - largest so far); what was summed so far is scaled to match.
  void weigh() {
    begin_row_lanes();
    std::vector<Operand> logits;
    Operand old = b_.read(max_, 0), largest = old;
    for (int64_t c = 0; c < s_.columns; ++c) {
      logits.push_back(logit(c));
      largest = kernel_.op(Op::kMaximum, largest, logits.back());
    }
    Operand base = attention_base(b_, largest);
    Operand scale = kernel_.exp(kernel_.op(Op::kSubtract, old, base));
    Operand sum = kernel_.op(Op::kMultiply, b_.read(sum_, 0), scale);
    for (int64_t c = 0; c < s_.columns; ++c) {
      Operand weight = kernel_.exp(kernel_.op(Op::kSubtract, logits[static_cast<size_t>(c)], base));
      b_.write(weights_, c, weight);
      sum = kernel_.op(Op::kAdd, sum, weight);
    }
    b_.write(max_, 0, largest);
    b_.write(sum_, 0, sum);
    for (int64_t i = 0; i < sizes_.outs; ++i)
      b_.write(result_, i, kernel_.op(Op::kMultiply, b_.read(result_, i), scale));
    b_.end();
  }

  // result += weights V, a row of V at a time. A row beyond the last is not loaded: its
  // weight is 0, but 0 times an infinity is not.
  void add_values() {
    IndexExpr step = b_.begin_serial("column", s_.columns);
    IndexExpr column = block_ + step;
    kernel_.family.emitter.wide_loads = s_.wide_loads;
    IndexExpr lane = begin_lanes();
    bind_column(column);
    std::optional<Operand> there = is_column(column);
    for (size_t i = 0; i < v_.size(); ++i) {
      auto block = static_cast<int64_t>(i) / out_step_, part = static_cast<int64_t>(i) % out_step_;
      IndexExpr run = b_.clamp_to(lane + block * s_.lanes, sizes_.outs / out_step_ - 1);
      kernel_.bind_out(run * out_step_ + part);
      b_.write(v_[i], lane, kernel_.value(there));
    }
    b_.end();
    kernel_.family.emitter.wide_loads = false;
    begin_lanes();
    Operand weight = b_.read(weights_, step);
    for (int64_t i = 0; i < sizes_.outs; ++i) {
      int64_t run = i / out_step_;
      auto array = static_cast<size_t>(run / s_.lanes * out_step_ + i % out_step_);
      Operand v = b_.read(v_[array], run % s_.lanes);
      b_.write(result_, i, kernel_.multiply_add(weight, v, b_.read(result_, i)));
    }
    b_.end();
    b_.end();
  }

  void store() {
    begin_row_lanes();
    std::optional<Operand> guard;
    if (sizes_.rows % s_.lanes != 0) guard = kernel_.has(IndexExpr(sizes_.rows - 1) - row_);
    Operand sum = b_.read(sum_, 0);
    for (int64_t i = 0; i < sizes_.outs; ++i) {
      // No size of the problem.
      kernel_.bind_out(b_.symbol_for(Operand::i32(i), 0, sizes_.outs - 1));
      kernel_.store(kernel_.op(Op::kDivide, b_.read(result_, i), sum), guard);
    }
    b_.end();
  }

  AttentionSizes sizes_;
  AttentionSchedule s_;
  int64_t out_step_;  // neighbouring elements of a row of V that a lane loads together
  AttentionKernel kernel_;
  KernelBuilder& b_;
  IndexExpr first_row_, block_;  // first row and column of the workgroup's blocks
  IndexExpr row_;                // of the lane, not clamped
  uint32_t products_ = 0, weights_ = 0, max_ = 0, sum_ = 0, result_ = 0;
  std::vector<uint32_t> keys_, v_;
};

}  // namespace

Result<LoweredGroup> lower_attention_rows(GroupContext& group, const AttentionShape& shape) {
  return one_step(RowPerLane(group, shape).build());
}

Result<LoweredGroup> lower_attention(GroupContext& group) {
  AttentionShape shape(group);
  if (auto tiles = choose_attention_tiles(group.caps, shape.sizes()))
    return lower_attention_tiles(group, shape, *tiles);
  return lower_attention_rows(group, shape);
}

}  // namespace tuff
