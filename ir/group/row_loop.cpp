#include "ir/group/row_loop.h"

#include <algorithm>
#include <set>

#include "ir/group/group_space.h"
#include "ir/ops/contraction.h"
#include "ir/ops/trip_count.h"
#include "ir/passes/group/group_table.h"
#include "ir/rewrite.h"
#include "ir/support/parts.h"

namespace tuff {

namespace {

using Carry = RowLoop::Carry;
using RoundCount = RowLoop::RoundCount;

// Beyond this many values at places of their own, a round is no small piece of work.
constexpr size_t kMostVisits = 512;
// Chunks of a row: a lane has an element of each.
constexpr int64_t kMostChunks = 8, kMostSoftwareChunks = 64;
// Elements of the products' weights that a lane holds. A software driver has them in memory, where
// they are as near as registers.
constexpr int64_t kMostSoftwareWeights = 2048;
// What a round takes for its two barriers, and for a step of a product.
constexpr double kRoundUs = 2, kStepUs = 0.01;
// Lanes of a GPU's workgroup, and about how many of them a large GPU runs at once.
constexpr int64_t kMostRowLanes = 256, kMostElementLanes = 128, kLanesAtOnce = 1 << 17;

// Small enough that sums of two are no overflow anywhere.
bool is_small(const RoundCount& count, int64_t rounds) {
  auto small = [](int64_t value) {
    return value > -(int64_t{1} << 30) && value < int64_t{1} << 30;
  };
  return small(count.start) && small(count.step) && small(count.start + count.step * rounds);
}

// Rank-0 integers of the body as counts of rounds.
class RoundCounts {
 public:
  RoundCounts(const Graph& body, int64_t rounds) : body_(body), rounds_(rounds) {}

  void set(uint32_t parameter, RoundCount count) { known_[parameter] = count; }
  std::optional<RoundCount> of(Value v) const {
    auto it = known_.find(v.node);
    return it == known_.end() ? std::nullopt : std::optional(it->second);
  }

  void find() {
    for (uint32_t id = body_.num_parameters(); id < body_.nodes().size(); ++id) {
      const Node& node = body_.node(id);
      if (node.types.size() != 1 || node.types[0].rank() != 0) continue;
      if (std::optional<RoundCount> count = compute(node)) known_[id] = *count;
    }
  }

 private:
  std::optional<RoundCount> compute(const Node& node) const {
    if (node.op == Op::kConstant) {
      const Literal& literal = node.attrs.as<ConstantAttrs>().value;
      if (!is_integer(literal.type().dtype)) return std::nullopt;
      return checked({literal.get_int(0), 0}, literal.type().dtype);
    }
    std::vector<RoundCount> in;
    for (Value v : node.operands) {
      std::optional<RoundCount> count = of(v);
      if (!count && node.op == Op::kSelect && in.empty()) return choose(node);
      if (!count) return std::nullopt;
      in.push_back(*count);
    }
    DType dtype = node.types[0].dtype;
    switch (node.op) {
      case Op::kAdd: return checked({in[0].start + in[1].start, in[0].step + in[1].step}, dtype);
      case Op::kSubtract:
        return checked({in[0].start - in[1].start, in[0].step - in[1].step}, dtype);
      case Op::kConvert: return checked(in[0], dtype);
      default: return std::nullopt;
    }
  }

  // By a comparison that comes out the same in all rounds: whether an index counts from the end.
  std::optional<RoundCount> choose(const Node& select) const {
    const Node& compare = body_.node(select.operands[0]);
    if (compare.op != Op::kCompare) return std::nullopt;
    std::optional<RoundCount> a = of(compare.operands[0]), b = of(compare.operands[1]);
    if (!a || !b ||
        compare.attrs.as<CompareAttrs>().comparison_direction != ComparisonDirection::kLt)
      return std::nullopt;
    int64_t first = a->start - b->start, last = first + (a->step - b->step) * (rounds_ - 1);
    if ((first < 0) != (last < 0)) return std::nullopt;
    return of(select.operands[first < 0 ? 1 : 2]);
  }

  // Positive where it must be.
  std::optional<RoundCount> checked(RoundCount count, DType dtype) const {
    if (!is_integer(dtype) || dtype_size(dtype) < 4 || !is_small(count, rounds_))
      return std::nullopt;
    bool positive = count.start >= 0 && count.start + count.step * rounds_ >= 0;
    return positive || !is_unsigned_int(dtype) ? std::optional(count) : std::nullopt;
  }

  const Graph& body_;
  const int64_t rounds_;
  std::map<uint32_t, RoundCount> known_;  // by node
};

// Finds one loop's rows. Lives for one call.
class RowLoopFinder {
 public:
  RowLoopFinder(IndexContext& context, const Graph& graph, const Node& loop, const Caps& caps)
      : context_(context),
        graph_(graph),
        loop_(loop),
        body_(*loop.regions[1]),
        caps_(caps),
        counts_(body_, *loop.attrs.as<WhileAttrs>().trip_count) {
    found_.rounds = *loop.attrs.as<WhileAttrs>().trip_count;
  }

  std::optional<RowLoop> find() {
    classify();
    if (!choose_rows() || !check_stacks()) return std::nullopt;
    find_same();
    for (uint32_t i = 0; i < found_.carries.size(); ++i)
      if (!follow_carry(i)) return std::nullopt;
    // More come to the end while these are followed.
    for (size_t i = 0; i < found_.vectors.size(); ++i)
      if (!follow_vector(i)) return std::nullopt;
    order_stages();
    found_.elementwise = found_.products.empty() && found_.columns.size() == 1;
    found_.lanes = choose_lanes();
    if (!is_worth_it()) return std::nullopt;
    return std::move(found_);
  }

 private:
  void classify() {
    for (uint32_t i = 0; i < body_.num_parameters(); ++i) {
      found_.carries.push_back(carry_of(i));
      if (found_.carries[i] == Carry::kCount) counts_.set(i, found_.counts.at(i));
    }
    counts_.find();
  }

  Carry carry_of(uint32_t i) {
    Value next = body_.outputs()[i];
    if (next == Value{i, 0}) {
      if (const Literal* start = same_scalar(i)) counts_.set(i, {start->get_int(0), 0});
      return Carry::kSame;
    }
    if (std::optional<RoundCount> count = count_of(i)) {
      found_.counts[i] = *count;
      return Carry::kCount;
    }
    const Node& node = body_.node(next);
    bool stacks = node.op == Op::kDynamicUpdateSlice && node.operands[0] == Value{i, 0};
    return stacks ? Carry::kStack : Carry::kRow;
  }

  // What a scalar starts as, where that is a known integer.
  const Literal* same_scalar(uint32_t i) const {
    const TensorType& type = body_.node(i).types[0];
    if (type.rank() != 0 || !is_integer(type.dtype) || dtype_size(type.dtype) < 4) return nullptr;
    return splat_value(graph_, loop_.operands[i]);
  }

  std::optional<RoundCount> count_of(uint32_t i) const {
    const Literal* start = same_scalar(i);
    std::optional<int64_t> step = start ? round_step(graph_, loop_, i) : std::nullopt;
    if (!step) return std::nullopt;
    RoundCount count{start->get_int(0), *step};
    return is_small(count, found_.rounds) ? std::optional(count) : std::nullopt;
  }

  // Those of what is carried from round to round.
  bool choose_rows() {
    bool any = false;
    for (uint32_t i = 0; i < found_.carries.size(); ++i) {
      if (found_.carries[i] != Carry::kRow) continue;
      Shape shape = body_.node(i).types[0].shape;
      if (shape.empty() || num_elements(shape) == 0) return false;
      add_length(shape.back());
      shape.pop_back();
      if (any && shape != found_.rows) return false;
      found_.rows = std::move(shape);
      any = true;
    }
    if (any) found_.row = space_vars(context_, found_.rows);
    return any;
  }

  void add_length(int64_t length) {
    if (!found_.columns.contains(length))
      found_.columns[length] = context_.symbol("column", 0, length - 1);
  }

  // The variables' element of a value [rows, length]; nothing of others.
  std::optional<IndexVector> own_place(Value v) {
    Shape shape = body_.type(v).shape;
    if (shape.empty() || shape.back() == 0) return std::nullopt;
    int64_t length = shape.back();
    shape.pop_back();
    if (shape != found_.rows) return std::nullopt;
    add_length(length);
    IndexVector place = found_.row;
    place.push_back(found_.columns.at(length));
    return place;
  }

  bool check_stacks() {
    std::vector<std::vector<uint32_t>> users = body_.users();
    for (uint32_t i = 0; i < found_.carries.size(); ++i)
      if (found_.carries[i] == Carry::kStack && !check_stack(i, users)) return false;
    return true;
  }

  // Each of its slices is stored once, and nothing else reads it.
  bool check_stack(uint32_t i, const std::vector<std::vector<uint32_t>>& users) {
    Value next = body_.outputs()[i];
    const Node& update = body_.node(next);
    const std::vector<Value>& outputs = body_.outputs();
    if (users[i].size() != 1 || !users[next.node].empty() ||
        std::count(outputs.begin(), outputs.end(), next) != 1 ||
        std::count(outputs.begin(), outputs.end(), Value{i, 0}) != 0 ||
        std::count(update.operands.begin(), update.operands.end(), Value{i, 0}) != 1)
      return false;
    const Shape& stack = body_.node(i).types[0].shape;
    Shape slice = body_.type(update.operands[1]).shape;
    if (stack.size() != found_.rows.size() + 2 || stack[0] != found_.rounds || slice[0] != 1 ||
        !std::equal(stack.begin() + 1, stack.end(), slice.begin() + 1) ||
        !std::equal(found_.rows.begin(), found_.rows.end(), stack.begin() + 1) || stack.back() == 0)
      return false;
    std::optional<RoundCount> at = counts_.of(update.operands[2]);
    bool up = at && at->start == 0 && at->step == 1;
    bool down = at && at->start == found_.rounds - 1 && at->step == -1;
    add_length(stack.back());
    IndexVector index{0};
    index.insert(index.end(), found_.row.begin(), found_.row.end());
    index.push_back(found_.columns.at(stack.back()));
    found_.slices[i] = {update.operands[1], std::move(index), at.value_or(RoundCount())};
    return up || down || (at && at->start == 0 && found_.rounds == 1);
  }

  // What is the same in all rounds and can be computed wherever it is read.
  void find_same() {
    same_.resize(body_.nodes().size());
    for (uint32_t id = 0; id < same_.size(); ++id) {
      const Node& node = body_.node(id);
      if (node.op == Op::kParameter) {
        same_[id] = found_.carries[id] == Carry::kSame;
      } else if (node.op == Op::kConstant) {
        same_[id] = is_leaf(node) || node.attrs.as<ConstantAttrs>().value.is_splat();
      } else {
        same_[id] = (is_leaf(node) || is_free_view(body_, node) || is_elementwise(node.op)) &&
                    std::all_of(node.operands.begin(), node.operands.end(),
                                [&](Value v) { return same_[v.node]; });
      }
    }
  }

  bool follow_carry(uint32_t i) {
    switch (found_.carries[i]) {
      case Carry::kSame:
      case Carry::kCount: return true;
      case Carry::kRow: return follow(body_.outputs()[i], *own_place(body_.outputs()[i]), i);
      case Carry::kStack: return follow(found_.slices.at(i).update, found_.slices.at(i).index, i);
    }
    return false;
  }

  bool follow_vector(size_t i) {
    Value v = found_.vectors[i].value;
    if (is_carried(v)) return true;
    return follow(v, *own_place(v), found_.carries.size() + i);
  }

  bool is_carried(Value v) const {
    return v.node < body_.num_parameters() && found_.carries[v.node] == Carry::kRow;
  }

  // All that the value's element is computed from. Products are noted for `root`.
  bool follow(Value v, const IndexVector& place, size_t root) {
    int64_t length = body_.type(v).shape.back();
    std::vector<std::pair<Value, IndexVector>> pending{{v, place}};
    std::set<std::pair<Value, IndexVector>> seen;
    while (!pending.empty()) {
      auto at = std::move(pending.back());
      pending.pop_back();
      if (!seen.insert(at).second) continue;
      if (seen.size() > kMostVisits || !demand(at.first, at.second, root, length, pending))
        return false;
    }
    visits_ += static_cast<int64_t>(seen.size());
    return true;
  }

  bool demand(Value v, const IndexVector& index, size_t root, int64_t length,
              std::vector<std::pair<Value, IndexVector>>& pending) {
    const Node& node = body_.node(v);
    if (same_[v.node] || counts_.of(v)) {
      if (!is_leaf(node) && !index.empty()) found_.loads.push_back({root, v, index});
      return true;
    }
    if (node.op == Op::kParameter)
      return found_.carries[v.node] == Carry::kRow && index == own_place(v);
    if (node.op == Op::kDotGeneral) return demand_product(v.node, index, root, length);
    if (is_free_view(body_, node)) {
      std::vector<Shape> shapes;
      for (Value operand : node.operands) shapes.push_back(body_.type(operand).shape);
      for (ViewSource& source : view_sources(context_, node, shapes, index))
        pending.emplace_back(node.operands[source.operand], std::move(source.index));
      return true;
    }
    if (node.op == Op::kDynamicSlice || node.op == Op::kGather)
      return demand_load(v, index, root, pending);
    if (!is_elementwise(node.op)) return false;
    for (Value operand : node.operands)
      pending.emplace_back(operand, body_.type(operand).rank() == 0 ? IndexVector{} : index);
    return true;
  }

  bool demand_load(Value v, const IndexVector& index, size_t root,
                   std::vector<std::pair<Value, IndexVector>>& pending) {
    const Node& node = body_.node(v);
    if (!same_[node.operands[0].node]) return false;
    IndexedLoad load = indexed_load(body_, node, index);
    bool known = true;  // where to read, as the round begins
    for (size_t i = 0; i < load.start_operand.size(); ++i) {
      Value start = node.operands[load.start_operand[i]];
      known = known && (same_[start.node] || counts_.of(start));
      pending.emplace_back(start, load.start_index[i]);
    }
    if (known) found_.loads.push_back({root, v, index});
    return true;
  }

  bool demand_product(uint32_t id, const IndexVector& index, size_t root, int64_t length) {
    auto known =
        std::find_if(found_.products.begin(), found_.products.end(),
                     [&](const RowLoop::Product& p) { return p.node == id && p.index == index; });
    if (known != found_.products.end()) {
      found_.needs.emplace_back(root, static_cast<size_t>(known - found_.products.begin()));
      return true;
    }
    const Node& node = body_.node(id);
    DType dtype = node.types[0].dtype;
    if (!is_float(dtype) && !is_integer(dtype)) return false;
    for (size_t side : {0, 1}) {
      std::optional<RowLoop::Product> product = product_of(id, index, side);
      if (!product) continue;
      product->length = length;
      found_.needs.emplace_back(root, found_.products.size());
      found_.products.push_back(std::move(*product));
      return true;
    }
    return false;
  }

  // The product where operand `side` is a row's and the other one does not change.
  std::optional<RowLoop::Product> product_of(uint32_t id, const IndexVector& index, size_t side) {
    const Node& node = body_.node(id);
    Value own = node.operands[side], weights = node.operands[1 - side];
    DotDims dims =
        dot_dims(node, body_.type(node.operands[0]).rank(), body_.type(node.operands[1]).rank());
    const std::vector<int64_t>& contracted = side == 0 ? dims.lhs_contract : dims.rhs_contract;
    if (!same_[weights.node] || contracted.size() != 1) return std::nullopt;
    RowLoop::Product product;
    product.node = id;
    product.index = index;
    product.weights_operand = 1 - side;
    product.depth = body_.type(own).shape[static_cast<size_t>(contracted[0])];
    if (product.depth == 0) return std::nullopt;
    product.k = context_.symbol("k", 0, product.depth - 1);
    product.weights = dot_operand_index(dims, 1 - side, index, {product.k});
    IndexVector place = dot_operand_index(dims, side, index, {product.k});
    std::optional<size_t> vector = vector_of(own, std::move(place), product);
    if (!vector) return std::nullopt;
    product.vector = *vector;
    return product;
  }

  // The vector whose elements, one after another, are those of the operand.
  std::optional<size_t> vector_of(Value v, IndexVector place, const RowLoop::Product& product) {
    while (is_free_view(body_, body_.node(v)) && !same_[v.node]) {
      const Node& view = body_.node(v);
      if (view.operands.size() != 1) return std::nullopt;
      ViewSource source =
          view_sources(context_, view, {body_.type(view.operands[0]).shape}, place)[0];
      v = view.operands[0];
      place = std::move(source.index);
    }
    IndexVector wanted = found_.row;
    wanted.push_back(product.k);
    Shape shape = found_.rows;
    shape.push_back(product.depth);
    if (place != wanted || body_.type(v).shape != shape) return std::nullopt;
    add_length(product.depth);
    for (size_t i = 0; i < found_.vectors.size(); ++i)
      if (found_.vectors[i].value == v) return i;
    found_.vectors.push_back({v, product.depth, 0});
    return found_.vectors.size() - 1;
  }

  // A vector is known after the products that it is computed from; operands come before results.
  void order_stages() {
    std::vector<size_t> order(found_.vectors.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return found_.vectors[a].value.node < found_.vectors[b].value.node;
    });
    for (size_t i : order) {
      RowLoop::Vector& vector = found_.vectors[i];
      vector.stage = is_carried(vector.value) ? -1 : 0;
      for (auto [root, product] : found_.needs)
        if (root == found_.carries.size() + i)
          vector.stage =
              std::max(vector.stage, found_.vectors[found_.products[product].vector].stage + 1);
    }
    for (const RowLoop::Vector& vector : found_.vectors)
      found_.stages = std::max(found_.stages, vector.stage + 1);
  }

  int64_t choose_lanes() const {
    int64_t subgroup = std::max<int64_t>(caps_.subgroup_size, 4);
    if (!is_gpu(caps_)) return subgroup;
    int64_t most = std::min(found_.elementwise ? kMostElementLanes : kMostRowLanes,
                            caps_.max_group_invocations);
    int64_t wanted = found_.elementwise ? found_.elements() : found_.longest();
    return subgroup * std::clamp<int64_t>(ceil_div(wanted, subgroup), 1, most / subgroup);
  }

  bool is_worth_it() const {
    int64_t weights = 0, depth = 0;
    for (const RowLoop::Product& product : found_.products) {
      weights += product.depth * found_.chunks(product.length);
      depth += product.depth;
    }
    bool gpu = is_gpu(caps_);
    int64_t chunks = found_.chunks(found_.longest());
    if (weights > (gpu ? caps_.lane_registers / 2 : kMostSoftwareWeights) ||
        chunks > (gpu ? kMostChunks : kMostSoftwareChunks) ||
        visits_ * chunks > kMaxLoopStatements ||
        found_.rounds + weights > caps_.max_loop_iterations)
      return false;
    if (!gpu) return true;
    // Of more rows than the device has room for, short ones would leave most lanes idle.
    int64_t lanes = found_.workgroups() * found_.lanes;
    if (!found_.elementwise && lanes > kLanesAtOnce && 2 * found_.longest() < found_.lanes)
      return false;
    auto turns = static_cast<double>(ceil_div(lanes, kLanesAtOnce));
    double round = kRoundUs + kStepUs * static_cast<double>(depth + visits_ * chunks);
    return turns * round * static_cast<double>(found_.rounds) <= 1e3 * kMaxDispatchMs;
  }

  IndexContext& context_;
  const Graph& graph_;
  const Node& loop_;
  const Graph& body_;
  const Caps& caps_;
  RoundCounts counts_;
  RowLoop found_;
  std::vector<bool> same_;  // by node
  int64_t visits_ = 0;      // values that a round computes for a column
};

// As many as a kernel's buffers: one for each operand, and result.
bool has_few_buffers(const Node& loop, const Caps& caps) {
  return static_cast<int64_t>(loop.operands.size() + loop.types.size()) <= kernel_buffers(caps);
}

}  // namespace

std::optional<RowLoop> find_row_loop(IndexContext& context, const Graph& graph, const Node& loop,
                                     const Caps& caps) {
  if (loop.op != Op::kWhile || caps.library_calls || loop.types.empty()) return std::nullopt;
  const std::optional<int64_t>& count = loop.attrs.as<WhileAttrs>().trip_count;
  if (!count || *count < 1 || *count >= std::min<int64_t>(caps.max_loop_iterations, INT32_MAX))
    return std::nullopt;
  for (const GraphPtr& region : loop.regions)
    if (region->has_side_effects()) return std::nullopt;
  constexpr int64_t kMostElements = int64_t{1} << 29;
  for (const TensorType& type : loop.types)
    if (type.num_elements() > kMostElements) return std::nullopt;
  if (!has_few_buffers(loop, caps)) return std::nullopt;
  return RowLoopFinder(context, graph, loop, caps).find();
}

}  // namespace tuff
