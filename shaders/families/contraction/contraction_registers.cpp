// A register tile per lane, operands read from memory: one workgroup computes tile_m rows and
// lanes * tile_n columns; a lane holds tile_m x tile_n sums. Loads of B are contiguous over
// lanes; rows of A are shared out over the lanes or loaded by all. Edges: indices are clamped
// for loads, stores guarded.
#include "shaders/families/contraction/contraction_kernel.h"

namespace tuff {

namespace {

class RegisterTiles {
 public:
  RegisterTiles(GroupContext& group, const Contraction& c, const MatmulSchedule& schedule,
                const std::optional<KSplit>& split)
      : group_(group),
        c_(c),
        m_(num_elements(c.m)),
        n_(num_elements(c.n)),
        s_(schedule),
        column_step_(s_.wide_loads && s_.tile_n % 2 == 0 && n_ % 2 == 0 ? 2 : 1),
        kernel_(group, c, s_.lanes, split),
        b_(kernel_.family.builder) {}

  Result<LoweredStep> build() {
    open_tiles();
    sums_ = b_.add_array(Scope::kRegister, kernel_.sum_type(), s_.tile_m * s_.tile_n);
    clear_sums();
    accumulate();
    store();
    return kernel_.finish();
  }

 private:
  void open_tiles() {
    kernel_.open_outer();
    int64_t columns = s_.lanes * s_.tile_n;
    int64_t m_blocks = (m_ + s_.tile_m - 1) / s_.tile_m, n_blocks = (n_ + columns - 1) / columns;
    IndexExpr m_block, n_block;
    if (s_.rows_fastest) n_block = b_.grid("nt", n_blocks);
    m_block = b_.grid("mt", m_blocks);
    if (!s_.rows_fastest) n_block = b_.grid("nt", n_blocks);
    m_tile_ = b_.block_start(m_block, s_.tile_m, m_, rows_fill_tiles());
    n_tile_ = b_.block_start(n_block, columns / column_step_, n_ / column_step_);
  }

  // Said for one element of the batch, which leads. Where its rows leave a part of a tile over,
  // those of some batches do not; but these would then have a kernel of their own.
  bool rows_fill_tiles() const {
    int64_t rows = c_.m.empty() ? 1 : num_elements(Shape(c_.m.begin() + 1, c_.m.end()));
    return (rows > 1 ? rows : m_) % s_.tile_m == 0;
  }

  IndexExpr raw_m(int64_t i) { return b_.stepped(m_tile_, i); }
  IndexVector m_index(const IndexExpr& raw) {
    return delinearize(group_.index, b_.clamp_to(raw, m_ - 1), c_.m);
  }
  // The lane's columns come in runs of column_step_; runs stand `lanes` runs apart.
  IndexExpr raw_run(const IndexExpr& lane, int64_t j) {
    return b_.stepped(n_tile_, j / column_step_ * s_.lanes) + lane;
  }
  IndexVector n_index(const IndexExpr& lane, int64_t j) {
    IndexExpr run = b_.clamp_to(raw_run(lane, j), n_ / column_step_ - 1);
    return delinearize(group_.index, run * column_step_ + j % column_step_, c_.n);
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
    if (num_elements(c_.k) == 0) return;  // a sum over nothing; its operands have no memory
    if (s_.share_rows && c_.splits_m) split_rows();
    IndexVector k;
    for (int64_t size : kernel_.k()) {
      int64_t step = k.size() + 1 == kernel_.k().size() ? s_.k_unroll : 1;
      IndexExpr at = b_.begin_serial("k" + std::to_string(k.size()), (size + step - 1) / step);
      k.push_back(at * step);
    }
    steps_.clear();
    for (int64_t u = 0; u < s_.k_unroll; ++u) steps_.push_back(step_after(k, u));
    kernel_.family.emitter.wide_loads = s_.wide_loads;
    if (s_.share_rows) load_rows(k);
    IndexExpr lane = all_lanes();
    for (int64_t u = 0; u < s_.k_unroll; ++u) multiply_tile(lane, u);
    b_.end();
    kernel_.family.emitter.wide_loads = false;
    for (size_t i = 0; i < k.size(); ++i) b_.end();
  }

  // `by` steps after the first of this iteration.
  KStep step_after(IndexVector first, const IndexExpr& by) const {
    first.back() = first.back() + by;
    return kernel_.step_at(std::move(first));
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
    for (size_t i = 0; i < c_.m.size(); ++i)
      m.push_back(b_.symbol_for(b_.read(parts_[block * c_.m.size() + i], 0), 0, c_.m[i] - 1));
    return m;
  }

  void load_rows(const IndexVector& k) {
    IndexExpr lane = all_lanes();
    IndexExpr part = group_.index.mod(lane, s_.k_split);
    for (int64_t first = 0; first < s_.tile_m; first += block_rows()) {
      IndexVector m = c_.splits_m ? own_row_parts(static_cast<size_t>(first / block_rows()))
                                  : own_row(lane, first);
      for (int64_t a = 0; a < arrays_per_block(); ++a) {
        rows_.push_back(b_.add_array(Scope::kShared, b_.array_dtype(sums_), s_.lanes));
        b_.write(rows_.back(), lane, kernel_.load_a(m, step_after(k, part + a * s_.k_split)));
      }
    }
    b_.end();
  }

  Operand row_value(int64_t i, int64_t u) {
    if (!s_.share_rows) return kernel_.load_a(m_index(raw_m(i)), steps_[static_cast<size_t>(u)]);
    int64_t array = i / block_rows() * arrays_per_block() + u / s_.k_split;
    return b_.read(rows_[static_cast<size_t>(array)],
                   i % block_rows() * s_.k_split + u % s_.k_split);
  }

  void multiply_tile(const IndexExpr& lane, int64_t u) {
    const KStep& step = steps_[static_cast<size_t>(u)];
    std::vector<Operand> columns;
    for (int64_t j = 0; j < s_.tile_n; ++j)
      columns.push_back(kernel_.load_b(n_index(lane, j), step));
    for (int64_t i = 0; i < s_.tile_m; ++i) {
      Operand a = row_value(i, u);
      for (int64_t j = 0; j < s_.tile_n; ++j)
        kernel_.multiply_add(sums_, i * s_.tile_n + j, a, columns[static_cast<size_t>(j)]);
    }
  }

  void store() {
    IndexExpr lane = all_lanes();
    for (int64_t i = 0; i < s_.tile_m; ++i)
      for (int64_t j = 0; j < s_.tile_n; ++j) store_one(lane, i, j);
    b_.end();
  }

  void store_one(const IndexExpr& lane, int64_t i, int64_t j) {
    using Kind = IndexCondition::Kind;
    IndexVector m = m_index(raw_m(i)), n = n_index(lane, j);
    std::vector<IndexCondition> inside;
    for (const IndexExpr& rest :
         {IndexExpr(m_ - 1) - raw_m(i), IndexExpr(n_ / column_step_ - 1) - raw_run(lane, j)})
      if (truth(group_.index, {rest, Kind::kNonNegative}) != Truth::kAlways)
        inside.push_back({rest, Kind::kNonNegative});
    kernel_.store(m, std::move(n), inside, b_.read(sums_, i * s_.tile_n + j));
  }

  GroupContext& group_;
  const Contraction& c_;
  int64_t m_, n_;
  MatmulSchedule s_;
  int64_t column_step_;  // neighbouring columns that a lane has together
  ContractionKernel kernel_;
  KernelBuilder& b_;
  IndexExpr m_tile_, n_tile_;  // first row; first run of columns
  uint32_t sums_ = 0;
  std::vector<KStep> steps_;     // of one iteration of the innermost loop
  std::vector<uint32_t> rows_;   // what lanes share of A
  std::vector<uint32_t> parts_;  // registers: m of the lane's rows, part by part
};

}  // namespace

Result<LoweredStep> lower_contraction_registers(GroupContext& group, const Contraction& c,
                                                const MatmulSchedule& schedule,
                                                const std::optional<KSplit>& split) {
  return RegisterTiles(group, c, schedule, split).build();
}

}  // namespace tuff
