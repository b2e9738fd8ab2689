// Joining: each node tries to enter the group of one of its operands.
#include <algorithm>
#include <set>

#include "ir/group/strided_attention.h"
#include "ir/ops/window.h"
#include "ir/passes/composites.h"
#include "ir/passes/group/group_order.h"
#include "ir/passes/group/group_table.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

namespace {

// An attention kernel holds a row of results in the registers of a lane, and gives each
// row a lane: it wants rows for a few lanes, and rows that are not too long. On GPUs whose
// workgroups have room for tiles, many lanes share a row.
constexpr int64_t kMinAttentionRows = 4, kMaxAttentionOutputs = 128;
constexpr int64_t kTilesBytes = 32 << 10, kTilesLanes = 128;
// Columns that its loops advance by.
constexpr int64_t kAttentionBlock = 16;

class Joiner {
 public:
  Joiner(Partition& partition, const Caps& caps)
      : p_(partition), graph_(*partition.graph), caps_(caps), order_(partition) {}

  void run() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (p_.roles[id] == Role::kWork) join(id);
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id)
      if (p_.roles[id] == Role::kWork && graph_.node(id).op == Op::kDotGeneral) join_attention(id);
  }

 private:
  void join(uint32_t id) {
    GroupKind kind = p_.groups[group(id)].kind;
    if (is_contraction(kind) || reads_memory(id)) return;
    // Best producer first; then the others, so that u = f(p, q) may pull both in.
    std::vector<std::pair<int, uint32_t>> candidates;
    for (uint32_t source : sources_of(p_, graph_.node(id).operands)) {
      if (p_.roles[source] != Role::kWork) continue;
      uint32_t g = group(source);
      if (const FusionRule* rule = find_fusion_rule(p_.groups[g].kind, kind))
        candidates.emplace_back(rule->preference, g);
    }
    std::sort(candidates.rbegin(), candidates.rend());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    for (auto [preference, g] : candidates) {
      uint32_t mine = group(id);
      if (g == mine || p_.groups[g].members.empty()) continue;
      if (find_fusion_rule(p_.groups[g].kind, p_.groups[mine].kind)) try_merge(g, mine);
    }
  }

  // A library folds windows of what lies in memory.
  bool reads_memory(uint32_t id) const {
    const Node& node = graph_.node(id);
    if (!caps_.library_calls || node.op != Op::kReduceWindow || node.types.size() != 1)
      return false;
    const TensorType& input = graph_.type(node.operands[0]);
    return input.dtype == DType::kF32 && window_columns(node, input.shape) >= kMinWindowColumns &&
           !window_scan(node, input.shape);
  }

  // Dot, softmax and dot are three groups by now, with all that goes into each.
  void join_attention(uint32_t values) {
    std::optional<Attention> found = find_attention(graph_, values);
    if (!found) return;
    std::vector<uint32_t> parts{group(found->scores), group(found->max), group(values)};
    if (parts[1] != group(found->sum) || std::set<uint32_t>(parts.begin(), parts.end()).size() < 3)
      return;
    std::vector<uint32_t> members;
    for (uint32_t g : parts)
      members.insert(members.end(), p_.groups[g].members.begin(), p_.groups[g].members.end());
    std::sort(members.begin(), members.end());
    GroupView view = view_of_group(p_, members);
    view.attention = found;
    if (!few_buffers(members, view)) return;
    std::optional<GroupOrder::Merge> place = order_.find_merge(parts);
    if (!place) return;
    IndexContext context;
    std::optional<GroupSpace> space = find_group_space(context, view).space;
    if (!space) return;
    if (caps_.library_calls ? !is_worth_a_call(*space) : !is_worth_a_kernel(*space)) return;
    merge(parts[0], parts[1]);
    merge(parts[0], parts[2]);
    order_.apply(*place, parts, parts[0]);
    p_.groups[parts[0]].kind = GroupKind::kAttention;
    p_.groups[parts[0]].attention = found;
  }

  // A library's dots are faster than the kernel.
  bool is_worth_a_call(const GroupSpace& space) const {
    auto transparent = [&](uint32_t id) { return p_.roles[id] == Role::kTransparent; };
    auto found = strided_attention(graph_, *space.attention, space.dims, space.vars, transparent);
    return found && found->rows >= kMinAttentionRows;
  }

  bool is_worth_a_kernel(const GroupSpace& space) const {
    const AttentionSpace& a = *space.attention;
    int64_t rows = 1, outputs = 1, steps = 1;
    for (size_t d : a.rows) rows *= space.dims[d];
    for (size_t d : a.out) outputs *= space.dims[d];
    const Node& scores = graph_.node(a.nodes.scores);
    for (int64_t d : scores.attrs.as<DotGeneralAttrs>().lhs_contracting_dimensions)
      steps *= graph_.type(scores.operands[0]).shape[static_cast<size_t>(d)];
    int64_t blocks = num_elements(a.column_sizes) / kAttentionBlock + 1;
    bool tiles = is_gpu(caps_) && caps_.max_shared_bytes >= kTilesBytes &&
                 caps_.max_group_invocations >= kTilesLanes;
    return rows >= (tiles ? 1 : kMinAttentionRows) && outputs <= kMaxAttentionOutputs &&
           blocks > 0 && blocks * (steps + kAttentionBlock + 1) <= caps_.max_loop_iterations;
  }

  uint32_t group(uint32_t id) const { return static_cast<uint32_t>(p_.group_of[id]); }

  void try_merge(uint32_t producer, uint32_t consumer) {
    std::vector<uint32_t> members = p_.groups[producer].members;
    const auto& more = p_.groups[consumer].members;
    if (members.size() + more.size() > kMaxGroupMembers) return;
    if (repeats_series(p_, producer, consumer, caps_)) return;
    auto middle = members.insert(members.end(), more.begin(), more.end());
    std::inplace_merge(members.begin(), middle, members.end());
    GroupView view = view_of_group(p_, members);
    if (computes_what_is_updated(producer, more) || !few_buffers(members, view)) return;
    const uint32_t both[] = {producer, consumer};
    std::optional<GroupOrder::Merge> place = order_.find_merge(both);
    if (!place) return;
    IndexContext context;
    if (!plain_together(producer, consumer) && !find_group_space(context, view).space) return;
    merge(producer, consumer);
    order_.apply(*place, both, producer);
  }

  // A dynamic_update_slice stores its window only, where what it updates is in memory.
  bool computes_what_is_updated(uint32_t producer, const std::vector<uint32_t>& consumers) const {
    return std::any_of(consumers.begin(), consumers.end(), [&](uint32_t id) {
      const Node& node = graph_.node(id);
      return node.op == Op::kDynamicUpdateSlice && reads_group(node.operands[0], producer);
    });
  }

  // Long elementwise chains grow one op at a time; proving each step anew would take
  // time quadratic in their length.
  bool plain_together(uint32_t producer, uint32_t consumer) const {
    const Group& a = p_.groups[producer];
    const Group& b = p_.groups[consumer];
    if (!a.plain || !b.plain) return false;
    if (graph_.node(a.members[0]).types[0].shape != graph_.node(b.members[0]).types[0].shape)
      return false;
    return std::all_of(b.members.begin(), b.members.end(), [&](uint32_t id) {
      const auto& operands = graph_.node(id).operands;
      return std::all_of(operands.begin(), operands.end(), [&](Value v) {
        return p_.group_of[v.node] >= 0 || !reads_group(v, producer);
      });
    });
  }

  bool reads_group(Value v, uint32_t g) const {
    auto sources = sources_of(p_, {v});
    return std::any_of(sources.begin(), sources.end(), [&](uint32_t s) { return group(s) == g; });
  }

  bool few_buffers(const std::vector<uint32_t>& members, const GroupView& view) const {
    size_t inputs = inputs_of_group(p_, members, view).size();
    return static_cast<int64_t>(inputs + view.outputs.size()) <= kernel_buffers(caps_);
  }

  void merge(uint32_t into, uint32_t from) {
    Group& a = p_.groups[into];
    Group& b = p_.groups[from];
    a.plain = plain_together(into, from);
    for (uint32_t id : b.members) p_.group_of[id] = static_cast<int>(into);
    auto middle = a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    std::inplace_merge(a.members.begin(), middle, a.members.end());
    if (a.kind == GroupKind::kMap) a.kind = b.kind;
    b.members.clear();
  }

  Partition& p_;
  const Graph& graph_;
  const Caps& caps_;
  GroupOrder order_;
};

}  // namespace

void join_groups(Partition& partition, const Caps& caps) { Joiner(partition, caps).run(); }

}  // namespace tuff
