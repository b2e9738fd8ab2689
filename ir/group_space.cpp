#include "ir/group_space.h"

#include <algorithm>
#include <set>

#include "ir/contraction.h"

namespace tuff {

namespace {

constexpr const char* kKindNames[] = {"map", "rows", "matmul", "convolution"};
constexpr int64_t kMaxLeafElements = 16;

IndexVector space_vars(IndexContext& context, const Shape& dims) {
  IndexVector vars;
  for (size_t i = 0; i < dims.size(); ++i)
    vars.push_back(context.symbol("d" + std::to_string(i), 0, std::max<int64_t>(dims[i] - 1, 0)));
  return vars;
}

// Index of `shape` that names the same element as `vars` of `dims`, when the two
// differ by unit dimensions only.
std::optional<IndexVector> match_shape(const Shape& dims, const IndexVector& vars, const Shape& shape) {
  IndexVector index(shape.size());
  size_t j = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    while (j < dims.size() && dims[j] == 1) ++j;
    if (j == dims.size() || dims[j] != shape[i]) return std::nullopt;
    index[i] = vars[j++];
  }
  while (j < dims.size() && dims[j] == 1) ++j;
  if (j != dims.size()) return std::nullopt;
  return index;
}

// Computes one group's space. Lives for one call.
class SpaceFinder {
 public:
  SpaceFinder(IndexContext& context, const GroupView& view) : context_(context), view_(view) {}

  GroupSpaceResult find() {
    if (!choose_hero() || !place_outputs() || !check_demands()) return {std::nullopt, why_};
    return {std::move(space_), {}};
  }

 private:
  const Graph& graph() const { return *view_.graph; }
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool choose_hero() {
    for (uint32_t id : view_.members)
      if (is_anchor(graph().node(id).op)) space_.anchors.push_back(id);
    if (space_.anchors.empty()) return choose_map_space();
    const Node& first = graph().node(space_.anchors[0]);
    if (first.op != Op::kReduce) {
      if (space_.anchors.size() > 1) return fail("two anchors");
      space_.kind = first.op == Op::kDotGeneral ? GroupKind::kMatmul : GroupKind::kConvolution;
      set_dims(first.types[0].shape);
      space_.anchor_places[space_.anchors[0]] = {space_.vars, true};
      return true;
    }
    return choose_row_space(first);
  }

  void set_dims(const Shape& dims) {
    space_.dims = dims;
    space_.reduced.assign(dims.size(), false);
    space_.vars = space_vars(context_, dims);
  }

  bool choose_map_space() {
    space_.kind = GroupKind::kMap;
    const Value* hero = nullptr;
    for (const Value& v : view_.outputs)
      if (!hero || graph().type(v).num_elements() > graph().type(*hero).num_elements()) hero = &v;
    set_dims(graph().type(*hero).shape);
    return true;
  }

  bool choose_row_space(const Node& first) {
    space_.kind = GroupKind::kRows;
    set_dims(graph().type(first.operands[0]).shape);
    for (int64_t d : first.attrs.get_ints("dimensions")) space_.reduced[static_cast<size_t>(d)] = true;
    IndexVector rows;
    for (size_t i = 0; i < space_.dims.size(); ++i)
      if (!space_.reduced[i]) rows.push_back(space_.vars[i]);
    for (uint32_t id : space_.anchors) {
      const Node& reduce = graph().node(id);
      if (reduce.op != Op::kReduce) return fail("a reduce beside another anchor");
      if (graph().type(reduce.operands[0]).shape != space_.dims ||
          reduce.attrs.get_ints("dimensions") != first.attrs.get_ints("dimensions"))
        return fail("reduces over different rows");
      space_.anchor_places[id] = {rows, false};
    }
    return true;
  }

  // Where a value stands, if that follows from the anchors or from its shape.
  const std::optional<Place>& place(Value v) {
    auto [it, fresh] = places_.try_emplace(v.node);
    if (fresh) {
      std::optional<Place> found = compute_place(v.node);
      it = places_.find(v.node);
      it->second = std::move(found);
    }
    return it->second;
  }

  std::optional<Place> compute_place(uint32_t id) {
    if (auto it = space_.anchor_places.find(id); it != space_.anchor_places.end()) return it->second;
    const Node& node = graph().node(id);
    if (!view_.is_member(id) || node.types.size() != 1) return std::nullopt;
    if (is_free_view(graph(), node)) return place_of_view(node);
    if (!is_elementwise(node.op)) return place_by_shape(node);
    std::optional<Place> row;
    for (Value operand : node.operands) {
      const std::optional<Place>& p = place(operand);
      if (!p || graph().type(operand).shape != node.types[0].shape) continue;
      if (p->full) return p;
      row = p;
    }
    std::optional<Place> by_shape = place_by_shape(node);
    return by_shape ? by_shape : row;
  }

  std::optional<Place> place_of_view(const Node& node) {
    const std::optional<Place> source = place(node.operands[0]);
    if (source) {
      auto index = forward_view(context_, node, graph().type(node.operands[0]).shape, source->index);
      if (index) return Place{std::move(*index), source->full};
    }
    return place_by_shape(node);
  }

  std::optional<Place> place_by_shape(const Node& node) {
    auto index = match_shape(space_.dims, space_.vars, node.types[0].shape);
    if (!index) return std::nullopt;
    return Place{std::move(*index), true};
  }

  bool place_outputs() {
    for (Value v : view_.outputs) {
      std::optional<Place> p = place(v);
      if (!p) p = place_parameter(v);
      if (!p) return fail("an output has no place in the space");
      if (!p->full && space_.kind != GroupKind::kRows) return fail("an output is smaller than the space");
      space_.outputs.push_back(*p);
    }
    return true;
  }

  // A copy: the output is an external value or a leaf itself.
  std::optional<Place> place_parameter(Value v) {
    if (space_.kind != GroupKind::kMap) return std::nullopt;
    return place_by_shape(graph().node(v));
  }

  bool check_demands() {
    for (uint32_t id : space_.anchors)
      if (!demand_anchor_inputs(graph().node(id))) return false;
    for (size_t i = 0; i < view_.outputs.size(); ++i)
      if (!demand(view_.outputs[i], space_.outputs[i].index)) return false;
    return true;
  }

  bool demand_anchor_inputs(const Node& node) {
    if (node.op != Op::kReduce) return demand_contraction_inputs(node);
    size_t n = node.operands.size() / 2;
    for (size_t i = 0; i < n; ++i)
      if (!demand(node.operands[i], space_.vars) || !demand(node.operands[n + i], {})) return false;
    return true;
  }

  // Operands of dots and convolutions are read many times over, so only views
  // and conversions of external values may stand in their loads.
  bool demand_contraction_inputs(const Node& node) {
    for (Value operand : node.operands) {
      Value v = operand;
      while (view_.is_member(v.node) && (is_free_view(graph(), graph().node(v)) ||
                                         graph().node(v).op == Op::kConvert)) {
        const Node& view = graph().node(v);
        if (view.op == Op::kConcatenate) return fail("a concatenate in a contraction's load");
        v = view.operands[0];
      }
      if (view_.is_member(v.node) && !is_leaf(graph().node(v))) return fail("work in a contraction's load");
    }
    return true;
  }

  bool demand(Value v, const IndexVector& index) {
    if (!view_.is_member(v.node)) return true;
    if (auto it = space_.anchor_places.find(v.node); it != space_.anchor_places.end())
      return index == it->second.index || fail("a reduce or dot is needed at another place");
    if (!seen_.emplace(v.node, index).second) return true;
    if (seen_.size() > 16 * view_.members.size() + 256) return fail("too much is recomputed");
    const Node& node = graph().node(v);
    if (is_leaf(node)) return true;
    if (is_free_view(graph(), node)) return demand_view(node, index);
    if (is_indexed_load(node.op)) return demand_indexed(node, index);
    if (!is_elementwise(node.op)) return fail(std::string(op_name(node.op)) + " has no kernel family");
    for (Value operand : node.operands)
      if (!demand(operand, graph().type(operand).rank() == 0 ? IndexVector{} : index)) return false;
    return true;
  }

  bool demand_view(const Node& node, const IndexVector& index) {
    std::vector<Shape> shapes;
    for (Value operand : node.operands) shapes.push_back(graph().type(operand).shape);
    for (const ViewSource& source : view_sources(context_, node, shapes, index))
      if (!demand(node.operands[source.operand], source.index)) return false;
    return true;
  }

  bool demand_indexed(const Node& node, const IndexVector& index) {
    IndexedLoad load = indexed_load(graph(), node, index);
    for (size_t i = 0; i < load.start_operand.size(); ++i)
      if (!demand(node.operands[load.start_operand[i]], load.start_index[i])) return false;
    Value operand = node.operands[0];
    if (view_.is_member(operand.node) && !is_leaf(graph().node(operand)) &&
        !is_free_view(graph(), graph().node(operand)))
      return fail("an indexed load of a value computed in the group");
    return demand(operand, load.base);
  }

  IndexContext& context_;
  const GroupView& view_;
  GroupSpace space_;
  std::map<uint32_t, std::optional<Place>> places_;
  std::set<std::pair<uint32_t, IndexVector>> seen_;
  std::string why_;
};

}  // namespace

const char* group_kind_name(GroupKind kind) { return kKindNames[static_cast<int>(kind)]; }

std::optional<GroupKind> parse_group_kind(const std::string& name) {
  for (int i = 0; i < 4; ++i)
    if (name == kKindNames[i]) return static_cast<GroupKind>(i);
  return std::nullopt;
}

bool is_leaf(const Node& node) {
  if (node.op == Op::kIota) return true;
  return node.op == Op::kConstant && node.types[0].num_elements() <= kMaxLeafElements;
}

bool is_free_view(const Graph& graph, const Node& node) {
  if (!is_view(node.op)) return false;
  return node.op != Op::kBitcastConvert ||
         graph.type(node.operands[0]).shape == node.types[0].shape;
}

bool is_anchor(Op op) { return op == Op::kReduce || op == Op::kDotGeneral || op == Op::kConvolution; }
bool is_indexed_load(Op op) { return op == Op::kGather || op == Op::kDynamicSlice; }

GroupSpaceResult find_group_space(IndexContext& context, const GroupView& view) {
  return SpaceFinder(context, view).find();
}

namespace {

// StableHLO specification, "dynamic_slice": starts are clamped to keep the slice inside.
IndexedLoad dynamic_slice_load(const Graph& graph, const Node& node, const IndexVector& index) {
  IndexedLoad load;
  const Shape& operand = graph.type(node.operands[0]).shape;
  for (size_t d = 0; d < operand.size(); ++d) {
    load.base.push_back(index[d]);
    int64_t max = operand[d] - node.types[0].shape[d];
    if (max == 0) continue;
    load.start_operand.push_back(static_cast<uint32_t>(1 + d));
    load.start_index.push_back({});
    load.start_dim.push_back(static_cast<int64_t>(d));
    load.start_max.push_back(max);
  }
  return load;
}

bool contains(const std::vector<int64_t>& values, int64_t v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// StableHLO specification, "gather": batch dimensions of the result address
// start_indices, offset dimensions address the slice.
IndexedLoad gather_load(const Graph& graph, const Node& node, const IndexVector& index) {
  const Attrs& attrs = node.attrs;
  const Shape& operand = graph.type(node.operands[0]).shape;
  const Shape& starts = graph.type(node.operands[1]).shape;
  const auto& offset_dims = attrs.get_ints("offset_dims");
  const auto& collapsed = attrs.get_ints("collapsed_slice_dims");
  const auto& operand_batch = attrs.get_ints("operand_batching_dims");
  const auto& starts_batch = attrs.get_ints("start_indices_batching_dims");
  const auto& start_map = attrs.get_ints("start_index_map");
  const auto& sizes = attrs.get_ints("slice_sizes");
  int64_t vector_dim = attrs.get_int("index_vector_dim");
  IndexVector batch, offset;
  for (size_t d = 0; d < index.size(); ++d)
    (contains(offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(index[d]);

  IndexedLoad load;
  size_t next_offset = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.size()); ++d) {
    if (contains(collapsed, d)) {
      load.base.push_back(0);
    } else if (contains(operand_batch, d)) {
      auto k = std::find(operand_batch.begin(), operand_batch.end(), d) - operand_batch.begin();
      int64_t dim = starts_batch[static_cast<size_t>(k)];
      load.base.push_back(batch[static_cast<size_t>(dim > vector_dim ? dim - 1 : dim)]);
    } else {
      load.base.push_back(offset[next_offset++]);
    }
  }
  for (size_t c = 0; c < start_map.size(); ++c) {
    auto d = static_cast<size_t>(start_map[c]);
    int64_t max = operand[d] - sizes[d];
    if (max == 0) continue;
    IndexVector at = batch;
    if (vector_dim < static_cast<int64_t>(starts.size()))
      at.insert(at.begin() + vector_dim, IndexExpr(static_cast<int64_t>(c)));
    load.start_operand.push_back(1);
    load.start_index.push_back(std::move(at));
    load.start_dim.push_back(static_cast<int64_t>(d));
    load.start_max.push_back(max);
  }
  return load;
}

}  // namespace

IndexedLoad indexed_load(const Graph& graph, const Node& node, const IndexVector& index) {
  return node.op == Op::kGather ? gather_load(graph, node, index) : dynamic_slice_load(graph, node, index);
}

}  // namespace tuff
