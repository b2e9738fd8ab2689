#include "ir/group/group_space.h"

#include <algorithm>
#include <set>

#include "ir/group/group_demands.h"
#include "ir/group/row_loop.h"
#include "ir/ops/trip_count.h"

namespace tuff {

namespace {

constexpr int64_t kMaxLeafElements = 16;

// Index of `shape` that names the same element as `vars` of `dims`, when the two
// differ by unit dimensions only.
std::optional<IndexVector> match_shape(const Shape& dims, const IndexVector& vars,
                                       const Shape& shape) {
  IndexVector index(shape.size());
  // Of an open space (see LeadingUnit) this is a variable.
  if (!dims.empty() && !shape.empty() && dims[0] == 1 && shape[0] == 1) index[0] = vars[0];
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
  SpaceFinder(IndexContext& context, const GroupView& view, LeadingUnit unit)
      : context_(context), view_(view), unit_(unit) {}

  GroupSpaceResult find() {
    for (uint32_t id : view_.members)
      if (is_anchor(graph().node(id).op)) space_.anchors.push_back(id);
    if (space_.anchors.empty()) return find_map_space();
    if (!choose_hero() || !place_outputs() || !meets_demands()) return {std::nullopt, why_};
    return {std::move(space_), {}};
  }

 private:
  const Graph& graph() const { return *view_.graph; }
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool choose_hero() {
    if (view_.attention) return choose_attention_space(*view_.attention);
    const Node& first = graph().node(space_.anchors[0]);
    if (first.op != Op::kReduce) {
      if (space_.anchors.size() > 1) return fail("two anchors");
      space_.kind = group_kind_of(first.op);
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

  // Before any of the variables is used.
  void open_leading_unit() {
    space_.open = unit_ == LeadingUnit::kOpen && space_.dims.size() > 1 && space_.dims[0] == 1 &&
                  !space_.reduced[0];
    if (space_.open) space_.vars[0] = context_.open_symbol("d0");
  }

  // Outputs are placed forward from the space alone, so any of the largest outputs may be
  // the one that makes the others' places known.
  GroupSpaceResult find_map_space() {
    std::string why;
    for (const Shape& dims : largest_shapes()) {
      space_ = {};
      places_.clear();
      set_dims(dims);
      if (place_outputs() && meets_demands()) return {std::move(space_), {}};
      if (why.empty()) why = why_;
    }
    return {std::nullopt, why};
  }

  // Of the outputs with the most elements to store, each once.
  std::vector<Shape> largest_shapes() const {
    std::vector<Shape> shapes;
    for (Value v : view_.outputs) {
      Value stored = is_window_output(view_, v) ? graph().node(v).operands[1] : v;
      const Shape& shape = graph().type(stored).shape;
      int64_t best = shapes.empty() ? -1 : num_elements(shapes[0]);
      if (num_elements(shape) > best) shapes.clear();
      if (num_elements(shape) < best || std::count(shapes.begin(), shapes.end(), shape)) continue;
      shapes.push_back(shape);
    }
    return shapes;
  }

  bool choose_row_space(const Node& first) {
    space_.kind = GroupKind::kRows;
    set_dims(graph().type(first.operands[0]).shape);
    for (int64_t d : first.attrs.as<DimensionsAttrs>().dimensions)
      space_.reduced[static_cast<size_t>(d)] = true;
    open_leading_unit();
    IndexVector rows;
    for (size_t i = 0; i < space_.dims.size(); ++i)
      if (!space_.reduced[i]) rows.push_back(space_.vars[i]);
    for (uint32_t id : space_.anchors) {
      const Node& reduce = graph().node(id);
      if (reduce.op != Op::kReduce) return fail("a reduce beside another anchor");
      if (graph().type(reduce.operands[0]).shape != space_.dims ||
          reduce.attrs.as<DimensionsAttrs>().dimensions !=
              first.attrs.as<DimensionsAttrs>().dimensions)
        return fail("reduces over different rows");
      space_.anchor_places[id] = {rows, false};
    }
    return true;
  }

  bool choose_attention_space(const Attention& nodes) {
    set_dims(graph().node(nodes.values).types[0].shape);
    space_.kind = GroupKind::kAttention;
    open_leading_unit();
    space_.attention = find_attention_space(context_, graph(), nodes, space_.vars, why_);
    if (!space_.attention) return false;
    if (std::set<uint32_t>{nodes.scores, nodes.max, nodes.sum, nodes.values} !=
        std::set<uint32_t>(space_.anchors.begin(), space_.anchors.end()))
      return fail("other anchors than an attention's");
    Place row{space_.attention->row, false};
    space_.anchor_places[nodes.max] = space_.anchor_places[nodes.sum] = row;
    space_.anchor_places[nodes.scores] = {space_.attention->scores, false};
    space_.anchor_places[nodes.values] = {space_.vars, true};
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
    if (auto it = space_.anchor_places.find(id); it != space_.anchor_places.end())
      return it->second;
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
      auto index =
          forward_view(context_, node, graph().type(node.operands[0]).shape, source->index);
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
      std::optional<Place> p = is_window_output(view_, v) ? place_window(v) : place(v);
      if (!p) p = place_parameter(v);
      if (!p) return fail("an output has no place in the space");
      if (!p->full && space_.kind != GroupKind::kRows)
        return fail("an output is smaller than the space");
      space_.outputs.push_back(*p);
    }
    return true;
  }

  std::optional<Place> place_window(Value v) {
    Value update = graph().node(v).operands[1];
    std::optional<Place> p = place(update);
    if (!p)
      if (auto index = match_shape(space_.dims, space_.vars, graph().type(update).shape))
        p = Place{std::move(*index), true};
    if (p) p->window = true;
    return p;
  }

  bool meets_demands() {
    if (why_ = unmet_demand(context_, view_, space_); why_.empty()) return true;
    return false;
  }

  // A copy: the output is an external value or a leaf itself.
  std::optional<Place> place_parameter(Value v) {
    if (space_.kind != GroupKind::kMap) return std::nullopt;
    return place_by_shape(graph().node(v));
  }

  IndexContext& context_;
  const GroupView& view_;
  const LeadingUnit unit_;
  GroupSpace space_;
  std::map<uint32_t, std::optional<Place>> places_;
  std::string why_;
};

}  // namespace

namespace {

// The group's outputs, other than `window` itself, or what `window` is computed from
// read a value.
bool reads(const GroupView& view, Value window, Value wanted) {
  const std::vector<Value>& operands = view.graph->node(window).operands;
  std::vector<Value> stack(operands.begin() + 1, operands.end());
  for (Value v : view.outputs)
    if (v != window) stack.push_back(v);
  std::set<Value> seen;
  while (!stack.empty()) {
    Value v = stack.back();
    stack.pop_back();
    if (v == wanted) return true;
    if (!seen.insert(v).second || !view.is_member(v.node)) continue;
    const std::vector<Value>& more = view.graph->node(v).operands;
    stack.insert(stack.end(), more.begin(), more.end());
  }
  return false;
}

}  // namespace

bool is_window_output(const GroupView& view, Value v) {
  const Node& node = view.graph->node(v);
  if (node.op != Op::kDynamicUpdateSlice || !view.is_member(v.node)) return false;
  if (view.is_member(node.operands[0].node)) return false;
  if (view.graph->type(node.operands[1]).num_elements() == 0) return false;
  return !reads(view, v, v) && !reads(view, v, node.operands[0]);
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

GroupKind group_kind_of(Op op) {
#define FAMILY(kind, name, takes, work, call, kernels, ...) \
  for (Op anchor : std::initializer_list<Op>{__VA_ARGS__})  \
    if (op == anchor) return GroupKind::kind;
#include "ir/group/family.def"
  return GroupKind::kMap;
}

namespace {

// No device that says how far its loops run says more than this.
constexpr int64_t kUnlimitedIterations = int64_t{1} << 31;

bool computes_with_scalars(const Graph& region, const Caps& caps) {
  return std::all_of(region.nodes().begin(), region.nodes().end(), [&](const Node& node) {
    if (node.op == Op::kWhile)
      return caps.max_loop_iterations >= kUnlimitedIterations && is_scalar_loop(node, caps);
    bool known = is_elementwise(node.op) || node.op == Op::kParameter || node.op == Op::kConstant;
    return known && node.types[0].rank() == 0;
  });
}

}  // namespace

bool is_scalar_loop(const Node& node, const Caps& caps) {
  if (node.op != Op::kWhile || node.types.empty()) return false;
  std::optional<int64_t> count = node.attrs.as<WhileAttrs>().trip_count;
  bool counted = count && *count < std::min(caps.max_loop_iterations, kUnlimitedIterations);
  return (counted || caps.max_loop_iterations >= kUnlimitedIterations) &&
         computes_with_scalars(*node.regions[0], caps) &&
         computes_with_scalars(*node.regions[1], caps);
}

bool is_kernel_loop(const Graph& graph, const Node& node, const Caps& caps) {
  IndexContext context;
  return is_scalar_loop(node, caps) || find_row_loop(context, graph, node, caps);
}

bool is_anchor(Op op) { return group_kind_of(op) != GroupKind::kMap; }
bool is_indexed_load(Op op) {
  return op == Op::kGather || op == Op::kDynamicSlice || op == Op::kDynamicUpdateSlice;
}

IndexVector space_vars(IndexContext& context, const Shape& dims) {
  IndexVector vars;
  for (size_t i = 0; i < dims.size(); ++i)
    vars.push_back(context.symbol("d" + std::to_string(i), 0, std::max<int64_t>(dims[i] - 1, 0)));
  return vars;
}

GroupSpaceResult find_group_space(IndexContext& context, const GroupView& view, LeadingUnit unit) {
  return SpaceFinder(context, view, unit).find();
}

}  // namespace tuff
