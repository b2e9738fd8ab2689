// row_loop: a counted while over rows as one kernel (ir/group/row_loop.h). A workgroup has a row,
// or elements that need no other ones, each lane some of them, in registers from the first round to
// the last; so are the weights of its products. Operands of products go from lane to lane through
// shared memory.
#include "ir/group/row_loop.h"

#include <algorithm>

#include "shaders/families/contraction/contraction.h"
#include "shaders/families/family.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

using Carry = RowLoop::Carry;

class RowLoopBuilder {
 public:
  RowLoopBuilder(GroupContext& group, const RowLoop& rows)
      : group_(group),
        rows_(rows),
        loop_(group.region.node(group.space.anchors[0])),
        body_graph_(*loop_.regions[1]),
        lanes_(rows.lanes),
        kernel_(group, lanes_),
        b_(kernel_.builder) {
    for (int64_t c = 0; c < rows_.chunks(rows.longest()); ++c) {
      bodies_.emplace_back(body_graph_, group.index, b_);
      bodies_.back().elsewhere = [this](Value v, const IndexVector& index, const Guard& guard) {
        return value_of(v, index, guard);
      };
    }
  }

  Result<LoweredStep> build() {
    group_index_ = b_.grid("group", rows_.workgroups());
    add_arrays();
    begin_lanes();
    start();
    b_.end();
    share_carried();
    round_ = b_.begin_serial("round", rows_.rounds);
    for (int64_t stage = 0; stage <= rows_.stages; ++stage) run_stage(stage);
    share_carried();
    b_.end();
    if (has_more_outputs()) {
      begin_lanes();
      finish_outputs();
      b_.end();
    }
    return kernel_.finish();
  }

 private:
  using Guard = std::optional<Operand>;

  void add_arrays() {
    for (uint32_t i = 0; i < rows_.carries.size(); ++i)
      if (rows_.carries[i] == Carry::kRow) {
        const TensorType& type = loop_.types[i];
        carried_[i] = b_.add_array(Scope::kRegister, type.dtype, rows_.chunks(type.shape.back()));
      }
    for (const RowLoop::Vector& vector : rows_.vectors) {
      std::vector<uint32_t> parts;
      for (int64_t c = 0; c < rows_.chunks(vector.length); ++c)
        parts.push_back(b_.add_array(Scope::kShared, body_graph_.type(vector.value).dtype, lanes_));
      shared_.push_back(std::move(parts));
    }
    for (const RowLoop::Product& product : rows_.products) {
      DType dtype = contraction_sum_type(body_graph_.node(product.node).types[0].dtype);
      int64_t count = rows_.chunks(product.length);
      sums_.push_back(b_.add_array(Scope::kRegister, dtype, count));
      weights_.push_back(b_.add_array(Scope::kRegister, dtype, count * product.depth));
    }
  }

  // All lanes take part, so that a value can pass between them without shared memory.
  void begin_lanes() {
    lane_ = b_.begin_lanes(Operand::i32(lanes_));
    IndexExpr element = group_index_;
    if (rows_.elementwise) element = group_index_ * lanes_ + lane_;
    Shape shape = rows_.rows;
    if (rows_.elementwise) shape.push_back(rows_.longest());
    IndexVector place = delinearize(group_.index, element, shape);
    for (size_t d = 0; d < rows_.rows.size(); ++d) bind(rows_.row[d], place[d]);
    if (rows_.elementwise) bind(rows_.columns.begin()->second, place.back());
    for (ValueEmitter& body : bodies_) body.forget();
  }

  void bind(const IndexExpr& variable, const IndexExpr& value) {
    if (!variable.is_constant()) b_.bind(variable, value);
  }

  // From here on a value's column is this chunk's of the lane. Gives whether there is one, where
  // that is not always so.
  Guard at_chunk(int64_t length, int64_t chunk) {
    chunk_ = chunk;
    if (rows_.elementwise)
      return b_.all_of({{IndexExpr(rows_.elements() - 1) - group_index_ * lanes_ - lane_}},
                       std::nullopt);
    IndexExpr column = b_.stepped(lane_, chunk * lanes_);
    for (const auto& [other, variable] : rows_.columns) bind(variable, column);
    kernel_.emitter.forget();
    return b_.all_of({{IndexExpr(length - 1) - column}}, std::nullopt);
  }

  ValueEmitter& body() { return bodies_[static_cast<size_t>(chunk_)]; }

  IndexVector own_place(int64_t length) const {
    IndexVector place = rows_.row;
    place.push_back(rows_.columns.at(length));
    return place;
  }

  // What is carried into the first round, and the weights of all rounds.
  void start() {
    for (auto [i, array] : carried_) {
      int64_t length = loop_.types[i].shape.back();
      for (int64_t c = 0; c < rows_.chunks(length); ++c) {
        Guard inside = at_chunk(length, c);
        b_.write(array, c, kernel_.emitter.emit(loop_.operands[i], own_place(length), inside));
      }
    }
    for (size_t p = 0; p < rows_.products.size(); ++p) load_weights(p);
  }

  // Unrolled for GPUs, which hold an array in registers only if no index into it is computed. To a
  // software driver each load is a loop's worth of code.
  void load_weights(size_t p) {
    const RowLoop::Product& product = rows_.products[p];
    int64_t count = rows_.chunks(product.length);
    auto load = [&](const IndexExpr& k) {
      bind(product.k, k);
      for (ValueEmitter& body : bodies_) body.forget();
      for (int64_t c = 0; c < count; ++c) {
        Guard inside = at_chunk(product.length, c);
        Value v = body_graph_.node(product.node).operands[product.weights_operand];
        Operand weight =
            b_.convert(body().emit(v, product.weights, inside), b_.array_dtype(weights_[p]));
        b_.write(weights_[p], k * count + IndexExpr(c), weight);
      }
    };
    if (is_gpu(group_.caps)) {
      for (int64_t k = 0; k < product.depth; ++k) load(k);
      return;
    }
    load(b_.begin_fixed("k", product.depth));
    b_.end();
  }

  // Lanes wait for each other between two loops over them that have a shared array in common.
  void share_carried() {
    for (size_t i = 0; i < rows_.vectors.size(); ++i) {
      const RowLoop::Vector& vector = rows_.vectors[i];
      if (vector.stage >= 0) continue;
      begin_lanes();
      for (int64_t c = 0; c < rows_.chunks(vector.length); ++c)
        b_.write(shared_[i][static_cast<size_t>(c)], lane_,
                 b_.read(carried_.at(vector.value.node), c));
      b_.end();
    }
  }

  // The products of what the stage before made known, and what becomes known by them: operands of
  // the next stage's, or the round's results.
  //
  // A software driver makes several blocks of code of each access to memory. Sums that are used
  // behind one are computed one after another there; so what can be accessed is, ahead of them.
  void run_stage(int64_t stage) {
    begin_lanes();
    for (size_t i = 0; i < rows_.vectors.size(); ++i)
      if (rows_.vectors[i].stage == stage) load(rows_.carries.size() + i, rows_.vectors[i].length);
    if (stage == rows_.stages) load_for_results();
    for (size_t p = 0; p < rows_.products.size(); ++p)
      if (rows_.vectors[rows_.products[p].vector].stage == stage - 1) multiply(p);
    for (size_t i = 0; i < rows_.vectors.size(); ++i)
      if (rows_.vectors[i].stage == stage) share(i);
    if (stage == rows_.stages) take_results();
    b_.end();
  }

  // Where a lane has few columns, of several sums for each, so that few steps wait for each other.
  void multiply(size_t p) {
    const RowLoop::Product& product = rows_.products[p];
    DType dtype = b_.array_dtype(sums_[p]);
    int64_t count = rows_.chunks(product.length);
    bool many = !is_gpu(group_.caps) && count >= 4 && dtype == DType::kF32;
    int64_t sides = many ? 1 : std::min<int64_t>(product.depth, 4);
    std::vector<Operand> sums(static_cast<size_t>(count * sides),
                              immediate_of(Literal::scalar(dtype, 0)));
    Operand wait;
    for (int64_t k = 0; k < product.depth; ++k) {
      bool next_part = k > 0 && k % lanes_ == 0;
      if (many && next_part) wait = zero_after(sums);
      uint32_t part = shared_[product.vector][static_cast<size_t>(k / lanes_)];
      Operand element = b_.convert(b_.read(part, k % lanes_), dtype);
      if (many && k >= lanes_) element = with_bits(element, wait);
      for (int64_t c = 0; c < count; ++c) {
        Operand& sum = sums[static_cast<size_t>(k % sides * count + c)];
        sum = b_.compute(Op::kFma, dtype, {element, b_.read(weights_[p], k * count + c), sum});
      }
    }
    for (int64_t c = 0; c < count; ++c) {
      Operand sum = sums[static_cast<size_t>(c)];
      for (int64_t side = 1; side < sides; ++side)
        sum = b_.compute(Op::kAdd, dtype, {sum, sums[static_cast<size_t>(side * count + c)]});
      b_.write(sums_[p], c, sum);
    }
  }

  // Zero bits that a software driver's compiler takes for bits of the sums. It would else compute
  // one column's sum after the other, with all elements of the vector in memory meanwhile: twice as
  // many loads.
  Operand zero_after(const std::vector<Operand>& sums) {
    Operand any = b_.bitcast(sums[0], DType::kU32);
    for (size_t i = 1; i < sums.size(); ++i)
      any = b_.compute(Op::kOr, DType::kU32, {any, b_.bitcast(sums[i], DType::kU32)});
    return b_.compute(Op::kAnd, DType::kU32, {any, b_.bitcast(b_.unknown_zero(), DType::kU32)});
  }
  Operand with_bits(const Operand& value, const Operand& bits) {
    Operand all = b_.compute(Op::kOr, DType::kU32, {b_.bitcast(value, DType::kU32), bits});
    return b_.bitcast(all, DType::kF32);
  }

  void share(size_t i) {
    const RowLoop::Vector& vector = rows_.vectors[i];
    for (int64_t c = 0; c < rows_.chunks(vector.length); ++c) {
      Guard inside = at_chunk(vector.length, c);
      b_.write(shared_[i][static_cast<size_t>(c)], lane_,
               body().emit(vector.value, own_place(vector.length), inside));
    }
  }

  void load(size_t root, int64_t length) {
    for (const RowLoop::Load& load : rows_.loads)
      for (int64_t c = 0; load.root == root && c < rows_.chunks(length); ++c) {
        Guard inside = at_chunk(length, c);
        body().emit(load.value, load.index, inside);
      }
  }

  void load_for_results() {
    for (auto [i, array] : carried_) load(i, loop_.types[i].shape.back());
    for (const auto& [i, slice] : rows_.slices)
      if (rows_.needs_products(i))
        load(i, loop_.types[i].shape.back());
      else
        store_slice(i, slice);
  }

  // All are computed of what the round began with.
  void take_results() {
    for (const auto& [i, slice] : rows_.slices)
      if (rows_.needs_products(i)) store_slice(i, slice);
    std::map<uint32_t, std::vector<Operand>> next;
    for (auto [i, array] : carried_) {
      int64_t length = loop_.types[i].shape.back();
      for (int64_t c = 0; c < rows_.chunks(length); ++c) {
        Guard inside = at_chunk(length, c);
        next[i].push_back(body().emit(body_graph_.outputs()[i], own_place(length), inside));
      }
    }
    for (auto& [i, values] : next)
      for (size_t c = 0; c < values.size(); ++c)
        b_.write(carried_.at(i), static_cast<int64_t>(c), values[c]);
  }

  void store_slice(uint32_t i, const RowLoop::Slice& slice) {
    const Shape& shape = loop_.types[i].shape;
    IndexVector to = slice.index;
    to[0] = round_ * slice.at.step + IndexExpr(slice.at.start);
    for (size_t output : outputs_of(i))
      for (int64_t c = 0; c < rows_.chunks(shape.back()); ++c) {
        Guard inside = at_chunk(shape.back(), c);
        b_.store(static_cast<uint32_t>(output), linearize(to, shape),
                 body().emit(slice.update, slice.index, inside), inside);
      }
  }

  std::vector<size_t> outputs_of(uint32_t i) const {
    std::vector<size_t> found;
    for (size_t o = 0; o < group_.region.outputs().size(); ++o)
      if (group_.region.outputs()[o].result == i) found.push_back(o);
    return found;
  }

  bool has_more_outputs() const {
    const std::vector<Value>& outputs = group_.region.outputs();
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](Value v) { return rows_.carries[v.result] != Carry::kStack; });
  }

  // Results but the stacks, which are stored already. What is no row's the first workgroup's lanes
  // store.
  void finish_outputs() {
    for (uint32_t i = 0; i < rows_.carries.size(); ++i)
      for (size_t output : outputs_of(i)) {
        if (rows_.carries[i] == Carry::kRow) store_row(i, static_cast<uint32_t>(output));
        if (rows_.carries[i] == Carry::kCount) store_count(i, static_cast<uint32_t>(output));
        if (rows_.carries[i] == Carry::kSame) copy(i, static_cast<uint32_t>(output));
      }
  }

  void store_row(uint32_t i, uint32_t output) {
    const Shape& shape = loop_.types[i].shape;
    for (int64_t c = 0; c < rows_.chunks(shape.back()); ++c) {
      Guard inside = at_chunk(shape.back(), c);
      b_.store(output, linearize(own_place(shape.back()), shape), b_.read(carried_.at(i), c),
               inside);
    }
  }

  void store_count(uint32_t i, uint32_t output) {
    const RowLoop::RoundCount& count = rows_.counts.at(i);
    Guard first = b_.all_of({{IndexExpr(0) - group_index_}, {IndexExpr(0) - lane_}}, std::nullopt);
    Operand last =
        b_.convert(Operand::i32(count.start + count.step * rows_.rounds), loop_.types[i].dtype);
    b_.store(output, 0, last, first);
  }

  void copy(uint32_t i, uint32_t output) {
    const TensorType& type = loop_.types[i];
    IndexExpr at = b_.begin_serial("part", ceil_div(type.num_elements(), lanes_)) * lanes_ + lane_;
    Guard inside = b_.all_of(
        {{IndexExpr(0) - group_index_}, {IndexExpr(type.num_elements() - 1) - at}}, std::nullopt);
    IndexVector place = delinearize(group_.index, at, type.shape);
    b_.store(output, at, kernel_.emitter.emit(loop_.operands[i], place, inside), inside);
    b_.end();
  }

  // A value of the body that the kernel has.
  std::optional<Operand> value_of(Value v, const IndexVector& index, const Guard& guard) {
    const Node& node = body_graph_.node(v);
    if (node.op == Op::kDotGeneral) return sum_of(v, index);
    if (node.op != Op::kParameter) return std::nullopt;
    switch (rows_.carries[v.node]) {
      case Carry::kSame: return kernel_.emitter.emit(loop_.operands[v.node], index, guard);
      case Carry::kCount: {
        const RowLoop::RoundCount& count = rows_.counts.at(v.node);
        return b_.convert(b_.index(round_ * count.step + IndexExpr(count.start)),
                          node.types[0].dtype);
      }
      case Carry::kRow: return b_.read(carried_.at(v.node), chunk_);
      case Carry::kStack: break;
    }
    return std::nullopt;
  }

  std::optional<Operand> sum_of(Value v, const IndexVector& index) {
    for (size_t p = 0; p < rows_.products.size(); ++p)
      if (rows_.products[p].node == v.node && rows_.products[p].index == index)
        return b_.convert(b_.read(sums_[p], chunk_), body_graph_.type(v).dtype);
    return std::nullopt;
  }

  GroupContext& group_;
  const RowLoop& rows_;
  const Node& loop_;
  const Graph& body_graph_;
  const int64_t lanes_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
  std::vector<ValueEmitter> bodies_;  // by chunk: what it remembers is of the chunk's columns
  IndexExpr group_index_, lane_, round_;
  int64_t chunk_ = 0;
  std::map<uint32_t, uint32_t> carried_;  // carried value -> register array, an element a chunk
  std::vector<std::vector<uint32_t>> shared_;  // by vector: shared array of each chunk
  std::vector<uint32_t> sums_, weights_;       // by product: register arrays
};

}  // namespace

Result<LoweredGroup> lower_row_loop(GroupContext& group, const RowLoop& rows) {
  return one_step(RowLoopBuilder(group, rows).build());
}

}  // namespace tuff
