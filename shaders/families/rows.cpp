// rows: reduces over the same rows, with what feeds them and what follows them, in
// one kernel: softmax, layer norm, a plain sum. One workgroup owns a row (or each
// lane owns one) and walks it once per level of reduces that depend on each other,
// and once more to store what has an element per point.
#include <algorithm>
#include <map>

#include "shaders/families/family.h"
#include "shaders/families/reducer.h"
#include "shaders/schedule.h"

namespace tuff {

namespace {

class RowsBuilder {
 public:
  RowsBuilder(GroupContext& group, const RowSchedule& schedule,
              std::vector<std::vector<uint32_t>> levels)
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
    open_rows();
    kernel_.emitter.anchor_value = [this](Value v) { return anchor(v); };
    for (const auto& level : levels_) reduce_level(level);
    store_rows();
    store_points();
    return kernel_.finish();
  }

 private:
  bool over_columns() const { return schedule_.lanes_over_columns; }

  // The dimension whose rows the lanes own, if they own rows.
  size_t lane_dim() const {
    size_t d = space_.dims.size();
    while (space_.reduced[--d]) {
    }
    return d;
  }

  void open_rows() {
    std::vector<size_t> dims;
    Shape sizes;
    for (size_t d = 0; d < space_.dims.size(); ++d) {
      if (space_.reduced[d] || (!over_columns() && d == lane_dim())) continue;
      dims.push_back(d);
      sizes.push_back(space_.dims[d]);
    }
    // One loop over all of them, so that a batch of one is the same kernel; where an index
    // needs them apart, the division is one for the whole row.
    IndexVector at = delinearize(group_.index, b_.grid("row", num_elements(sizes)), sizes);
    for (size_t i = 0; i < dims.size(); ++i) b_.bind(space_.vars[dims[i]], at[i]);
    if (over_columns()) return;
    int64_t size = space_.dims[lane_dim()];
    block_ = b_.grid("block", (size + schedule_.lanes - 1) / schedule_.lanes) * schedule_.lanes;
  }

  void bind_column(const IndexExpr& column) {
    std::vector<IndexExpr> at = delinearize(group_.index, column, column_shape_);
    for (size_t d = 0, c = 0; d < space_.dims.size(); ++d)
      if (space_.reduced[d]) b_.bind(space_.vars[d], at[c++]);
  }

  // Lanes that own rows, or every lane for work that needs no column.
  void begin_row_lanes() {
    if (over_columns()) {
      b_.begin_lanes(Operand::i32(schedule_.lanes));
      return;
    }
    size_t d = lane_dim();
    b_.bind(space_.vars[d], block_ + b_.begin_lanes(b_.lane_extent(block_, space_.dims[d])));
  }

  // Runs body(column bound) for every column of the row.
  template <typename Body>
  void for_each_point(const Body& body) {
    if (columns_ == 0) return;  // nothing to read; reduces keep their initial values
    if (over_columns()) {
      IndexExpr base = b_.begin_serial("c", (columns_ + schedule_.lanes - 1) / schedule_.lanes) *
                       schedule_.lanes;
      bind_column(base + b_.begin_lanes(b_.lane_extent(base, columns_)));
    } else {
      IndexExpr column = b_.begin_serial("c", columns_);
      begin_row_lanes();
      bind_column(column);
    }
    body();
    b_.end();
    b_.end();
  }

  void reduce_level(const std::vector<uint32_t>& anchors) {
    begin_row_lanes();
    for (uint32_t id : anchors) initialise(id);
    b_.end();
    for_each_point([&] {
      for (uint32_t id : anchors) accumulate(id);
    });
    if (over_columns())
      for (uint32_t id : anchors) fold_lanes(id);
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
      b_.write(arrays_[id][r], 0, init);
    }
  }

  void accumulate(uint32_t id) {
    const Node& node = group_.region.node(id);
    size_t n = node.types.size();
    std::vector<Operand> inputs, sums;
    for (size_t r = 0; r < n; ++r)
      inputs.push_back(b_.convert(kernel_.emitter.emit(node.operands[r], space_.vars),
                                  accumulator_dtype(node, r)));
    for (uint32_t a : arrays_[id]) sums.push_back(b_.read(a, 0));
    std::vector<Operand> next = emit_reducer(b_, node, sums, inputs);
    for (size_t r = 0; r < n; ++r) b_.write(arrays_[id][r], 0, next[r]);
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
    folded_[id] = std::move(results);
  }

  // A reduce's result at this point: one value per workgroup, or the lane's own.
  Operand anchor(Value v) {
    if (over_columns()) return folded_.at(v.node)[v.result];
    return b_.convert(b_.read(arrays_.at(v.node)[v.result], 0), group_.region.type(v).dtype);
  }

  // Outputs with one element per row; over columns, the first lane stores them.
  void store_rows() {
    if (!any_output(false)) return;
    if (over_columns())
      b_.begin_lanes(Operand::i32(1));
    else
      begin_row_lanes();
    for (size_t i = 0; i < space_.outputs.size(); ++i)
      if (!space_.outputs[i].full) kernel_.store_output(i, std::nullopt);
    b_.end();
  }

  void store_points() {
    if (!any_output(true)) return;
    for_each_point([&] {
      for (size_t i = 0; i < space_.outputs.size(); ++i)
        if (space_.outputs[i].full) kernel_.store_output(i, std::nullopt);
    });
  }

  bool any_output(bool full) const {
    return std::any_of(space_.outputs.begin(), space_.outputs.end(),
                       [&](const Place& p) { return p.full == full; });
  }

  GroupContext& group_;
  const GroupSpace& space_;
  RowSchedule schedule_;
  std::vector<std::vector<uint32_t>> levels_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
  Shape column_shape_;
  int64_t columns_ = 1;
  IndexExpr block_;
  std::map<uint32_t, std::vector<uint32_t>> arrays_;
  std::map<uint32_t, std::vector<Operand>> folded_;
};

// Reduces by dependence: level 0 needs none of the group's reduces, level 1 those
// of level 0, and so on.
std::vector<std::vector<uint32_t>> reduce_levels(const Graph& region,
                                                 const std::vector<uint32_t>& anchors) {
  std::vector<int> level(region.nodes().size(), 0);  // reduces on the longest path so far
  std::vector<std::vector<uint32_t>> levels;
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    for (Value v : region.node(id).operands) level[id] = std::max(level[id], level[v.node]);
    if (std::find(anchors.begin(), anchors.end(), id) == anchors.end()) continue;
    levels.resize(std::max(levels.size(), static_cast<size_t>(level[id]) + 1));
    levels[static_cast<size_t>(level[id]++)].push_back(id);
  }
  return levels;
}

}  // namespace

Result<LoweredStep> lower_rows(GroupContext& group) {
  const GroupSpace& space = group.space;
  int64_t rows = 1, lane_rows = 1, columns = 1;
  bool last_is_reduced = true;
  for (size_t d = 0; d < space.dims.size(); ++d) {
    (space.reduced[d] ? columns : rows) *= space.dims[d];
    if (!space.reduced[d]) lane_rows = space.dims[d];
    if (space.dims[d] > 1) last_is_reduced = space.reduced[d];
  }
  auto levels = reduce_levels(group.region, space.anchors);
  int64_t passes = static_cast<int64_t>(levels.size()) + 1;
  RowSchedule schedule =
      choose_row_schedule(group.caps, rows, lane_rows, columns, passes, last_is_reduced);
  return RowsBuilder(group, schedule, std::move(levels)).build();
}

}  // namespace tuff
