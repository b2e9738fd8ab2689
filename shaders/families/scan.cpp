// A reduce_window over the prefixes or suffixes of one dimension (cumsum and the like)
// in O(n). A lane walks a chunk of a row and stores as it goes. Where there are too few
// rows to keep the lanes busy, a row has many chunks. One kernel folds each of them, one
// makes of the totals what stands before each chunk, and the last one walks. Lanes have
// neighbouring chunks; on our CPU executor neighbouring rows, where these lie side by side.
#include <algorithm>
#include <numeric>

#include "ir/ops/window.h"
#include "ir/rewrite.h"
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"
#include "shaders/schedule/schedule.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

class Scan {
 public:
  Scan(GroupContext& group, const Node& node, const WindowScan& scan)
      : group_(group), node_(node), scan_(scan), shape_(group.space.dims) {
    length_ = shape_[scan.dim];
    rows_ = num_elements(shape_) / length_;
    // Totals of several results would need a scratch buffer each.
    chunk_ = node.types.size() > 1 ? length_ : choose_scan_chunk(group.caps, rows_, length_);
    chunks_ = (length_ + chunk_ - 1) / chunk_;
    run_ = choose_own_run(group.caps, num_elements(shape_), std::gcd(chunk_, length_),
                          dtype_size(node.types[0].dtype));
  }

  Result<LoweredGroup> lower() {
    TUFF_RETURN_IF_ERROR(check_fold({chunk_}, group_.caps.max_loop_iterations, "A scan"));
    LoweredGroup lowered;
    if (chunks_ > 1) {
      lowered.scratch_bytes = storage_bytes(totals_type(), group_.caps);
      TUFF_ASSIGN(LoweredStep totals, fold_chunks());
      lowered.steps.push_back(std::move(totals));
      TUFF_ASSIGN(LoweredStep before, scan_totals());
      lowered.steps.push_back(std::move(before));
    }
    TUFF_ASSIGN(LoweredStep walk, walk_chunks());
    lowered.steps.push_back(std::move(walk));
    return lowered;
  }

 private:
  static constexpr GroupBuffer kTotals{GroupBuffer::Kind::kScratch, 0};

  // One total a chunk, in the accumulator's type; rows outermost.
  TensorType totals_type() const { return {accumulator_dtype(node_, 0), {rows_, chunks_}}; }

  // What a lane has: an element of {rows, width}, and where its row lies in the space.
  struct Lane {
    IndexExpr row, chunk;
    IndexVector at;
  };

  Lane own(GroupContext& group, KernelBuilder& b, int64_t width) const {
    if (has_rows_beside()) return own_beside(group, b, width);
    int64_t total = rows_ * width, lanes = b.lanes();
    IndexExpr base = b.grid("block", (total + lanes - 1) / lanes) * lanes;
    IndexVector own =
        delinearize(group.index, base + b.begin_lanes(b.lane_extent(base, total)), {rows_, width});
    Shape outer = shape_;
    outer[scan_.dim] = 1;
    return {own[0], own[1], delinearize(group.index, own[0], outer)};
  }

  Shape inner_shape() const {
    return {shape_.begin() + static_cast<long>(scan_.dim) + 1, shape_.end()};
  }
  bool has_rows_beside() const {
    constexpr int64_t kEnoughRows = 32;
    return group_.caps.device_class == DeviceClass::kCpu &&
           num_elements(inner_shape()) >= kEnoughRows;
  }

  Lane own_beside(GroupContext& group, KernelBuilder& b, int64_t width) const {
    Shape outer_shape(shape_.begin(), shape_.begin() + static_cast<long>(scan_.dim));
    int64_t beside = num_elements(inner_shape()), lanes = b.lanes();
    IndexExpr outer = b.grid("outer", rows_ / beside), chunk = b.grid("chunk", width);
    IndexExpr base = b.grid("block", (beside + lanes - 1) / lanes) * lanes;
    IndexExpr inner = base + b.begin_lanes(b.lane_extent(base, beside));
    IndexVector at = delinearize(group.index, outer, outer_shape);
    at.push_back(0);
    for (const IndexExpr& e : delinearize(group.index, inner, inner_shape())) at.push_back(e);
    return {outer * beside + inner, chunk, at};
  }

  // The point of the space in a row, counted in the direction of the scan.
  IndexVector point(const Lane& lane, const IndexExpr& step) const {
    IndexVector at = lane.at;
    at[scan_.dim] = scan_.reverse ? IndexExpr(length_ - 1) - step : step;
    return at;
  }

  std::vector<Operand> inputs(KernelBuilder& b, ValueEmitter& emitter,
                              const IndexVector& at) const {
    std::vector<Operand> values;
    for (size_t r = 0; r < node_.types.size(); ++r)
      values.push_back(b.convert(emitter.emit(node_.operands[r], at), accumulator_dtype(node_, r)));
    return values;
  }

  std::vector<Operand> initial(KernelBuilder& b, ValueEmitter& emitter) const {
    std::vector<Operand> values;
    for (size_t r = 0; r < node_.types.size(); ++r)
      values.push_back(b.convert(emitter.emit(node_.operands[node_.types.size() + r], {}),
                                 accumulator_dtype(node_, r)));
    return values;
  }

  // The elements keep their order, whichever way the scan goes.
  std::vector<Operand> combine(KernelBuilder& b, const std::vector<Operand>& before,
                               const std::vector<Operand>& next) const {
    return scan_.reverse ? emit_reducer(b, node_, next, before)
                         : emit_reducer(b, node_, before, next);
  }

  // A register per result.
  std::vector<uint32_t> hold(KernelBuilder& b, const std::vector<Operand>& values) const {
    std::vector<uint32_t> registers;
    for (const Operand& value : values) {
      registers.push_back(b.add_array(Scope::kRegister, value.dtype, 1));
      b.write(registers.back(), 0, value);
    }
    return registers;
  }
  static std::vector<Operand> held(KernelBuilder& b, const std::vector<uint32_t>& registers) {
    std::vector<Operand> values;
    for (uint32_t r : registers) values.push_back(b.read(r, 0));
    return values;
  }
  static void put(KernelBuilder& b, const std::vector<uint32_t>& registers,
                  const std::vector<Operand>& values) {
    for (size_t i = 0; i < registers.size(); ++i) b.write(registers[i], 0, values[i]);
  }

  // The first step of run `j` of a chunk. Beyond the row's end it stays at the last run: what is
  // made of that is neither stored nor read.
  IndexExpr step_of(KernelBuilder& b, const IndexExpr& chunk, const IndexExpr& j) const {
    return b.clamp_to(chunk * (chunk_ / run_) + j, length_ / run_ - 1) * run_;
  }

  // What a run makes of its inputs.
  std::vector<Operand> folded(KernelBuilder& b, ValueEmitter& emitter, const Lane& lane,
                              const IndexExpr& j) const {
    const IndexExpr first = step_of(b, lane.chunk, j);
    std::vector<std::vector<Operand>> terms;
    emitter.run = run_;
    for (int64_t e = 0; e < run_; ++e) terms.push_back(inputs(b, emitter, point(lane, first + e)));
    emitter.run = 1;
    if (scan_.reverse) std::reverse(terms.begin(), terms.end());
    return emit_reducer_of_all(b, node_, std::move(terms));
  }

  Result<LoweredStep> fold_chunks() const {
    GroupContext group = group_;
    KernelBuilder b("scan", choose_map_schedule(group.caps, rows_ * chunks_).lanes, group.index,
                    group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    b.add_buffer(totals_type().dtype, Access::kWrite, totals_type().size_bytes());
    Lane lane = own(group, b, chunks_);
    std::vector<uint32_t> sums = hold(b, folded(b, emitter, lane, 0));
    IndexExpr j = b.begin_serial("j", chunk_ / run_ - 1) + 1;
    std::vector<Operand> next = folded(b, emitter, lane, j);
    put(b, sums, combine(b, held(b, sums), next));
    b.end();
    b.store(0, linearize({lane.row, lane.chunk}, {rows_, chunks_}), b.read(sums[0], 0),
            std::nullopt);
    b.end();
    return finish_step(b, emitter, {kTotals});
  }

  // totals[row, c] = the initial value and all chunks before c, in place.
  Result<LoweredStep> scan_totals() const {
    GroupContext group = group_;
    KernelBuilder b("scan", choose_map_schedule(group.caps, rows_).lanes, group.index, group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    b.add_buffer(totals_type().dtype, Access::kReadWrite, totals_type().size_bytes());
    Lane lane = own(group, b, 1);
    std::vector<uint32_t> sums = hold(b, initial(b, emitter));
    IndexExpr chunk = b.begin_serial("c", chunks_);
    IndexExpr element = linearize({lane.row, chunk}, {rows_, chunks_});
    Operand total = b.load_now(0, element, std::nullopt);
    std::vector<Operand> before = held(b, sums);
    b.store(0, element, before[0], std::nullopt);
    put(b, sums, combine(b, before, {total}));
    b.end();
    b.end();
    return finish_step(b, emitter, {kTotals});
  }

  Result<LoweredStep> walk_chunks() const {
    GroupContext group = group_;
    FamilyKernel kernel(group, choose_map_schedule(group.caps, rows_ * chunks_).lanes);
    KernelBuilder& b = kernel.builder;
    size_t outputs = group.region.outputs().size();
    uint32_t totals = 0;
    if (chunks_ > 1)
      totals = b.add_buffer(totals_type().dtype, Access::kRead, totals_type().size_bytes());
    Lane lane = own(group, b, chunks_);
    std::vector<uint32_t> sums =
        chunks_ > 1 ? hold(b, {b.load(totals, linearize({lane.row, lane.chunk}, {rows_, chunks_}),
                                      std::nullopt)})
                    : hold(b, initial(b, kernel.emitter));
    IndexExpr j = b.begin_serial("j", chunk_ / run_);
    walk_run(group, kernel, lane, j, sums);
    b.end();
    b.end();
    TUFF_ASSIGN(LoweredStep step, kernel.finish());
    if (chunks_ > 1)
      step.bindings.insert(step.bindings.begin() + static_cast<long>(outputs), kTotals);
    return step;
  }

  // Goes through the run and stores what it comes by.
  void walk_run(const GroupContext& group, FamilyKernel& kernel, const Lane& lane,
                const IndexExpr& j, const std::vector<uint32_t>& sums) const {
    KernelBuilder& b = kernel.builder;
    const size_t outputs = group_.region.outputs().size();
    const IndexExpr first = step_of(b, lane.chunk, j);
    std::vector<Operand> next;
    kernel.emitter.anchor_value = [&](Value v) {
      return b.convert(next[v.result], node_.types[v.result].dtype);
    };
    std::optional<Operand> inside =
        b.all_of({{IndexExpr(length_ / run_ - 1) - (lane.chunk * (chunk_ / run_) + j),
                   IndexCondition::Kind::kNonNegative}},
                 std::nullopt);
    std::vector<std::vector<StoredElement>> elements(outputs);
    kernel.emitter.run = run_;
    for (int64_t e = 0; e < run_; ++e) {
      IndexVector at = point(lane, first + e);
      std::vector<Operand> read = inputs(b, kernel.emitter, at);
      next = combine(b, e == 0 ? held(b, sums) : next, read);
      if (e + 1 == run_) put(b, sums, next);
      for (size_t d = 0; d < shape_.size(); ++d) b.bind(group.space.vars[d], at[d]);
      if (run_ > 1) kernel.emitter.forget();
      for (size_t i = 0; i < outputs; ++i) {
        elements[i].push_back(kernel.output_element(i));
        elements[i].back().place = b.resolve(elements[i].back().place);
      }
    }
    kernel.emitter.run = 1;
    for (size_t i = 0; i < outputs; ++i) kernel.store_run(i, elements[i], inside);
  }

  GroupContext& group_;
  const Node& node_;
  WindowScan scan_;
  Shape shape_;
  int64_t length_ = 1, rows_ = 1, chunk_ = 1, chunks_ = 1;
  int64_t run_ = 1;  // neighbours that a lane walks at once
};

}  // namespace

// Windows that are the prefixes of a dimension, if it is long enough to care. Each
// window also combines the initial value once for every place where it leaves the
// input, which a scan does not.
std::optional<WindowScan> scan_of(const GroupContext& group) {
  constexpr int64_t kShortest = 16;
  const Node& node = group.region.node(group.space.anchors[0]);
  auto scan = window_scan(node, group.space.dims);
  if (!scan || group.space.dims[scan->dim] <= kShortest) return std::nullopt;
  const Literal* initial = constant_value(group.region, node.operands.back());
  if (!initial) return std::nullopt;
  // Of a body of several operations StableHLO says the same by itself: it and the initial value
  // form a monoid. (One that only returns an operand has no identity.)
  const Graph& body = *node.regions[0];
  const bool has_operations = body.nodes().size() > body.num_parameters();
  const bool is_written_out = node.types.size() == 1 && has_operations && !single_op(body);
  return may_count_often(node, *initial) || is_written_out ? scan : std::nullopt;
}

Result<LoweredGroup> lower_scan(GroupContext& group, const WindowScan& scan) {
  return Scan(group, group.region.node(group.space.anchors[0]), scan).lower();
}

}  // namespace tuff
