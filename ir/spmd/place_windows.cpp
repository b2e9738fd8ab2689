// Convolutions and windowed reductions over dimensions that are spread: neighbours exchange the
// edges of their parts.
#include "ir/rewrite.h"
#include "ir/spmd/halo.h"
#include "ir/spmd/partitioner.h"

namespace tuff::spmd {

namespace {

struct SpreadWindow {
  Window window;
  Halo halo;
  std::vector<int64_t> over;
  bool makes_shares = false;  // of the result; else parts
};

Value edge(Graph& graph, Value value, size_t d, int64_t first, int64_t count,
           const std::string& loc) {
  TensorType type = graph.type(value);
  SliceAttrs attrs{std::vector<int64_t>(type.shape.size(), 0), type.shape,
                   std::vector<int64_t>(type.shape.size(), 1)};
  attrs.start_indices[d] = first;
  attrs.limit_indices[d] = first + count;
  type.shape[d] = count;
  return add_op(graph, Op::kSlice, {value}, std::move(type), std::move(attrs), loc);
}

// `otherwise` on the device that has the given part.
Value unless_part(PartBuilder& builder, Graph& graph, int64_t part, Value otherwise, Value value,
                  const std::vector<int64_t>& over, const std::string& loc) {
  const TensorType type = graph.type(value);
  Value is = builder.has_part(part, over, type.shape, loc);
  otherwise = add_op(graph, Op::kBroadcastInDim, {otherwise}, type, BroadcastInDimAttrs{}, loc);
  return add_op(graph, Op::kSelect, {is, otherwise, value}, type, {}, loc);
}

// The part between its neighbours' edges; outside of the whole are zeros, or the initial value.
Value with_halo(PartBuilder& builder, Graph& graph, Value value, const SpreadWindow& spread,
                std::optional<Value> initial, const std::string& loc) {
  const size_t d = spread.window.input;
  const int64_t extent = graph.type(value).shape[d];
  std::vector<Value> pieces;
  auto add_neighbour = [&](int64_t first, int64_t count, int64_t by, int64_t last_part) {
    if (count == 0) return;
    Value piece = builder.shifted(edge(graph, value, d, first, count, loc), by, spread.over, loc);
    if (initial) piece = unless_part(builder, graph, last_part, *initial, piece, spread.over, loc);
    pieces.push_back(piece);
  };
  add_neighbour(extent - spread.halo.before, spread.halo.before, 1, 0);
  pieces.push_back(value);
  add_neighbour(0, spread.halo.behind, -1, builder.num_parts(spread.over) - 1);
  if (pieces.size() == 1) return value;
  TensorType type = graph.type(value);
  type.shape[d] += spread.halo.before + spread.halo.behind;
  return add_op(graph, Op::kConcatenate, std::move(pieces), std::move(type),
                ConcatenateAttrs{static_cast<int64_t>(d)}, loc);
}

// Not more than what gathering sends.
bool pays(const SpreadWindow& spread, int64_t parts, const TensorType& part,
          const TensorType& result) {
  const int64_t extent = part.shape[spread.window.input];
  int64_t edges = part.size_bytes() / extent * (spread.halo.before + spread.halo.behind);
  if (spread.makes_shares) edges += 2 * (result.size_bytes() / parts * (parts - 1));
  return edges <= part.size_bytes() * (parts - 1);
}

std::optional<SpreadWindow> spread_along(const Window& window, std::vector<int64_t> over,
                                         int64_t parts, const TensorType& part,
                                         const TensorType& result) {
  SpreadWindow spread{window, {}, std::move(over)};
  std::optional<Halo> halo = halo_of_outputs(window, parts);
  if (!halo) {
    spread.makes_shares = true;
    halo = halo_of_shares(window, parts);
  }
  if (!halo) return std::nullopt;
  spread.halo = *halo;
  return pays(spread, parts, part, result) ? std::optional(spread) : std::nullopt;
}

size_t count_inputs(const Node& node) {
  return node.op == Op::kReduceWindow ? node.operands.size() / 2 : 1;
}

// The node and its operands as they are with the halos.
void add_halos(PartBuilder& builder, Graph& graph, const std::vector<SpreadWindow>& spreads,
               size_t dimensions, Node* local) {
  const bool reduces = local->op == Op::kReduceWindow;
  const size_t inputs = count_inputs(*local);
  std::vector<Value>& operands = local->operands;
  for (const SpreadWindow& spread : spreads) {
    for (size_t i = 0; i < inputs; ++i)
      operands[i] =
          with_halo(builder, graph, operands[i], spread,
                    reduces ? std::optional(operands[inputs + i]) : std::nullopt, local->loc);
    std::vector<int64_t>& padding = reduces ? local->attrs.edit<WindowAttrs>().padding
                                            : local->attrs.edit<ConvolutionAttrs>().padding;
    if (padding.empty()) padding.assign(2 * dimensions, 0);
    padding[2 * spread.window.spatial] = spread.halo.padding_low;
    padding[2 * spread.window.spatial + 1] = spread.halo.padding_high;
  }
}

}  // namespace

Result<bool> Partitioner::place_windows(uint32_t id, const Share& share) {
  const Node& node = whole_.node(id);
  const std::vector<Window> windows = windows_of(whole_, node);
  if (windows.empty()) return false;
  std::vector<SpreadWindow> spreads;
  std::vector<Sharding> operands, results;
  for (size_t i = 0; i < node.operands.size(); ++i) operands.push_back(share.operand(i));
  for (size_t r = 0; r < node.types.size(); ++r) results.push_back(share.result(r));
  const Sharding& input = at(node.operands[0]).sharding;
  TUFF_ASSIGN(TensorType part,
              at_node(node, part_type(whole_type(node.operands[0]), input, mesh_)));
  for (const Window& window : windows) {
    const std::vector<int64_t>& over = input.axes[window.input];
    if (over.empty() || share.uses_any(over)) continue;
    auto found = spread_along(window, over, mesh_.num_parts(over), part, node.types[0]);
    if (!found) continue;
    for (size_t i = 0; i < count_inputs(node); ++i) operands[i].axes[window.input] = over;
    if (found->makes_shares)
      operands[1].axes[*window.kernel] = over;
    else
      for (Sharding& result : results) result.axes[window.output] = over;
    spreads.push_back(std::move(*found));
  }
  if (spreads.empty()) return false;

  Node local = node;
  for (size_t i = 0; i < operands.size(); ++i) {
    TUFF_ASSIGN(local.operands[i], spread(node, node.operands[i], operands[i]));
  }
  add_halos(builder_, out_, spreads, windows.size(), &local);
  Node whole = node;  // with the attributes that fit the parts
  whole.attrs = local.attrs;
  TUFF_ASSIGN(Value first, add_part(whole, std::move(local.operands), results));
  for (uint32_t r = 0; r < results.size(); ++r) {
    Value result = combined(node, share, {first.node, r});
    for (const SpreadWindow& spread : spreads)
      if (spread.makes_shares)
        result = builder_.all_reduce(result, Op::kAdd, spread.over, node.loc);
    placed_[id].push_back({result, std::move(results[r])});
  }
  return true;
}

}  // namespace tuff::spmd
