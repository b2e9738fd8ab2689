// Rows that are too few for the device, or too long for one workgroup: several share a row.
// There is one kernel for each level of reduces, in which each workgroup reduces its part of the
// columns, and a last one. Each kernel first combines what the parts have left of earlier levels,
// every workgroup for itself; so there is no kernel that only does that. The order is fixed.
#include <algorithm>

#include "shaders/families/contraction/contraction_tile_lines.h"
#include "shaders/families/reducer.h"
#include "shaders/families/rows.h"

namespace tuff {

namespace {

// Of parts: a value as a word of scratch memory, and back.
DType bits_type(int64_t bytes) {
  return bytes == 1   ? DType::kU8
         : bytes == 2 ? DType::kU16
         : bytes == 4 ? DType::kU32
                      : DType::kU64;
}
Operand to_word(KernelBuilder& b, const Operand& value, DType word) {
  if (value.dtype == DType::kBool) return b.convert(value, word);
  return b.convert(b.bitcast(value, bits_type(dtype_size(value.dtype))), word);
}
Operand from_word(KernelBuilder& b, const Operand& word, DType dtype) {
  if (dtype == DType::kBool) return b.convert(word, dtype);
  return b.bitcast(b.convert(word, bits_type(dtype_size(dtype))), dtype);
}

// Where the parts' results stand in scratch memory.
struct PartPlaces {
  std::map<uint32_t, std::vector<int64_t>> first;  // by reduce and result
  DType word = DType::kU32;
  int64_t words = 0;
};

// One of the kernels: `level` is that of the reduces whose parts it makes; the last one has none.
class PartedKernel {
 public:
  PartedKernel(GroupContext& group, const RowParts& parts, const ReduceLevels& levels,
               const PartPlaces& places, size_t level)
      : group_(group),
        space_(group.space),
        s_(parts),
        levels_(levels),
        places_(places),
        level_(level),
        kernel_(group, s_.lanes(), is_last()),
        b_(kernel_.builder) {
    for (size_t d = 0; d < space_.dims.size(); ++d) {
      if (space_.reduced[d]) column_shape_.push_back(space_.dims[d]);
      if (!space_.reduced[d] && !(s_.across > 1 && d == last_kept_dim(space_))) outer_.push_back(d);
    }
    for (size_t d : outer_) outer_shape_.push_back(space_.dims[d]);
    columns_ = num_elements(column_shape_);
    unit_ = columns_ % s_.run == 0 ? s_.run : 1;
    Access access = is_last() ? Access::kRead : level == 0 ? Access::kWrite : Access::kReadWrite;
    scratch_ = b_.add_buffer(places_.word, access, places_.words * dtype_size(places_.word));
  }

  Result<LoweredStep> build() {
    open();
    kernel_.emitter.anchor_value = [this](Value v) { return result_of(v); };
    for (size_t earlier = 0; earlier < std::min(level_, levels_.size()); ++earlier)
      for (uint32_t id : levels_[earlier]) combine_parts(id);
    is_last() ? store() : reduce_part();
    return kernel_.finish_with({GroupBuffer::Kind::kScratch, 0});
  }

 private:
  bool is_last() const { return level_ == levels_.size(); }
  bool walks() const { return !is_last() || stores_points(); }
  bool stores_points() const {
    return std::any_of(space_.outputs.begin(), space_.outputs.end(),
                       [](const Place& place) { return place.full; });
  }
  const Node& node(uint32_t id) const { return group_.region.node(id); }
  int64_t row_size() const { return s_.across > 1 ? space_.dims[*last_kept_dim(space_)] : 1; }

  void open() {
    outer_row_ = b_.grid("row", num_elements(outer_shape_));
    IndexVector at = delinearize(group_.index, outer_row_, outer_shape_);
    for (size_t i = 0; i < outer_.size(); ++i) b_.bind(space_.vars[outer_[i]], at[i]);
    if (walks()) part_ = b_.grid("part", s_.parts);
    block_ = b_.grid("block", (row_size() + s_.across - 1) / s_.across);
  }

  // Opens the loop of lanes, with the lane's row bound.
  void begin_lanes(int64_t count) {
    lane_ = b_.begin_lanes(Operand::i32(count));
    place_ = place_lane(b_, lane_, s_.across);
    kernel_.emitter.forget();
    if (s_.across == 1) return;
    row_ = b_.block_start(block_, s_.across, row_size()) + place_.fast;
    b_.bind(space_.vars[*last_kept_dim(space_)], b_.clamp_to(row_, row_size() - 1));
  }
  // The lane has a row of its own.
  std::optional<Operand> row_exists() {
    if (s_.across == 1) return std::nullopt;
    return b_.all_of({{IndexExpr(row_size() - 1) - row_}}, std::nullopt);
  }

  // Element of scratch memory that has the row's result of a part.
  IndexExpr place_of(uint32_t id, size_t result, const IndexExpr& part) {
    IndexExpr row = s_.across == 1 ? IndexExpr(0) : b_.clamp_to(row_, row_size() - 1);
    return (outer_row_ * s_.parts + part) * row_size() + row + places_.first.at(id)[result];
  }

  using Values = std::vector<Operand>;
  std::vector<uint32_t> add_accumulators(uint32_t id) {
    std::vector<uint32_t> arrays;
    for (size_t r = 0; r < node(id).types.size(); ++r)
      arrays.push_back(b_.add_array(Scope::kRegister, accumulator_dtype(node(id), r), 1));
    return arrays;
  }
  Values read(const std::vector<uint32_t>& arrays) {
    Values values;
    for (uint32_t array : arrays) values.push_back(b_.read(array, 0));
    return values;
  }
  void write(const std::vector<uint32_t>& arrays, const Values& values) {
    for (size_t r = 0; r < arrays.size(); ++r) b_.write(arrays[r], 0, values[r]);
  }
  // What parts start from: neutral where the reduce has such a value, which then counts once.
  Values initial(uint32_t id, bool neutral) {
    std::optional<Operand> identity = reducer_identity(node(id));
    Values values;
    for (size_t r = 0; r < node(id).types.size(); ++r) {
      size_t operand = node(id).types.size() + r;
      Operand value =
          neutral && identity ? *identity : kernel_.emitter.emit(node(id).operands[operand], {});
      values.push_back(b_.convert(value, accumulator_dtype(node(id), r)));
    }
    return values;
  }
  Values load_part(uint32_t id, const IndexExpr& part) {
    Values values;
    for (size_t r = 0; r < node(id).types.size(); ++r)
      values.push_back(from_word(b_, b_.load_now(scratch_, place_of(id, r, part), std::nullopt),
                                 accumulator_dtype(node(id), r)));
    return values;
  }

  // All lanes of a row know its result; lanes have one part each if the row is all of them.
  void combine_parts(uint32_t id) {
    std::vector<uint32_t> arrays = add_accumulators(id);
    if (s_.across > 1) {
      begin_lanes(s_.lanes());
      std::vector<Values> terms{initial(id, false)};
      for (int64_t part = 0; part < s_.parts; ++part) terms.push_back(load_part(id, part));
      write(arrays, emit_reducer_of_all(b_, node(id), std::move(terms)));
      b_.end();
      kept_[id] = std::move(arrays);
      return;
    }
    begin_lanes(s_.lanes());
    write(arrays, initial(id, true));
    b_.end();
    IndexExpr first = b_.begin_serial("p", (s_.parts + s_.lanes() - 1) / s_.lanes()) * s_.lanes();
    lane_ = b_.begin_lanes(b_.lane_extent(first, s_.parts));
    Values part = load_part(id, first + lane_);
    write(arrays, emit_reducer(b_, node(id), read(arrays), part));
    b_.end();
    b_.end();
    Values results = fold_lanes(id, arrays);
    if (reducer_identity(node(id)))
      results = emit_reducer(b_, node(id), initial(id, false), results);
    results_[id] = std::move(results);
  }

  Values fold_lanes(uint32_t id, const std::vector<uint32_t>& arrays) {
    return b_.reduce_lanes(arrays, [&](const Values& lhs, const Values& rhs) {
      return emit_reducer(b_, node(id), lhs, rhs);
    });
  }

  Operand result_of(Value v) {
    Operand result =
        s_.across > 1 ? b_.read(kept_.at(v.node)[v.result], 0) : results_.at(v.node)[v.result];
    return b_.convert(result, node(v.node).types[v.result].dtype);
  }

  // Inside the loop of lanes: body(guard) for each of the lane's columns of the part, of which
  // some are loaded at once.
  template <typename Body>
  void for_each_column(const Body& body) {
    int64_t lanes_down = s_.down, rounds = s_.length / (lanes_down * s_.run * s_.unroll);
    IndexExpr round = b_.begin_serial("c", rounds);
    int64_t per_run = s_.run / unit_, units = columns_ / unit_;
    int64_t of_round = lanes_down * per_run * s_.unroll;
    IndexExpr first = b_.block_start(part_ * rounds + round, of_round, units,
                                     units == of_round * rounds * s_.parts);
    kernel_.emitter.run = unit_;
    for (int64_t u = 0; u < s_.unroll * per_run; ++u) {
      IndexExpr unit = b_.stepped(first, u * lanes_down) + place_.slow;
      std::optional<Operand> guard = b_.all_of({{IndexExpr(units - 1) - unit}}, std::nullopt);
      if (guard) unit = b_.clamp_to(unit, units - 1);
      for (int64_t e = 0; e < unit_; ++e) {
        bind_column(unit * unit_ + e);
        body(guard);
      }
    }
    kernel_.emitter.run = 1;
    b_.end();
  }

  void bind_column(const IndexExpr& column) {
    IndexVector at = delinearize(group_.index, column, column_shape_);
    for (size_t d = 0, c = 0; d < space_.dims.size(); ++d)
      if (space_.reduced[d]) b_.bind(space_.vars[d], at[c++]);
    kernel_.emitter.forget();
  }

  struct Input {
    Values values;
    std::optional<Operand> guard;
  };

  void reduce_part() {
    const std::vector<uint32_t>& ids = levels_[level_];
    begin_lanes(s_.lanes());
    std::map<uint32_t, std::vector<uint32_t>> sums;
    for (uint32_t id : ids) write(sums[id] = add_accumulators(id), initial(id, true));
    std::map<uint32_t, std::vector<Input>> inputs;  // of a round: loaded ahead of the first use
    for_each_column([&](const std::optional<Operand>& guard) {
      for (uint32_t id : ids) inputs[id].push_back({inputs_of(id), guard});
      if (inputs[ids[0]].size() < static_cast<size_t>(s_.unroll * s_.run)) return;
      for (uint32_t id : ids) accumulate(id, sums[id], inputs[id]);
    });
    b_.end();
    for (uint32_t id : ids) s_.across > 1 ? leave_sums(id, sums[id]) : leave_fold(id, sums[id]);
  }

  Values inputs_of(uint32_t id) {
    Values values;
    for (size_t r = 0; r < node(id).types.size(); ++r)
      values.push_back(b_.convert(kernel_.emitter.emit(node(id).operands[r], space_.vars),
                                  accumulator_dtype(node(id), r)));
    return values;
  }

  void accumulate(uint32_t id, const std::vector<uint32_t>& arrays,
                  const std::vector<Input>& inputs) {
    Values sums = read(arrays);
    // Neighbours of a unit have one guard.
    const auto unit = static_cast<size_t>(unit_);
    for (size_t first = 0; first < inputs.size(); first += unit) {
      std::vector<Values> terms;
      for (size_t e = first; e < first + unit; ++e) terms.push_back(inputs[e].values);
      const std::optional<Operand>& guard = inputs[first].guard;
      Values next =
          emit_reducer(b_, node(id), sums, emit_reducer_of_all(b_, node(id), std::move(terms)));
      for (size_t r = 0; guard && r < next.size(); ++r)
        next[r] = b_.compute(Op::kSelect, next[r].dtype, {*guard, next[r], sums[r]});
      sums = std::move(next);
    }
    write(arrays, sums);
  }

  void leave(uint32_t id, const Values& values, const std::optional<Operand>& guard) {
    for (size_t r = 0; r < values.size(); ++r)
      b_.store(scratch_, place_of(id, r, part_), to_word(b_, values[r], places_.word), guard);
  }

  void leave_fold(uint32_t id, const std::vector<uint32_t>& arrays) {
    Values results = fold_lanes(id, arrays);
    begin_lanes(1);
    leave(id, results, std::nullopt);
    b_.end();
  }

  // Lanes below each other have walked other columns of one row.
  void leave_sums(uint32_t id, const std::vector<uint32_t>& arrays) {
    std::vector<uint32_t> shared;
    for (uint32_t array : arrays)
      shared.push_back(b_.add_array(Scope::kShared, b_.array_dtype(array), s_.lanes()));
    begin_lanes(s_.lanes());
    for (size_t r = 0; r < arrays.size(); ++r) b_.write(shared[r], lane_, b_.read(arrays[r], 0));
    b_.end();
    begin_lanes(s_.across);
    std::vector<Values> terms(static_cast<size_t>(s_.down));
    for (int64_t d = 0; d < s_.down; ++d)
      for (uint32_t array : shared)
        terms[static_cast<size_t>(d)].push_back(b_.read(array, b_.stepped(lane_, d * s_.across)));
    std::optional<Operand> guard = row_exists();
    leave(id, emit_reducer_of_all(b_, node(id), std::move(terms)), guard);
    b_.end();
  }

  void store() {
    store_rows();
    if (!stores_points()) return;
    begin_lanes(s_.lanes());
    for_each_column([&](const std::optional<Operand>& guard) {
      for (size_t i = 0; i < space_.outputs.size(); ++i)
        if (space_.outputs[i].full) kernel_.store_output(i, both(guard, row_exists()));
    });
    b_.end();
  }

  // By the first part, the first lane of each row.
  void store_rows() {
    begin_lanes(s_.across);
    std::optional<Operand> guard = row_exists();
    if (walks() && s_.parts > 1)
      guard = both(guard, b_.compute(Op::kEq, DType::kBool, {b_.index(part_), Operand::i32(0)}));
    for (size_t i = 0; i < space_.outputs.size(); ++i)
      if (!space_.outputs[i].full) kernel_.store_output(i, guard);
    b_.end();
  }

  std::optional<Operand> both(const std::optional<Operand>& a, const std::optional<Operand>& c) {
    return a && c ? b_.compute(Op::kAnd, DType::kBool, {*a, *c}) : a ? a : c;
  }

  GroupContext& group_;
  const GroupSpace& space_;
  const RowParts& s_;
  const ReduceLevels& levels_;
  const PartPlaces& places_;
  size_t level_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
  uint32_t scratch_ = 0;
  std::vector<size_t> outer_;  // kept dimensions but that of lanes beside each other
  Shape outer_shape_, column_shape_;
  int64_t columns_ = 1;
  int64_t unit_ = 1;  // neighbouring columns that are all there or all beyond the end
  IndexExpr outer_row_, part_ = 0, block_, row_, lane_;
  LanePlace place_;
  // Results of earlier levels: a workgroup's, or each lane's.
  std::map<uint32_t, Values> results_;
  std::map<uint32_t, std::vector<uint32_t>> kept_;
};

PartPlaces place_parts(const GroupContext& group, const RowParts& parts) {
  int64_t rows = 1;
  for (size_t d = 0; d < group.space.dims.size(); ++d)
    if (!group.space.reduced[d]) rows *= group.space.dims[d];
  PartPlaces places;
  for (uint32_t id : group.space.anchors) {
    const Node& node = group.region.node(id);
    for (size_t r = 0; r < node.types.size(); ++r) {
      places.first[id].push_back(places.words);
      places.words += rows * parts.parts;
      if (dtype_size(accumulator_dtype(node, r)) == 8) places.word = DType::kU64;
    }
  }
  return places;
}

}  // namespace

Result<LoweredGroup> lower_parted_rows(const GroupContext& group, const RowParts& parts,
                                       const ReduceLevels& levels) {
  PartPlaces places = place_parts(group, parts);
  LoweredGroup lowered;
  lowered.scratch_bytes = places.words * dtype_size(places.word);
  for (size_t level = 0; level <= levels.size(); ++level) {
    GroupContext own = group;
    TUFF_ASSIGN(LoweredStep step, PartedKernel(own, parts, levels, places, level).build());
    lowered.steps.push_back(std::move(step));
  }
  return lowered;
}

}  // namespace tuff
