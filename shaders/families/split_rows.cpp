// rows that are too few to keep a device busy, and long: batch norm and its gradients, sums
// over a batch. There are two kernels for each level of reduces. In the first, many workgroups
// reduce parts of the same rows, with a lane for each row of a part, or for several neighbouring
// columns of each. The second combines the parts. At last one stores what has an element per point.
#include <algorithm>

#include "shaders/families/family.h"
#include "shaders/families/reducer.h"
#include "shaders/families/rows.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

class SplitRows {
 public:
  SplitRows(const GroupContext& group, const RowSplit& split, const ReduceLevels& levels)
      : group_(group), split_(split), levels_(levels) {
    const GroupSpace& space = group.space;
    lane_dim_ = last_kept_dim(space);
    for (size_t d = 0; d < space.dims.size(); ++d) {
      if (space.reduced[d]) column_shape_.push_back(space.dims[d]);
      if (!space.reduced[d] && lane_dim_ != d) outer_.push_back(d);
    }
    for (size_t d : outer_) outer_shape_.push_back(space.dims[d]);
    rows_ = num_elements(outer_shape_) * row_size();
    parts_ = split.parts * split.columns_at_once;
    int64_t next = 0;
    for (const auto& level : levels)
      for (uint32_t id : level) {
        parts_at_[id] = next;
        results_at_[id] = next + parts_ * rows_;
        next += (parts_ + 1) * rows_;
      }
    scratch_ = {accumulator_dtype(group.region.node(levels[0][0]), 0), {next}};
  }

  Result<LoweredGroup> lower() const {
    LoweredGroup lowered;
    lowered.scratch_bytes = storage_bytes(scratch_, group_.caps);
    for (size_t level = 0; level < levels_.size(); ++level) {
      TUFF_ASSIGN(LoweredStep parts, reduce_parts(level));
      lowered.steps.push_back(std::move(parts));
      TUFF_ASSIGN(LoweredStep rows, combine_parts(level));
      lowered.steps.push_back(std::move(rows));
    }
    if (!any_output(true)) return lowered;
    TUFF_ASSIGN(LoweredStep points, store_points());
    lowered.steps.push_back(std::move(points));
    return lowered;
  }

 private:
  static constexpr GroupBuffer kPlace{GroupBuffer::Kind::kScratch, 0};

  // A kernel under construction: its lanes' place in the space.
  struct Walk {
    GroupContext& group;
    KernelBuilder& b;
    ValueEmitter& emitter;
    uint32_t scratch = 0;
    // The row's number is outer * row_size + row.
    IndexExpr outer = 0, row = 0;
    // Which part; which of the columns that lanes take at once.
    IndexExpr part = 0, neighbour = 0;
  };

  int64_t row_size() const { return lane_dim_ ? group_.space.dims[*lane_dim_] : 1; }
  const Node& node(uint32_t id) const { return group_.region.node(id); }
  int64_t part_lanes() const {
    return split_.columns_at_once > 1 ? split_.columns_at_once * row_size() : split_.lanes;
  }

  bool any_output(bool full) const {
    const std::vector<Place>& outputs = group_.space.outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Place& place) { return place.full == full; });
  }

  // Opens the loop of lanes: each has a row, within `columns_at_once` columns where the
  // kernel walks parts.
  void open(Walk& walk, bool parts) const {
    KernelBuilder& b = walk.b;
    walk.outer = b.grid("row", num_elements(outer_shape_));
    IndexVector at = delinearize(walk.group.index, walk.outer, outer_shape_);
    for (size_t i = 0; i < outer_.size(); ++i) b.bind(walk.group.space.vars[outer_[i]], at[i]);
    if (parts) walk.part = b.grid("part", split_.parts);
    if (parts && split_.columns_at_once > 1) {
      IndexExpr lane = b.begin_lanes(Operand::i32(part_lanes()));
      walk.neighbour = walk.group.index.floor_div(lane, row_size());
      walk.row = lane - walk.neighbour * row_size();
    } else {
      int64_t lanes = b.lanes();
      IndexExpr block = b.grid("block", (row_size() + lanes - 1) / lanes) * lanes;
      walk.row = block + b.begin_lanes(b.lane_extent(block, row_size()));
    }
    if (lane_dim_) b.bind(walk.group.space.vars[*lane_dim_], walk.row);
    walk.emitter.anchor_value = [this, &walk](Value v) { return stored_result(walk, v); };
  }

  // A reduce's result, which an earlier kernel has left.
  Operand stored_result(Walk& walk, Value v) const {
    Operand sum = walk.b.load(walk.scratch, results_at_.at(v.node) + row_number(walk), {});
    return walk.b.convert(sum, group_.region.type(v).dtype);
  }
  IndexExpr row_number(const Walk& walk) const { return walk.outer * row_size() + walk.row; }

  // Runs body(guard) for the part's columns, with a column bound that exists for sure.
  template <typename Body>
  void for_each_column(Walk& walk, const Body& body) const {
    int64_t columns = num_elements(column_shape_), steps = split_.steps;
    IndexExpr step = walk.part * steps + walk.b.begin_serial("c", steps);
    IndexExpr column = step * split_.columns_at_once + walk.neighbour;
    std::optional<Operand> guard;
    if (split_.parts * steps * split_.columns_at_once > columns) {
      guard = walk.b.all_of({{IndexExpr(columns - 1) - column}}, std::nullopt);
      column = walk.b.clamp_to(column, columns - 1);
    }
    IndexExpr variable = walk.group.index.symbol("column", 0, columns - 1);
    walk.b.bind(variable, column);
    IndexVector at = delinearize(walk.group.index, variable, column_shape_);
    const GroupSpace& space = walk.group.space;
    for (size_t d = 0, c = 0; d < space.dims.size(); ++d)
      if (space.reduced[d]) walk.b.bind(space.vars[d], at[c++]);
    body(guard);
    walk.b.end();
  }

  Result<LoweredStep> reduce_parts(size_t level) const {
    GroupContext group = group_;
    KernelBuilder b(word_of(group.space.kind), part_lanes(), group.index, group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    Walk walk{group, b, emitter,
              b.add_buffer(scratch_.dtype, Access::kReadWrite, scratch_.size_bytes())};
    open(walk, true);
    std::map<uint32_t, uint32_t> sums;
    for (uint32_t id : levels_[level]) {
      sums[id] = b.add_array(Scope::kRegister, scratch_.dtype, 1);
      b.write(sums[id], 0, b.convert(*reducer_identity(node(id)), scratch_.dtype));
    }
    for_each_column(walk, [&](const std::optional<Operand>& guard) {
      for (uint32_t id : levels_[level]) {
        Operand value =
            b.convert(emitter.emit(node(id).operands[0], group.space.vars), scratch_.dtype);
        Operand sum = b.read(sums[id], 0), next = emit_reducer(b, node(id), {sum}, {value})[0];
        if (guard) next = b.compute(Op::kSelect, next.dtype, {*guard, next, sum});
        b.write(sums[id], 0, next);
      }
    });
    IndexExpr part = walk.part * split_.columns_at_once + walk.neighbour;
    for (uint32_t id : levels_[level])
      b.store(walk.scratch, part_place(id, walk, part), b.read(sums[id], 0), std::nullopt);
    b.end();
    return finish_step(b, emitter, {kPlace});
  }

  IndexExpr part_place(uint32_t id, const Walk& walk, const IndexExpr& part) const {
    return (walk.outer * parts_ + part) * row_size() + walk.row + parts_at_.at(id);
  }

  // The last level's also stores what has an element per row.
  Result<LoweredStep> combine_parts(size_t level) const {
    GroupContext group = group_;
    bool last = level + 1 == levels_.size() && any_output(false);
    FamilyKernel kernel(group, split_.lanes, last);
    KernelBuilder& b = kernel.builder;
    Walk walk{group, b, kernel.emitter,
              b.add_buffer(scratch_.dtype, Access::kReadWrite, scratch_.size_bytes())};
    open(walk, false);
    std::map<uint32_t, Operand> results;
    for (uint32_t id : levels_[level]) {
      uint32_t sum = b.add_array(Scope::kRegister, scratch_.dtype, 1);
      b.write(sum, 0, b.convert(kernel.emitter.emit(node(id).operands[1], {}), scratch_.dtype));
      IndexExpr part = b.begin_serial("part", parts_);
      Operand value = b.load_now(walk.scratch, part_place(id, walk, part), std::nullopt);
      b.write(sum, 0, emit_reducer(b, node(id), {b.read(sum, 0)}, {value})[0]);
      b.end();
      Operand result = b.read(sum, 0);
      b.store(walk.scratch, results_at_.at(id) + row_number(walk), result, std::nullopt);
      results[id] = b.convert(result, node(id).types[0].dtype);
    }
    kernel.emitter.anchor_value = [&](Value v) {
      auto own = results.find(v.node);
      return own != results.end() ? own->second : stored_result(walk, v);
    };
    for (size_t i = 0; last && i < group.space.outputs.size(); ++i)
      if (!group.space.outputs[i].full) kernel.store_output(i, std::nullopt);
    b.end();
    return kernel.finish_with(kPlace);
  }

  Result<LoweredStep> store_points() const {
    GroupContext group = group_;
    FamilyKernel kernel(group, part_lanes());
    KernelBuilder& b = kernel.builder;
    Walk walk{group, b, kernel.emitter,
              b.add_buffer(scratch_.dtype, Access::kRead, scratch_.size_bytes())};
    open(walk, true);
    for_each_column(walk, [&](const std::optional<Operand>& guard) {
      for (size_t i = 0; i < group.space.outputs.size(); ++i)
        if (group.space.outputs[i].full) kernel.store_output(i, guard);
    });
    b.end();
    return kernel.finish_with(kPlace);
  }

  const GroupContext& group_;
  const RowSplit& split_;
  const ReduceLevels& levels_;
  std::optional<size_t> lane_dim_;
  std::vector<size_t> outer_;  // the other kept dimensions
  Shape column_shape_, outer_shape_;
  int64_t rows_ = 0, parts_ = 0;  // of each row
  // Elements of scratch memory: the parts of each row, then what they make.
  std::map<uint32_t, int64_t> parts_at_, results_at_;
  TensorType scratch_;
};

}  // namespace

bool can_split_rows(const GroupContext& group) {
  const Graph& region = group.region;
  auto type = [&](uint32_t id) { return accumulator_dtype(region.node(id), 0); };
  return std::all_of(group.space.anchors.begin(), group.space.anchors.end(), [&](uint32_t id) {
    return reducer_identity(region.node(id)) && type(id) == type(group.space.anchors[0]);
  });
}

Result<LoweredGroup> lower_split_rows(const GroupContext& group, const RowSplit& split,
                                      const ReduceLevels& levels) {
  return SplitRows(group, split, levels).lower();
}

}  // namespace tuff
