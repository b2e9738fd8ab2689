// rows: reduces over the same rows, with what feeds them and what follows them, in
// one kernel: softmax, layer norm, a plain sum. One workgroup owns a row (or each
// lane owns one) and walks it once per level of reduces that depend on each other,
// and once more to store what has an element per point. What all points of a row share
// is computed once, before a walk.
#include "shaders/families/rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "shaders/families/reducer.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

namespace {

class RowsBuilder {
 public:
  RowsBuilder(GroupContext& group, const RowSchedule& schedule, ReduceLevels levels)
      : group_(group),
        space_(group.space),
        schedule_(schedule),
        levels_(std::move(levels)),
        kernel_(group, schedule.lanes),
        b_(kernel_.builder) {}

  Result<LoweredStep> build() {
    for (size_t d = 0; d < space_.dims.size(); ++d)
      if (space_.reduced[d]) column_shape_.push_back(space_.dims[d]);
    columns_ = num_elements(column_shape_);
    if (!over_columns()) choose_lane_dims();
    open_rows();
    kernel_.emitter.anchor_value = [this](Value v) {
      return results_.at(v.node)[row_of_run_ * group_.region.node(v.node).types.size() + v.result];
    };
    if (!over_columns()) begin_row_lanes();
    for (const auto& level : levels_) reduce_level(level);
    store_rows();
    store_points();
    if (!over_columns()) b_.end();
    return kernel_.finish();
  }

 private:
  bool over_columns() const { return schedule_.lanes_over_columns; }

  // The last kept dimension; more of them where it has too few rows and the schedule asks for it.
  void choose_lane_dims() {
    int64_t rows = 1;
    for (size_t d = space_.dims.size(); d-- > 0;) {
      if (space_.reduced[d]) continue;
      lane_dims_.insert(lane_dims_.begin(), d);
      lane_sizes_.insert(lane_sizes_.begin(), space_.dims[d]);
      rows *= space_.dims[d];
      if (!schedule_.lanes_over_dims || rows >= schedule_.lanes) return;
    }
  }

  bool has_lanes(size_t d) const {
    return std::find(lane_dims_.begin(), lane_dims_.end(), d) != lane_dims_.end();
  }

  void open_rows() {
    std::vector<size_t> dims;
    Shape sizes;
    bool open = space_.open && (over_columns() || !has_lanes(0));
    for (size_t d = 0; d < space_.dims.size(); ++d) {
      if (space_.reduced[d] || has_lanes(d)) continue;
      dims.push_back(d);
      sizes.push_back(space_.dims[d]);
    }
    // One loop over all of them, so that a batch of one is the same kernel; where an index
    // needs them apart, the division is one for the whole row.
    int64_t rows = num_elements(sizes);
    IndexExpr row = b_.open_grid("row", rows, open ? 2 * rows : rows);
    IndexVector at = delinearize(group_.index, row, sizes);
    for (size_t i = 0; i < dims.size(); ++i) b_.bind(space_.vars[dims[i]], at[i]);
    if (over_columns()) return;
    int64_t size = num_elements(lane_sizes_) / schedule_.run;
    block_ = b_.grid("block", (size + schedule_.lanes - 1) / schedule_.lanes) * schedule_.lanes;
  }

  // Column `column` of the reduced dimensions [first, last).
  void bind_column(const IndexExpr& column, size_t first, size_t last) {
    const Shape sizes(column_shape_.begin() + static_cast<long>(first),
                      column_shape_.begin() + static_cast<long>(last));
    std::vector<IndexExpr> at = delinearize(group_.index, column, sizes);
    for (size_t d = 0, c = 0; d < space_.dims.size(); ++d) {
      if (!space_.reduced[d]) continue;
      if (c >= first && c < last) b_.bind(space_.vars[d], at[c - first]);
      ++c;
    }
  }

  // Lanes that own rows: one loop for all their work.
  void begin_row_lanes() {
    const int64_t units = num_elements(lane_sizes_) / schedule_.run;
    unit_ = block_ + b_.begin_lanes(b_.lane_extent(block_, units));
    bind_row(0);
  }

  void bind_row(size_t e) {
    row_of_run_ = e;
    IndexVector at =
        delinearize(group_.index, unit_ * schedule_.run + static_cast<int64_t>(e), lane_sizes_);
    for (size_t i = 0; i < lane_dims_.size(); ++i) b_.bind(space_.vars[lane_dims_[i]], at[i]);
  }

  // Runs body() for each row of the lane's own, with the row bound; once for the workgroup's.
  template <typename Body>
  void for_each_row(const Body& body) {
    if (over_columns() || schedule_.run == 1) return body();
    kernel_.emitter.run = schedule_.run;
    for (size_t e = 0; e < static_cast<size_t>(schedule_.run); ++e) {
      bind_row(e);
      kernel_.emitter.forget();
      body();
    }
    kernel_.emitter.run = 1;
  }

  // Runs body(number in the run), with the column bound, for every column of the row.
  template <typename Body>
  void for_each_point(const Body& body) {
    if (columns_ == 0) return;  // nothing to read; reduces keep their initial values
    for (int64_t c = 0; schedule_.unroll_columns && c < columns_; ++c) {
      bind_column(c, 0, column_shape_.size());
      kernel_.emitter.forget();
      body(0);
    }
    if (schedule_.unroll_columns) return;
    if (over_columns()) {
      const Shape outer(column_shape_.begin(),
                        column_shape_.begin() + static_cast<long>(schedule_.outer_dims));
      if (schedule_.outer_dims > 0)
        bind_column(b_.begin_serial("o", num_elements(outer)), 0, schedule_.outer_dims);
      int64_t runs = columns_ / num_elements(outer) / schedule_.run;
      IndexExpr base =
          b_.begin_serial("c", (runs + schedule_.lanes - 1) / schedule_.lanes) * schedule_.lanes;
      for_each_of_run(base + b_.begin_lanes(b_.lane_extent(base, runs)), body);
    } else {
      bind_column(b_.begin_serial("c", columns_), 0, column_shape_.size());
      body(0);
    }
    b_.end();
    if (over_columns()) b_.end();
    if (schedule_.outer_dims > 0) b_.end();
  }

  template <typename Body>
  void for_each_of_run(const IndexExpr& number, const Body& body) {
    kernel_.emitter.run = schedule_.run;
    for (int64_t e = 0; e < schedule_.run; ++e) {
      bind_column(number * schedule_.run + e, schedule_.outer_dims, column_shape_.size());
      if (schedule_.run > 1) kernel_.emitter.forget();
      body(e);
    }
    kernel_.emitter.run = 1;
  }

  void reduce_level(const std::vector<uint32_t>& anchors) {
    if (over_columns()) b_.begin_lanes(Operand::i32(schedule_.lanes));
    for_each_row([&] {
      for (uint32_t id : anchors) initialise(id);
    });
    if (over_columns()) b_.end();
    if (schedule_.unroll_columns) return reduce_unrolled(anchors);
    std::map<uint32_t, std::vector<Values>> inputs;  // of a run of columns
    for_each_point([&](int64_t e) {
      for_each_row([&] {
        for (uint32_t id : anchors) {
          inputs[id].push_back(inputs_of(id));
          if (over_columns() && e + 1 < schedule_.run) continue;
          accumulate(id, std::exchange(inputs[id], {}));
        }
      });
    });
    if (over_columns())
      for (uint32_t id : anchors) fold_lanes(id);
    else
      for_each_row([&] {
        for (uint32_t id : anchors) keep_sums(id);
      });
  }

  // All columns of a row at once.
  void reduce_unrolled(const std::vector<uint32_t>& anchors) {
    for_each_row([&] {
      std::map<uint32_t, std::vector<Values>> inputs;
      for (int64_t c = 0; c < columns_; ++c) {
        bind_column(c, 0, column_shape_.size());
        kernel_.emitter.forget();
        for (uint32_t id : anchors) inputs[id].push_back(inputs_of(id));
      }
      for (uint32_t id : anchors) {
        if (columns_ > 0) accumulate(id, std::move(inputs[id]));
      }
    });
    for_each_row([&] {
      for (uint32_t id : anchors) keep_sums(id);
    });
  }

  // The accumulator of result r, of the row that is bound.
  uint32_t array_of(uint32_t id, size_t r) const {
    return arrays_.at(id)[row_of_run_ * group_.region.node(id).types.size() + r];
  }

  void initialise(uint32_t id) {
    const Node& node = group_.region.node(id);
    size_t n = node.types.size();
    std::optional<Operand> identity = reducer_identity(node);
    for (size_t r = 0; r < n; ++r) {
      DType dtype = accumulator_dtype(node, r);
      arrays_[id].push_back(b_.add_array(Scope::kRegister, dtype, 1));
      // Lanes start from the identity where it is known, so that the initial value
      // counts once; StableHLO lets it count any number of times otherwise.
      Operand init =
          over_columns() && identity ? *identity : kernel_.emitter.emit(node.operands[n + r], {});
      init = b_.convert(init, dtype);
      b_.write(arrays_[id].back(), 0, init);
    }
  }

  using Values = std::vector<Operand>;  // one a result
  Values inputs_of(uint32_t id) {
    const Node& node = group_.region.node(id);
    Values inputs;
    for (size_t r = 0; r < node.types.size(); ++r)
      inputs.push_back(b_.convert(kernel_.emitter.emit(node.operands[r], space_.vars),
                                  accumulator_dtype(node, r)));
    return inputs;
  }

  void accumulate(uint32_t id, std::vector<Values> inputs) {
    const Node& node = group_.region.node(id);
    Values sums;
    for (size_t r = 0; r < node.types.size(); ++r) sums.push_back(b_.read(array_of(id, r), 0));
    Values next;
    if (schedule_.unroll_columns) {  // sums are one term more: nothing waits for all others
      inputs.insert(inputs.begin(), std::move(sums));
      next = emit_reducer_of_all(b_, node, std::move(inputs));
    } else {
      next = emit_reducer(b_, node, sums, emit_reducer_of_all(b_, node, std::move(inputs)));
    }
    for (size_t r = 0; r < next.size(); ++r) b_.write(array_of(id, r), 0, next[r]);
  }

  void fold_lanes(uint32_t id) {
    const Node& node = group_.region.node(id);
    size_t n = node.types.size();
    std::vector<Operand> results = b_.reduce_lanes(
        arrays_[id], [&](const std::vector<Operand>& lhs, const std::vector<Operand>& rhs) {
          return emit_reducer(b_, node, lhs, rhs);
        });
    if (std::optional<Operand> identity = reducer_identity(node)) {
      Operand init = kernel_.emitter.emit(node.operands[n], {});
      if (!(init == *identity))
        results = emit_reducer(b_, node, {b_.convert(init, accumulator_dtype(node, 0))}, results);
    }
    for (size_t r = 0; r < n; ++r) results[r] = b_.convert(results[r], node.types[r].dtype);
    results_[id] = std::move(results);
  }

  void keep_sums(uint32_t id) {
    const Node& node = group_.region.node(id);
    for (size_t r = 0; r < node.types.size(); ++r)
      results_[id].push_back(b_.convert(b_.read(array_of(id, r), 0), node.types[r].dtype));
  }

  // Outputs with one element per row; over columns, the first lane stores them.
  void store_rows() {
    if (!any_output(false)) return;
    if (over_columns()) b_.begin_lanes(Operand::i32(1));
    const bool runs = !over_columns() && schedule_.run > 1;
    for_each_row([&] { store_outputs(false, runs); });
    if (over_columns()) b_.end();
  }

  // Of columns that are spelled out, all come in words or none: they lie whole lines of rows apart.
  void store_points() {
    if (!any_output(true)) return;
    for_each_point([&](int64_t) { for_each_row([&] { store_outputs(true, schedule_.run > 1); }); });
  }

  // Those with an element per point, or per row: each as it comes, or once its run is whole.
  void store_outputs(bool full, bool runs) {
    for (size_t i = 0; i < space_.outputs.size(); ++i) {
      if (space_.outputs[i].full != full) continue;
      if (!runs) {
        kernel_.store_output(i, std::nullopt);
        continue;
      }
      std::vector<StoredElement>& elements = runs_[i];
      elements.push_back(kernel_.output_element(i));
      elements.back().place = b_.resolve(elements.back().place);
      if (elements.size() < static_cast<size_t>(schedule_.run)) continue;
      kernel_.store_run(i, std::exchange(elements, {}));
    }
  }

  bool any_output(bool full) const {
    return std::any_of(space_.outputs.begin(), space_.outputs.end(),
                       [&](const Place& p) { return p.full == full; });
  }

  GroupContext& group_;
  const GroupSpace& space_;
  RowSchedule schedule_;
  ReduceLevels levels_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
  Shape column_shape_;
  int64_t columns_ = 1;
  std::vector<size_t> lane_dims_;  // whose rows lanes own
  Shape lane_sizes_;
  IndexExpr block_, unit_;
  size_t row_of_run_ = 0;  // which is bound
  // Of reduces, by row of the run and result; results are a workgroup's or a lane's own.
  std::map<uint32_t, std::vector<uint32_t>> arrays_;
  std::map<uint32_t, std::vector<Operand>> results_;
  std::map<size_t, std::vector<StoredElement>> runs_;  // by output, as far as they have come
};

// On our CPU executor lanes go along what lies side by side: the last reduced dimensions, up to one
// that is kept. The ones before it are walked in a loop, where lanes over all of them would have to
// divide.
void walk_outer_dims(const GroupContext& group, RowSchedule& schedule) {
  constexpr int64_t kLeastInner = 32;
  const GroupSpace& space = group.space;
  if (group.caps.device_class != DeviceClass::kCpu || !schedule.lanes_over_columns ||
      schedule.run != 1)
    return;
  int64_t inner = 1;
  size_t d = space.dims.size(), reduced = 0;
  for (; d > 0 && (space.reduced[d - 1] || space.dims[d - 1] == 1); --d)
    if (space.reduced[d - 1]) inner *= space.dims[d - 1];
  for (size_t o = 0; o < d; ++o) reduced += space.reduced[o];
  if (inner < kLeastInner || reduced == 0) return;
  schedule.outer_dims = reduced;
  schedule.lanes = std::min(schedule.lanes, power_of_two_at_least(inner));
}

ReduceLevels reduce_levels(const Graph& region, const std::vector<uint32_t>& anchors) {
  std::vector<int> level(region.nodes().size(), 0);  // reduces on the longest path so far
  ReduceLevels levels;
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    for (Value v : region.node(id).operands) level[id] = std::max(level[id], level[v.node]);
    if (std::find(anchors.begin(), anchors.end(), id) == anchors.end()) continue;
    levels.resize(std::max(levels.size(), static_cast<size_t>(level[id]) + 1));
    levels[static_cast<size_t>(level[id]++)].push_back(id);
  }
  return levels;
}

}  // namespace

std::optional<size_t> last_kept_dim(const GroupSpace& space) {
  for (size_t d = space.dims.size(); d-- > 0;)
    if (!space.reduced[d]) return d;
  return std::nullopt;
}

Result<LoweredGroup> lower_rows(GroupContext& group) {
  const GroupSpace& space = group.space;
  int64_t rows = 1, lane_rows = 1, columns = 1;
  bool last_is_reduced = true;
  for (size_t d = 0; d < space.dims.size(); ++d) {
    (space.reduced[d] ? columns : rows) *= space.dims[d];
    if (!space.reduced[d]) lane_rows = space.dims[d];
    if (space.dims[d] > 1) last_is_reduced = space.reduced[d];
  }
  ReduceLevels levels = reduce_levels(group.region, space.anchors);
  bool stores_points = std::any_of(space.outputs.begin(), space.outputs.end(),
                                   [](const Place& place) { return place.full; });
  int64_t passes = static_cast<int64_t>(levels.size()) + stores_points;
  RowFolds folds{static_cast<int64_t>(levels.size())};
  folds.plain = std::all_of(space.anchors.begin(), space.anchors.end(), [&](uint32_t id) {
    return single_op(*group.region.node(id).regions[0]).has_value();
  });
  folds.operations = static_cast<int64_t>(group.region.nodes().size());
  folds.native = becomes_native(group.caps, group.region);
  auto schedule =
      choose_row_schedule(group.caps, rows, lane_rows, columns, passes, last_is_reduced, folds);
  if (auto parts = choose_row_parts(group.caps, rows, lane_rows, columns, last_is_reduced))
    return lower_parted_rows(group, *parts, levels);
  if (schedule && !schedule->lanes_over_columns && !schedule->lanes_over_dims &&
      can_split_rows(group))
    if (auto split = choose_row_split(group.caps, rows, lane_rows, columns))
      return lower_split_rows(group, *split, levels);
  if (!schedule && can_split_rows(group))
    return lower_split_rows(group, split_long_rows(group.caps, lane_rows, columns), levels);
  if (!schedule)
    return Error{
        ErrorCode::kUnsupported,
        "A reduce over " + std::to_string(columns) +
            " elements without a neutral element is beyond the loop limit of the device (" +
            std::to_string(group.caps.max_loop_iterations) +
            " iterations); a newer driver or the device cpu computes it.",
        ""};
  walk_outer_dims(group, *schedule);
  LoweredGroup lowered;
  TUFF_ASSIGN(LoweredStep step, RowsBuilder(group, *schedule, std::move(levels)).build());
  lowered.steps.push_back(std::move(step));
  return lowered;
}

}  // namespace tuff
