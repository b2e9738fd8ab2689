// One operand has few rows. The other's lines (columns of B, or rows of A) are read once, as they
// lie in memory, in words of up to 16 bytes with many under way; nothing of them is shared.
// Lanes along k take a line together and reduce its sums; lanes along lines have each a run of
// neighbours, and those that walk other steps of k add up their sums in shared memory.
#include "shaders/families/contraction/contraction_k_tiles.h"
#include "shaders/families/contraction/contraction_tile_lines.h"

namespace tuff {

namespace {

class Stream {
 public:
  Stream(GroupContext& group, const Contraction& c, const StreamSchedule& schedule,
         const std::optional<KSplit>& split)
      : group_(group),
        c_(c),
        s_(schedule),
        rows_(num_elements(s_.swapped ? c.n : c.m)),
        lines_(num_elements(s_.swapped ? c.m : c.n)),
        kernel_(group, c, s_.lanes(), split),
        b_(kernel_.family.builder) {}

  Result<LoweredStep> build() {
    kernel_.open_outer();
    IndexExpr line_block = b_.grid("nt", (lines_ + s_.group_lines() - 1) / s_.group_lines());
    IndexExpr row_block = b_.grid("mt", (rows_ + s_.rows - 1) / s_.rows);
    row_tile_ = b_.block_start(row_block, s_.rows, rows_);
    int64_t unit = s_.along_k ? 1 : s_.run;  // lines that are clamped together
    line_tile_ = b_.block_start(line_block, s_.group_lines() / unit, lines_ / unit);
    IndexExpr lane = all_lanes();
    place_ = place_lane(b_, lane, s_.across);
    clear_sums();
    if (num_elements(c_.k) > 0) accumulate();  // else the operands have no memory
    b_.end();
    s_.along_k ? store_reduced() : store_added();
    return kernel_.finish();
  }

 private:
  IndexExpr all_lanes() { return b_.begin_lanes(Operand::i32(s_.lanes())); }
  DType sum_type() const { return kernel_.sum_type(); }

  void clear_sums() {
    Operand zero = immediate_of(Literal::scalar(sum_type(), 0));
    for (int64_t i = 0; i < s_.rows * s_.lane_lines(); ++i) {
      sums_.push_back(b_.add_array(Scope::kRegister, sum_type(), 1));
      b_.write(sums_.back(), 0, zero);
    }
  }
  uint32_t sum_of(int64_t row, int64_t line) const {
    return sums_[static_cast<size_t>(row * s_.lane_lines() + line)];
  }

  IndexVector row_at(int64_t i) {
    IndexExpr row = b_.clamp_to(b_.stepped(row_tile_, i), rows_ - 1);
    return delinearize(group_.index, row, s_.swapped ? c_.n : c_.m);
  }
  // Line j of the lane.
  IndexVector line_at(int64_t j) {
    const Shape& shape = s_.swapped ? c_.m : c_.n;
    if (s_.along_k)
      return delinearize(group_.index, b_.clamp_to(b_.stepped(line_tile_, j), lines_ - 1), shape);
    IndexExpr unit = b_.clamp_to(line_tile_ + place_.fast, lines_ / s_.run - 1);
    return delinearize(group_.index, unit * s_.run + j, shape);
  }
  Operand load_row(const IndexVector& row, const KStep& step) {
    return s_.swapped ? kernel_.load_b(row, step) : kernel_.load_a(row, step);
  }
  Operand load_line(const IndexVector& line, const KStep& step) {
    return s_.swapped ? kernel_.load_a(line, step) : kernel_.load_b(line, step);
  }

  // One serial loop per contracted dimension; lanes share out the innermost.
  void accumulate() {
    const Shape& sizes = kernel_.k();
    IndexVector outer;
    for (size_t d = 0; d + 1 < sizes.size(); ++d)
      outer.push_back(b_.begin_serial("k" + std::to_string(d), sizes[d]));
    int64_t rounds = (sizes.back() + s_.round_steps() - 1) / s_.round_steps();
    IndexExpr round = b_.begin_serial("k", rounds);
    for (int64_t i = 0; i < s_.rows; ++i) rows_at_.push_back(row_at(i));
    for (int64_t j = 0; j < s_.lane_lines(); ++j) lines_at_.push_back(line_at(j));
    s_.along_k ? multiply_along_k(outer, round) : multiply_along_lines(outer, round);
    for (size_t d = 0; d < sizes.size(); ++d) b_.end();
  }

  KStep step_at(const IndexVector& outer, const IndexExpr& inner) const {
    IndexVector k = outer;
    k.push_back(inner);
    return kernel_.step_at(std::move(k));
  }
  // Neighbouring steps; they are all there or all outside where they divide the dimension.
  std::vector<KStep> unit_steps(const IndexVector& outer, const IndexExpr& first, int64_t count) {
    std::vector<KStep> steps;
    int64_t size = c_.k.empty() ? 1 : c_.k.back();
    for (int64_t e = 0; e < count; ++e) {
      steps.push_back(step_at(outer, first + e));
      if (size % count == 0) steps.back().inside = steps[0].inside;
    }
    return steps;
  }

  std::vector<Operand> load(const std::vector<KStep>& steps, const std::vector<IndexVector>& places,
                            bool rows, int64_t run) {
    kernel_.family.emitter.run = run;
    std::vector<Operand> elements;
    for (const IndexVector& at : places)
      for (const KStep& step : steps)
        elements.push_back(rows ? load_row(at, step) : load_line(at, step));
    kernel_.family.emitter.run = 1;
    return elements;
  }

  // The lane's steps of a round: `unroll` times `run` neighbours, lane by lane.
  void multiply_along_k(const IndexVector& outer, const IndexExpr& round) {
    int64_t units = (kernel_.k().back() + s_.run - 1) / s_.run;
    IndexExpr first = b_.block_start(round, s_.across * s_.unroll, units);
    std::vector<std::vector<Operand>> lines, rows;
    std::vector<std::vector<KStep>> steps;
    for (int64_t u = 0; u < s_.unroll; ++u) {
      IndexExpr unit = b_.stepped(first, u * s_.across) + place_.fast;
      steps.push_back(unit_steps(outer, unit * s_.run, s_.run));
      lines.push_back(load(steps.back(), lines_at_, false, s_.run));
    }
    for (const auto& unit : steps) rows.push_back(load(unit, rows_at_, true, s_.run));
    for (size_t u = 0; u < steps.size(); ++u)
      for (int64_t e = 0; e < s_.run; ++e)
        for (int64_t i = 0; i < s_.rows; ++i)
          for (int64_t j = 0; j < s_.lines; ++j)
            multiply_add(i, j, rows[u][static_cast<size_t>(i * s_.run + e)],
                         lines[u][static_cast<size_t>(j * s_.run + e)]);
  }

  // The lane's steps of a round: `unroll` neighbours, lane row by lane row.
  void multiply_along_lines(const IndexVector& outer, const IndexExpr& round) {
    int64_t size = kernel_.k().back(), units = (size + s_.unroll - 1) / s_.unroll;
    IndexExpr unit = b_.block_start(round, s_.down, units) + place_.slow;
    std::vector<KStep> steps = unit_steps(outer, unit * s_.unroll, s_.unroll);
    // A line's place is the same but for one number that all lanes have.
    IndexExpr first = b_.block_start(round, s_.down * s_.unroll, size);
    std::vector<std::vector<Operand>> lines;
    for (size_t u = 0; u < steps.size(); ++u) {
      IndexExpr step = b_.stepped(first, static_cast<int64_t>(u)) + place_.slow * s_.unroll;
      KStep same{step_at(outer, step).k, steps[u].inside};
      lines.push_back(load({same}, lines_at_, false, s_.run));
    }
    std::vector<Operand> rows = load(steps, rows_at_, true, s_.unroll);
    for (size_t u = 0; u < steps.size(); ++u)
      for (int64_t i = 0; i < s_.rows; ++i)
        for (int64_t j = 0; j < s_.run; ++j)
          multiply_add(i, j, rows[static_cast<size_t>(i * s_.unroll) + u],
                       lines[u][static_cast<size_t>(j)]);
  }

  void multiply_add(int64_t row, int64_t line, const Operand& of_row, const Operand& of_line) {
    if (s_.swapped)
      kernel_.multiply_add(sum_of(row, line), 0, of_line, of_row);
    else
      kernel_.multiply_add(sum_of(row, line), 0, of_row, of_line);
  }

  // All lanes have all sums of the workgroup; each stores one.
  void store_reduced() {
    std::vector<Operand> sums = b_.reduce_lanes(
        sums_, [&](const std::vector<Operand>& lhs, const std::vector<Operand>& rhs) {
          std::vector<Operand> added;
          for (size_t i = 0; i < lhs.size(); ++i)
            added.push_back(b_.compute(Op::kAdd, sum_type(), {lhs[i], rhs[i]}));
          return added;
        });
    auto count = static_cast<int64_t>(sums.size());
    IndexExpr lane = b_.begin_lanes(Operand::i32(count));
    Operand sum = sums[0];
    for (int64_t i = 1; i < count; ++i) {
      Operand own = b_.compute(Op::kEq, DType::kBool, {b_.index(lane), Operand::i32(i)});
      sum = b_.compute(Op::kSelect, sum_type(), {own, sums[static_cast<size_t>(i)], sum});
    }
    LanePlace place = place_number(b_, lane, count, s_.lines);
    store(row_tile_ + place.slow, line_tile_ + place.fast, sum);
    b_.end();
  }

  // Some rows at a time, as shared memory allows. Words stand in it as lanes do, lane rows that
  // are added up below each other.
  void store_added() {
    int64_t at_once = s_.shared_rows(), pitch = s_.lanes() + s_.across;
    uint32_t shared = b_.add_array(Scope::kShared, sum_type(), at_once * s_.run * pitch);
    for (int64_t first = 0; first < s_.rows; first += at_once) {
      IndexExpr lane = all_lanes();
      for (int64_t i = 0; i < at_once; ++i)
        for (int64_t j = 0; j < s_.run; ++j) {
          Operand sum = b_.read(sum_of(first + i, j), 0);
          b_.write(shared, b_.stepped(lane, (i * s_.run + j) * pitch), sum);
        }
      b_.end();
      int64_t results = at_once * s_.group_lines();
      for (int64_t done = 0; done < results; done += s_.lanes()) {
        int64_t count = std::min(s_.lanes(), results - done);
        IndexExpr own = b_.begin_lanes(Operand::i32(count));
        store_added(shared, pitch,
                    place_number(b_, b_.stepped(own, done), results, s_.group_lines()), first);
        b_.end();
      }
    }
  }

  void store_added(uint32_t shared, int64_t pitch, const LanePlace& place, int64_t first_row) {
    LanePlace line = place_number(b_, place.fast, s_.group_lines(), s_.run);
    auto times = [&](const IndexExpr& e, int64_t by) {
      return b_.compute(Op::kMultiply, DType::kI32, {b_.index(e), Operand::i32(by)});
    };
    Operand at = b_.compute(Op::kAdd, DType::kI32,
                            {times(place.slow, s_.run * pitch), times(line.fast, pitch)});
    at = b_.compute(Op::kAdd, DType::kI32, {at, b_.index(line.slow)});
    store(b_.stepped(row_tile_, first_row) + place.slow, line_tile_ * s_.run + place.fast,
          add_lane_rows(shared, at));
  }

  // Sums that stand `across` apart, from `first` on.
  Operand add_lane_rows(uint32_t shared, const Operand& first) {
    constexpr int64_t kAtOnce = 64;
    int64_t count = std::min(s_.down, kAtOnce), rounds = s_.down / count;
    int64_t last = b_.array_count(shared) - 1 - (count - 1) * s_.across;
    if (rounds == 1) return add_up(shared, b_.symbol_for(first, 0, last), count);
    uint32_t sum = b_.add_array(Scope::kRegister, sum_type(), 1);
    b_.write(sum, 0, immediate_of(Literal::scalar(sum_type(), 0)));
    Operand round = b_.index(b_.begin_fixed("d", rounds));
    Operand skipped =
        b_.compute(Op::kMultiply, DType::kI32, {round, Operand::i32(count * s_.across)});
    Operand at = b_.compute(Op::kAdd, DType::kI32, {first, skipped});
    Operand part = add_up(shared, b_.symbol_for(at, 0, last), count);
    b_.write(sum, 0, b_.compute(Op::kAdd, sum_type(), {b_.read(sum, 0), part}));
    b_.end();
    return b_.read(sum, 0);
  }

  // Neighbours first: sums that do not wait for each other.
  Operand add_up(uint32_t shared, const IndexExpr& first, int64_t count) {
    std::vector<Operand> terms;
    for (int64_t d = 0; d < count; ++d)
      terms.push_back(b_.read(shared, b_.stepped(first, d * s_.across)));
    for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2))
      for (size_t i = 0; 2 * i < terms.size(); ++i)
        terms[i] = 2 * i + 1 < terms.size()
                       ? b_.compute(Op::kAdd, sum_type(), {terms[2 * i], terms[2 * i + 1]})
                       : terms[2 * i];
    return terms[0];
  }

  void store(const IndexExpr& row, const IndexExpr& line, const Operand& sum) {
    std::vector<IndexCondition> inside;
    require(group_.index, inside, IndexExpr(rows_ - 1) - row);
    require(group_.index, inside, IndexExpr(lines_ - 1) - line);
    IndexExpr m = b_.clamp_to(row, rows_ - 1), n = b_.clamp_to(line, lines_ - 1);
    if (s_.swapped) std::swap(m, n);
    kernel_.store(delinearize(group_.index, m, c_.m), delinearize(group_.index, n, c_.n), inside,
                  sum);
  }

  GroupContext& group_;
  const Contraction& c_;
  const StreamSchedule& s_;
  int64_t rows_, lines_;
  ContractionKernel kernel_;
  KernelBuilder& b_;
  IndexExpr row_tile_, line_tile_;  // first row; first line, or run of lines
  LanePlace place_;
  std::vector<uint32_t> sums_;
  std::vector<IndexVector> rows_at_, lines_at_;  // of the lane
};

}  // namespace

Result<LoweredStep> lower_contraction_stream(GroupContext& group, const Contraction& c,
                                             const StreamSchedule& schedule,
                                             const std::optional<KSplit>& split) {
  return Stream(group, c, schedule, split).build();
}

}  // namespace tuff
