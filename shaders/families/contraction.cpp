// matmul and convolution as a kernel: a register tile per lane. A convolution is a
// matmul whose A load walks the input's windows; nothing is copied.
//
// One workgroup computes tile_m rows and lanes * tile_n columns; a lane holds
// tile_m x tile_n sums. Loads of B are contiguous over lanes; rows of A are shared out
// over the lanes or loaded by all. Edges: indices are clamped for loads, stores guarded.
#include "ir/contraction.h"

#include "shaders/families/family.h"
#include "shaders/schedule.h"

namespace tuff {

namespace {

// A contraction as C[batch, m, n] = sum over k of A * B: dimension sizes by role,
// and how their indices address A, B and C's dimensions.
struct Problem {
  Shape batch, m, n, k;
  std::vector<size_t> out_batch, out_m, out_n;  // space dimension of each
  bool splits_m = false;  // A's elements need the parts of m, not only m as a whole
  // Operand indices given indices by role; conditions hold where A's element exists
  // (otherwise it is zero).
  std::function<IndexVector(const IndexVector& batch, const IndexVector& m, const IndexVector& k,
                            std::vector<IndexCondition>& conditions)>
      a_index;
  std::function<IndexVector(const IndexVector& batch, const IndexVector& n, const IndexVector& k)>
      b_index;
};

Shape sizes_of(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape sizes;
  for (int64_t d : dims) sizes.push_back(shape[static_cast<size_t>(d)]);
  return sizes;
}

void scatter_index(IndexVector& index, const std::vector<int64_t>& dims,
                   const IndexVector& values) {
  for (size_t i = 0; i < dims.size(); ++i) index[static_cast<size_t>(dims[i])] = values[i];
}

Problem dot_problem(const Graph& region, const Node& dot) {
  const Shape& lhs = region.type(dot.operands[0]).shape;
  const Shape& rhs = region.type(dot.operands[1]).shape;
  DotDims dims = dot_dims(dot, static_cast<int64_t>(lhs.size()), static_cast<int64_t>(rhs.size()));
  Problem p;
  p.batch = sizes_of(lhs, dims.lhs_batch);
  p.m = sizes_of(lhs, dims.lhs_free);
  p.n = sizes_of(rhs, dims.rhs_free);
  p.k = sizes_of(lhs, dims.lhs_contract);
  size_t next = 0;
  for (size_t i = 0; i < p.batch.size(); ++i) p.out_batch.push_back(next++);
  for (size_t i = 0; i < p.m.size(); ++i) p.out_m.push_back(next++);
  for (size_t i = 0; i < p.n.size(); ++i) p.out_n.push_back(next++);
  p.a_index = [dims, rank = lhs.size()](const IndexVector& batch, const IndexVector& m,
                                        const IndexVector& k, std::vector<IndexCondition>&) {
    IndexVector index(rank);
    scatter_index(index, dims.lhs_batch, batch);
    scatter_index(index, dims.lhs_free, m);
    scatter_index(index, dims.lhs_contract, k);
    return index;
  };
  p.b_index = [dims, rank = rhs.size()](const IndexVector& batch, const IndexVector& n,
                                        const IndexVector& k) {
    IndexVector index(rank);
    scatter_index(index, dims.rhs_batch, batch);
    scatter_index(index, dims.rhs_free, n);
    scatter_index(index, dims.rhs_contract, k);
    return index;
  };
  return p;
}

// StableHLO specification, "convolution". Batch: feature groups. m: batch and
// spatial; n: output features of the group; k: window and input features of it.
Result<Problem> convolution_problem(GroupContext& group, const Node& node) {
  const Shape& input = group.region.type(node.operands[0]).shape;
  const Shape& kernel = group.region.type(node.operands[1]).shape;
  const Shape& output = node.types[0].shape;
  auto dims = std::make_shared<ConvolutionDims>(convolution_dims(node));
  if (dims->batch_groups != 1)
    return Error{ErrorCode::kUnsupported, "A convolution with batch groups has no kernel yet.",
                 node.loc};
  auto at = [](const Shape& shape, int64_t d) { return shape[static_cast<size_t>(d)]; };
  int64_t groups = dims->feature_groups;
  int64_t group_inputs = at(kernel, dims->kernel_input_feature);
  int64_t group_outputs = at(kernel, dims->kernel_output_feature) / groups;
  Problem p;
  p.batch = {groups};
  p.splits_m = true;
  p.m = {at(output, dims->output_batch)};
  p.n = {group_outputs};
  p.out_m = {static_cast<size_t>(dims->output_batch)};
  p.out_n = {static_cast<size_t>(dims->output_feature)};
  for (size_t i = 0; i < dims->output_spatial.size(); ++i) {
    p.m.push_back(at(output, dims->output_spatial[i]));
    p.out_m.push_back(static_cast<size_t>(dims->output_spatial[i]));
    p.k.push_back(at(kernel, dims->kernel_spatial[i]));
  }
  p.k.push_back(group_inputs);
  IndexContext* context = &group.index;
  p.a_index = [=](const IndexVector& batch, const IndexVector& m, const IndexVector& k,
                  std::vector<IndexCondition>& conditions) {
    using Kind = IndexCondition::Kind;
    IndexVector index(input.size());
    index[static_cast<size_t>(dims->input_batch)] = m[0];
    index[static_cast<size_t>(dims->input_feature)] = batch[0] * group_inputs + k.back();
    for (size_t i = 0; i < dims->input_spatial.size(); ++i) {
      // Position in the dilated input; it exists iff it is inside and on the grid.
      IndexExpr position =
          m[i + 1] * dims->strides[i] + k[i] * dims->rhs_dilation[i] - dims->padding_low[i];
      int64_t size = at(input, dims->input_spatial[i]);
      IndexExpr source = context->floor_div(position, dims->lhs_dilation[i]);
      for (IndexCondition c :
           {IndexCondition{position, Kind::kNonNegative},
            IndexCondition{context->mod(position, dims->lhs_dilation[i]), Kind::kZero},
            IndexCondition{IndexExpr(size - 1) - source, Kind::kNonNegative}})
        if (truth(*context, c) != Truth::kAlways) conditions.push_back(c);
      index[static_cast<size_t>(dims->input_spatial[i])] = source;
    }
    return index;
  };
  p.b_index = [=](const IndexVector& batch, const IndexVector& n, const IndexVector& k) {
    IndexVector index(kernel.size());
    index[static_cast<size_t>(dims->kernel_input_feature)] = k.back();
    index[static_cast<size_t>(dims->kernel_output_feature)] = batch[0] * group_outputs + n[0];
    for (size_t i = 0; i < dims->kernel_spatial.size(); ++i) {
      int64_t size = at(kernel, dims->kernel_spatial[i]);
      index[static_cast<size_t>(dims->kernel_spatial[i])] =
          dims->reversal[i] ? IndexExpr(size - 1) - k[i] : k[i];
    }
    return index;
  };
  return p;
}

DType accumulator_type(DType result) {
  if (result == DType::kF16 || result == DType::kBF16) return DType::kF32;
  return result;
}

// Contracted indices of one step, and where they exist.
struct KStep {
  IndexVector k;
  std::vector<IndexCondition> inside;
};

class ContractionBuilder {
 public:
  ContractionBuilder(GroupContext& group, Problem problem)
      : group_(group),
        node_(group.region.node(group.space.anchors[0])),
        p_(std::move(problem)),
        m_(num_elements(p_.m)),
        n_(num_elements(p_.n)),
        s_(choose_matmul_schedule(group.caps, m_, n_, num_elements(p_.k),
                                  p_.k.empty() ? 1 : p_.k.back())),
        column_step_(s_.wide_loads && s_.tile_n % 2 == 0 && n_ % 2 == 0 ? 2 : 1),
        kernel_(group, s_.lanes),
        b_(kernel_.builder) {}

  Result<LoweredStep> build() {
    open_tiles();
    sums_ = b_.add_array(Scope::kRegister, accumulator_type(node_.types[0].dtype),
                         s_.tile_m * s_.tile_n);
    clear_sums();
    accumulate();
    store();
    return kernel_.finish();
  }

 private:
  void open_tiles() {
    for (size_t i = 0; i < p_.batch.size(); ++i)
      batch_.push_back(b_.grid("b" + std::to_string(i), p_.batch[i]));
    // A convolution's groups are part of its output feature dimension.
    for (size_t i = 0; i < p_.out_batch.size(); ++i)
      b_.bind(group_.space.vars[p_.out_batch[i]], batch_[i]);
    int64_t columns = s_.lanes * s_.tile_n;
    IndexExpr m_block = b_.grid("mt", (m_ + s_.tile_m - 1) / s_.tile_m);
    IndexExpr n_block = b_.grid("nt", (n_ + columns - 1) / columns);
    m_tile_ = b_.block_start(m_block, s_.tile_m, m_);
    n_tile_ = b_.block_start(n_block, columns / column_step_, n_ / column_step_);
  }

  IndexExpr raw_m(int64_t i) { return b_.stepped(m_tile_, i); }
  IndexVector m_index(const IndexExpr& raw) {
    return delinearize(group_.index, b_.clamp_to(raw, m_ - 1), p_.m);
  }
  // The lane's columns come in runs of column_step_; runs stand `lanes` runs apart.
  IndexExpr raw_run(const IndexExpr& lane, int64_t j) {
    return b_.stepped(n_tile_, j / column_step_ * s_.lanes) + lane;
  }
  IndexVector n_index(const IndexExpr& lane, int64_t j) {
    IndexExpr run = b_.clamp_to(raw_run(lane, j), n_ / column_step_ - 1);
    return delinearize(group_.index, run * column_step_ + j % column_step_, p_.n);
  }
  IndexExpr all_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes)); }

  void clear_sums() {
    all_lanes();
    Literal zero = Literal::scalar(b_.array_dtype(sums_), 0);
    for (int64_t i = 0; i < s_.tile_m * s_.tile_n; ++i) b_.write(sums_, i, immediate_of(zero));
    b_.end();
  }

  // One serial loop per contracted dimension, the innermost unrolled by k_unroll.
  void accumulate() {
    if (num_elements(p_.k) == 0) return;  // a sum over nothing; its operands have no memory
    if (s_.share_rows && p_.splits_m) split_rows();
    IndexVector k;
    size_t loops = std::max<size_t>(p_.k.size(), 1);
    for (size_t i = 0; i < loops; ++i) {
      int64_t size = i < p_.k.size() ? p_.k[i] : 1;
      int64_t step = i + 1 == loops ? s_.k_unroll : 1;
      k.push_back(b_.begin_serial("k" + std::to_string(i), (size + step - 1) / step) * step);
    }
    steps_.clear();
    for (int64_t u = 0; u < s_.k_unroll; ++u) steps_.push_back(step_at(k, u));
    kernel_.emitter.wide_loads = s_.wide_loads;
    if (s_.share_rows) load_rows(k);
    IndexExpr lane = all_lanes();
    for (int64_t u = 0; u < s_.k_unroll; ++u) multiply_tile(lane, u);
    b_.end();
    kernel_.emitter.wide_loads = false;
    for (size_t i = 0; i < loops; ++i) b_.end();
  }

  Operand load_a(const IndexVector& m, const KStep& step) {
    std::vector<IndexCondition> conditions = step.inside;
    IndexVector index = p_.a_index(batch_, m, step.k, conditions);
    std::optional<Operand> guard = b_.all_of(conditions, std::nullopt);
    return b_.convert(emit_or_zero(node_.operands[0], index, guard), b_.array_dtype(sums_));
  }

  // `by` steps after the first of this iteration.
  KStep step_at(const IndexVector& first, const IndexExpr& by) const {
    KStep step{{first.begin(), first.begin() + static_cast<long>(p_.k.size())}, {}};
    int64_t size = p_.k.empty() ? 1 : p_.k.back();
    IndexExpr innermost = first.back() + by;
    if (!step.k.empty()) step.k.back() = innermost;
    IndexCondition last{IndexExpr(size - 1) - innermost, IndexCondition::Kind::kNonNegative};
    if (truth(group_.index, last) != Truth::kAlways) step.inside.push_back(last);
    return step;
  }

  // The rows come in blocks of lanes / k_split; an array holds k_split steps of a block.
  int64_t block_rows() const { return s_.lanes / s_.k_split; }
  int64_t arrays_per_block() const { return s_.k_unroll / s_.k_split; }

  IndexVector own_row(const IndexExpr& lane, int64_t first) {
    return m_index(b_.stepped(m_tile_, first) + group_.index.floor_div(lane, s_.k_split));
  }

  // A lane loop inside the loops over k would divide anew at every step.
  void split_rows() {
    IndexExpr lane = all_lanes();
    for (int64_t first = 0; first < s_.tile_m; first += block_rows())
      for (const IndexExpr& part : own_row(lane, first)) {
        parts_.push_back(b_.add_array(Scope::kRegister, DType::kI32, 1));
        b_.write(parts_.back(), 0, b_.index(part));
      }
    b_.end();
  }

  IndexVector own_row_parts(size_t block) {
    IndexVector m;
    for (size_t i = 0; i < p_.m.size(); ++i)
      m.push_back(b_.symbol_for(b_.read(parts_[block * p_.m.size() + i], 0), 0, p_.m[i] - 1));
    return m;
  }

  void load_rows(const IndexVector& k) {
    IndexExpr lane = all_lanes();
    IndexExpr part = group_.index.mod(lane, s_.k_split);
    for (int64_t first = 0; first < s_.tile_m; first += block_rows()) {
      IndexVector m = p_.splits_m ? own_row_parts(static_cast<size_t>(first / block_rows()))
                                  : own_row(lane, first);
      for (int64_t a = 0; a < arrays_per_block(); ++a) {
        rows_.push_back(b_.add_array(Scope::kShared, b_.array_dtype(sums_), s_.lanes));
        b_.write(rows_.back(), lane, load_a(m, step_at(k, part + a * s_.k_split)));
      }
    }
    b_.end();
  }

  Operand row_value(int64_t i, int64_t u) {
    if (!s_.share_rows) return load_a(m_index(raw_m(i)), steps_[static_cast<size_t>(u)]);
    int64_t array = i / block_rows() * arrays_per_block() + u / s_.k_split;
    return b_.read(rows_[static_cast<size_t>(array)],
                   i % block_rows() * s_.k_split + u % s_.k_split);
  }

  void multiply_tile(const IndexExpr& lane, int64_t u) {
    const KStep& step = steps_[static_cast<size_t>(u)];
    std::optional<Operand> guard = b_.all_of(step.inside, std::nullopt);
    std::vector<Operand> columns;
    for (int64_t j = 0; j < s_.tile_n; ++j) {
      Operand b =
          emit_or_zero(node_.operands[1], p_.b_index(batch_, n_index(lane, j), step.k), guard);
      columns.push_back(b_.convert(b, b_.array_dtype(sums_)));
    }
    for (int64_t i = 0; i < s_.tile_m; ++i) {
      Operand a = row_value(i, u);
      for (int64_t j = 0; j < s_.tile_n; ++j)
        multiply_add(i * s_.tile_n + j, a, columns[static_cast<size_t>(j)]);
    }
  }

  // The operand's element, 0 where the guard is false: there the sum takes nothing.
  Operand emit_or_zero(Value v, const IndexVector& index, const std::optional<Operand>& guard) {
    Operand value = kernel_.emitter.emit(v, index, guard);
    if (!guard || is_zero_unguarded(v)) return value;
    Operand zero = Operand::immediate(value.dtype, 0);
    return b_.compute(Op::kSelect, value.dtype, {*guard, value, zero});
  }

  // A guarded load gives 0 already, and so does what only moves loads.
  bool is_zero_unguarded(Value v) const {
    const Node& node = group_.region.node(v);
    if (node.op == Op::kParameter) return true;
    if (node.op == Op::kPad || node.operands.empty() || !is_free_view(group_.region, node))
      return false;
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [this](Value operand) { return is_zero_unguarded(operand); });
  }

  void multiply_add(int64_t sum, const Operand& a, const Operand& b) {
    Operand old = b_.read(sums_, sum);
    DType dtype = old.dtype;
    if (dtype == DType::kBool) {
      b_.write(sums_, sum, b_.compute(Op::kOr, dtype, {old, b_.compute(Op::kAnd, dtype, {a, b})}));
      return;
    }
    b_.write(sums_, sum, b_.compute(Op::kFma, dtype, {a, b, old}));
  }

  void store() {
    IndexExpr lane = all_lanes();
    for (int64_t i = 0; i < s_.tile_m; ++i)
      for (int64_t j = 0; j < s_.tile_n; ++j) store_one(lane, i, j);
    b_.end();
  }

  void store_one(const IndexExpr& lane, int64_t i, int64_t j) {
    using Kind = IndexCondition::Kind;
    bind_dims(p_.out_m, m_index(raw_m(i)));
    IndexVector n = n_index(lane, j);
    if (p_.out_batch.empty() && !p_.batch.empty()) n[0] = batch_[0] * p_.n[0] + n[0];
    bind_dims(p_.out_n, n);
    std::vector<IndexCondition> inside;
    for (const IndexExpr& rest :
         {IndexExpr(m_ - 1) - raw_m(i), IndexExpr(n_ / column_step_ - 1) - raw_run(lane, j)})
      if (truth(group_.index, {rest, Kind::kNonNegative}) != Truth::kAlways)
        inside.push_back({rest, Kind::kNonNegative});
    Operand sum = b_.convert(b_.read(sums_, i * s_.tile_n + j), node_.types[0].dtype);
    kernel_.emitter.anchor_value = [sum](Value) { return sum; };
    kernel_.emitter.forget();
    std::optional<Operand> guard = b_.all_of(inside, std::nullopt);
    for (size_t o = 0; o < group_.region.outputs().size(); ++o) kernel_.store_output(o, guard);
  }

  void bind_dims(const std::vector<size_t>& dims, const IndexVector& index) {
    for (size_t i = 0; i < dims.size(); ++i) b_.bind(group_.space.vars[dims[i]], index[i]);
  }

  GroupContext& group_;
  const Node& node_;
  Problem p_;
  int64_t m_, n_;
  MatmulSchedule s_;
  int64_t column_step_;  // neighbouring columns that a lane has together
  FamilyKernel kernel_;
  KernelBuilder& b_;
  IndexVector batch_;
  IndexExpr m_tile_, n_tile_;  // first row; first run of columns
  uint32_t sums_ = 0;
  std::vector<KStep> steps_;     // of one iteration of the innermost loop
  std::vector<uint32_t> rows_;   // what lanes share of A
  std::vector<uint32_t> parts_;  // registers: m of the lane's rows, part by part
};

}  // namespace

Result<LoweredStep> lower_contraction(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  if (node.op == Op::kDotGeneral)
    return ContractionBuilder(group, dot_problem(group.region, node)).build();
  TUFF_ASSIGN(Problem problem, convolution_problem(group, node));
  return ContractionBuilder(group, std::move(problem)).build();
}

}  // namespace tuff
