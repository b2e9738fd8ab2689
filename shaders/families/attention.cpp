// attention: softmax(Q K^T) V in one kernel, with no scores in memory. A lane owns a row
// and walks the columns in blocks: the scores of a block stand in its registers, and the
// softmax runs along (online): the largest logit so far, the sum of the weights, and the
// row of results, which are scaled down whenever a larger logit turns up. Rows of K and V
// are the same for all lanes, so each lane loads a part and the lanes read them from each
// other. Edges: indices are clamped for loads; columns beyond the last have no weight.
#include <cmath>

#include "ir/contraction.h"
#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

Operand f32(double value) {
  Literal literal = Literal::scalar(DType::kF32, 0);
  literal.set_double(0, value);
  return immediate_of(literal);
}

DotDims dims_of(const Graph& region, const Node& dot) {
  return dot_dims(dot, region.type(dot.operands[0]).rank(), region.type(dot.operands[1]).rank());
}

Shape contracted_sizes(const Graph& region, const Node& dot, const DotDims& dims) {
  Shape sizes;
  for (int64_t d : dims.lhs_contract)
    sizes.push_back(region.type(dot.operands[0]).shape[static_cast<size_t>(d)]);
  return sizes;
}

class AttentionBuilder {
 public:
  explicit AttentionBuilder(GroupContext& group)
      : group_(group),
        space_(group.space),
        a_(*group.space.attention),
        scores_(group.region.node(a_.nodes.scores)),
        values_(group.region.node(a_.nodes.values)),
        scores_dims_(dims_of(group.region, scores_)),
        values_dims_(dims_of(group.region, values_)),
        row_sizes_(sizes_of(a_.rows)),
        out_sizes_(sizes_of(a_.out)),
        k_sizes_(contracted_sizes(group.region, scores_, scores_dims_)),
        rows_(num_elements(row_sizes_)),
        outs_(num_elements(out_sizes_)),
        columns_(num_elements(a_.column_sizes)),
        s_(choose_attention_schedule(group.caps, columns_, k_sizes_.empty() ? 1 : k_sizes_.back())),
        out_step_(s_.wide_loads && outs_ % 2 == 0 ? 2 : 1),
        kernel_(group, s_.lanes),
        b_(kernel_.builder) {}

  Result<LoweredStep> build() {
    open_rows();
    declare();
    int64_t blocks = (columns_ + s_.columns - 1) / s_.columns;
    block_ = b_.block_start(b_.begin_serial("block", blocks), s_.columns, columns_);
    add_scores();
    weigh();
    add_values();
    b_.end();
    store();
    return kernel_.finish();
  }

 private:
  Shape sizes_of(const std::vector<size_t>& dims) const {
    Shape sizes;
    for (size_t d : dims) sizes.push_back(space_.dims[d]);
    return sizes;
  }

  // Variables that stand for the parts of one linear position.
  void bind(const IndexVector& vars, const IndexExpr& linear, const Shape& sizes) {
    IndexVector at = delinearize(group_.index, linear, sizes);
    for (size_t i = 0; i < vars.size(); ++i) b_.bind(vars[i], at[i]);
    kernel_.emitter.forget();
  }
  IndexVector vars_of(const std::vector<size_t>& dims) const {
    IndexVector vars;
    for (size_t d : dims) vars.push_back(space_.vars[d]);
    return vars;
  }
  void bind_column(const IndexExpr& column) {
    bind(a_.columns, b_.clamp_to(column, columns_ - 1), a_.column_sizes);
  }
  void bind_out(const IndexExpr& out) { bind(vars_of(a_.out), out, out_sizes_); }
  IndexExpr begin_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes)); }
  void begin_row_lanes() {
    row_ = first_row_ + begin_lanes();
    bind(vars_of(a_.rows), b_.clamp_to(row_, rows_ - 1), row_sizes_);
  }

  void open_rows() {
    for (size_t d : a_.batch)
      b_.bind(space_.vars[d], b_.open_grid("b" + std::to_string(d), space_.dims[d],
                                           d == 0 && space_.open ? 2 : space_.dims[d]));
    IndexExpr block = b_.grid("rows", (rows_ + s_.lanes - 1) / s_.lanes);
    first_row_ = b_.block_start(block, s_.lanes, rows_);
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
    result_ = registers(outs_);
    keys_ = shared_arrays(lane_blocks(s_.columns) * s_.k_unroll);
    v_ = shared_arrays(lane_blocks(outs_ / out_step_) * out_step_);
    begin_lanes();
    b_.write(max_, 0, f32(-INFINITY));
    b_.write(sum_, 0, f32(0));
    for (int64_t i = 0; i < outs_; ++i) b_.write(result_, i, f32(0));
    b_.end();
  }

  Operand load(const Node& dot, size_t operand, const IndexVector& index,
               const std::optional<Operand>& guard) {
    return b_.convert(kernel_.emitter.emit(dot.operands[operand], index, guard), DType::kF32);
  }

  Operand multiply_add(const Operand& x, const Operand& y, const Operand& sum) {
    return b_.compute(Op::kFma, DType::kF32, {x, y, sum});
  }

  // products = Q K^T of this lane's row and the block's columns.
  void add_scores() {
    begin_lanes();
    for (int64_t c = 0; c < s_.columns; ++c) b_.write(products_, c, f32(0));
    b_.end();
    if (num_elements(k_sizes_) == 0) return;
    int64_t size = num_elements(k_sizes_);
    IndexExpr k = b_.begin_serial("k", size / s_.k_unroll) * s_.k_unroll;
    kernel_.emitter.wide_loads = s_.wide_loads;
    load_keys(k);
    begin_row_lanes();
    for (int64_t u = 0; u < s_.k_unroll; ++u) {
      Operand q = load(scores_, a_.rows_operand, scores_index(a_.rows_operand, k + u), {});
      for (int64_t c = 0; c < s_.columns; ++c) {
        auto array = static_cast<size_t>(c / s_.lanes * s_.k_unroll + u);
        Operand key = b_.read(keys_[array], c % s_.lanes);
        b_.write(products_, c, multiply_add(q, key, b_.read(products_, c)));
      }
    }
    b_.end();
    kernel_.emitter.wide_loads = false;
    b_.end();
  }

  IndexVector scores_index(size_t operand, const IndexExpr& k) {
    return dot_operand_index(scores_dims_, operand, a_.scores,
                             delinearize(group_.index, k, k_sizes_));
  }

  void load_keys(const IndexExpr& k) {
    IndexExpr lane = begin_lanes();
    for (int64_t g = 0; g < lane_blocks(s_.columns); ++g) {
      bind_column(b_.stepped(block_, g * s_.lanes) + lane);
      for (int64_t u = 0; u < s_.k_unroll; ++u) {
        size_t operand = 1 - a_.rows_operand;
        b_.write(keys_[static_cast<size_t>(g * s_.k_unroll + u)], lane,
                 load(scores_, operand, scores_index(operand, k + u), {}));
      }
    }
    b_.end();
  }

  // Is column `c` of the block there at all? Nothing where all are.
  std::optional<Operand> is_column(const IndexExpr& c) {
    if (columns_ % s_.columns == 0) return std::nullopt;
    IndexExpr rest = IndexExpr(columns_ - 1) - c;
    return b_.all_of({{rest, IndexCondition::Kind::kNonNegative}}, std::nullopt);
  }

  Operand logit(int64_t c) {
    IndexExpr column = b_.stepped(block_, c);
    bind_column(column);
    Operand product = b_.convert(b_.read(products_, c), scores_.types[0].dtype);
    kernel_.emitter.anchor_value = [product](Value) { return product; };
    Operand x = b_.convert(kernel_.emitter.emit(a_.nodes.logits, a_.scores), DType::kF32);
    if (std::optional<Operand> there = is_column(column))
      x = b_.compute(Op::kSelect, DType::kF32, {*there, x, f32(-INFINITY)});
    return x;
  }

  // weights = exp(logits - largest so far); what was summed so far is scaled to match.
  // While every logit is -inf, 0 stands for the largest: all weights stay 0, and the row
  // ends as 0 / 0, as softmax has it.
  void weigh() {
    begin_row_lanes();
    auto op = [&](Op o, const Operand& x, const Operand& y) {
      return b_.compute(o, DType::kF32, {x, y});
    };
    auto exp = [&](const Operand& x) { return b_.compute(Op::kExponential, DType::kF32, {x}); };
    std::vector<Operand> logits;
    Operand old = b_.read(max_, 0), largest = old;
    for (int64_t c = 0; c < s_.columns; ++c) {
      logits.push_back(logit(c));
      largest = op(Op::kMaximum, largest, logits.back());
    }
    Operand none = b_.compute(Op::kEq, DType::kBool, {largest, f32(-INFINITY)});
    Operand base = b_.compute(Op::kSelect, DType::kF32, {none, f32(0), largest});
    Operand scale = exp(op(Op::kSubtract, old, base));
    Operand sum = op(Op::kMultiply, b_.read(sum_, 0), scale);
    for (int64_t c = 0; c < s_.columns; ++c) {
      Operand weight = exp(op(Op::kSubtract, logits[static_cast<size_t>(c)], base));
      b_.write(weights_, c, weight);
      sum = op(Op::kAdd, sum, weight);
    }
    b_.write(max_, 0, largest);
    b_.write(sum_, 0, sum);
    for (int64_t i = 0; i < outs_; ++i)
      b_.write(result_, i, op(Op::kMultiply, b_.read(result_, i), scale));
    b_.end();
  }

  // result += weights V, a row of V at a time. A row beyond the last is not loaded: its
  // weight is 0, but 0 times an infinity is not.
  void add_values() {
    IndexExpr step = b_.begin_serial("column", s_.columns);
    IndexExpr column = block_ + step;
    kernel_.emitter.wide_loads = s_.wide_loads;
    size_t operand = 1 - a_.nodes.weights_operand;
    IndexExpr lane = begin_lanes();
    bind_column(column);
    std::optional<Operand> there = is_column(column);
    for (size_t i = 0; i < v_.size(); ++i) {
      auto block = static_cast<int64_t>(i) / out_step_, part = static_cast<int64_t>(i) % out_step_;
      IndexExpr run = b_.clamp_to(lane + block * s_.lanes, outs_ / out_step_ - 1);
      bind_out(run * out_step_ + part);
      IndexVector index = dot_operand_index(values_dims_, operand, space_.vars, a_.columns);
      b_.write(v_[i], lane, load(values_, operand, index, there));
    }
    b_.end();
    kernel_.emitter.wide_loads = false;
    begin_lanes();
    Operand weight = b_.read(weights_, step);
    for (int64_t i = 0; i < outs_; ++i) {
      int64_t run = i / out_step_;
      auto array = static_cast<size_t>(run / s_.lanes * out_step_ + i % out_step_);
      Operand v = b_.read(v_[array], run % s_.lanes);
      b_.write(result_, i, multiply_add(weight, v, b_.read(result_, i)));
    }
    b_.end();
    b_.end();
  }

  void store() {
    begin_row_lanes();
    std::optional<Operand> guard;
    if (rows_ % s_.lanes != 0) {
      IndexExpr rest = IndexExpr(rows_ - 1) - row_;
      guard = b_.all_of({{rest, IndexCondition::Kind::kNonNegative}}, std::nullopt);
    }
    Operand sum = b_.read(sum_, 0);
    for (int64_t i = 0; i < outs_; ++i) {
      bind_out(b_.symbol_for(Operand::i32(i), 0, outs_ - 1));  // no size of the problem
      Operand value = b_.compute(Op::kDivide, DType::kF32, {b_.read(result_, i), sum});
      value = b_.convert(value, values_.types[0].dtype);
      kernel_.emitter.anchor_value = [value](Value) { return value; };
      for (size_t o = 0; o < group_.region.outputs().size(); ++o) kernel_.store_output(o, guard);
    }
    b_.end();
  }

  GroupContext& group_;
  const GroupSpace& space_;
  const AttentionSpace& a_;
  const Node &scores_, &values_;
  DotDims scores_dims_, values_dims_;
  Shape row_sizes_, out_sizes_, k_sizes_;
  int64_t rows_, outs_, columns_;
  AttentionSchedule s_;
  int64_t out_step_;  // neighbouring elements of a row of V that a lane loads together
  FamilyKernel kernel_;
  KernelBuilder& b_;
  IndexExpr first_row_, block_;  // first row and column of the workgroup's blocks
  IndexExpr row_;                // of the lane, not clamped
  uint32_t products_ = 0, weights_ = 0, max_ = 0, sum_ = 0, result_ = 0;
  std::vector<uint32_t> keys_, v_;
};

}  // namespace

Result<LoweredGroup> lower_attention(GroupContext& group) {
  return one_step(AttentionBuilder(group).build());
}

}  // namespace tuff
