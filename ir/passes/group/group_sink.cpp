// Views that go into the store of the group before them.
#include <algorithm>

#include "ir/group/byte_access.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

namespace {

class Sinker {
 public:
  Sinker(Partition& partition, const Caps& caps)
      : p_(partition), caps_(caps), graph_(*partition.graph), users_(graph_.users()) {}

  void run() {
    for (uint32_t g = 0; g < p_.groups.size(); ++g) {
      if (p_.groups[g].members.empty() || p_.roles[p_.groups[g].members[0]] != Role::kWork)
        continue;
      for (Value v : view_of_group(p_, p_.groups[g].members).outputs) sink_after(g, v.node);
    }
  }

 private:
  // Moves the views after `id` into group g, one by one, as long as they qualify.
  void sink_after(uint32_t g, uint32_t id) {
    std::vector<uint32_t> chain = views_after(id);
    // The longest prefix of the chain that keeps the store affine.
    for (size_t length = chain.size(); length > 0; --length) {
      std::vector<uint32_t> views(chain.begin(), chain.begin() + static_cast<long>(length));
      if (try_sink(g, id, views)) return;
    }
  }

  std::vector<uint32_t> views_after(uint32_t id) const {
    std::vector<uint32_t> chain;
    if (graph_.node(id).types.size() != 1 || p_.returned[id]) return chain;
    // An update stores only its window; under a view it would store all.
    if (graph_.node(id).op == Op::kDynamicUpdateSlice) return chain;
    for (uint32_t at = id; users_[at].size() == 1; at = chain.back()) {
      uint32_t user = users_[at][0];
      Op op = graph_.node(user).op;
      bool renames = op == Op::kReshape || op == Op::kTranspose;
      if (!renames || p_.roles[user] != Role::kTransparent) break;
      if (takes_apart(graph_.node(user)) && only_byte_products_read(id)) break;
      chain.push_back(user);
    }
    return chain;
  }

  // Neighbours in memory no longer are.
  static bool takes_apart(const Node& view) {
    if (view.op != Op::kTranspose) return false;
    const auto& permutation = view.attrs.as<TransposeAttrs>().permutation;
    return !permutation.empty() &&
           permutation.back() != static_cast<int64_t>(permutation.size()) - 1;
  }

  bool only_byte_products_read(uint32_t id) const {
    return caps_.library_calls &&
           std::all_of(p_.readers[id].begin(), p_.readers[id].end(), [&](uint32_t reader) {
             return is_byte_product(graph_, graph_.node(reader));
           });
  }

  bool try_sink(uint32_t g, uint32_t id, const std::vector<uint32_t>& views) {
    std::vector<uint32_t> members = p_.groups[g].members;
    members.insert(members.end(), views.begin(), views.end());
    std::sort(members.begin(), members.end());
    GroupView candidate = view_of_group(p_, members);
    candidate.attention = p_.groups[g].attention;
    std::replace(candidate.outputs.begin(), candidate.outputs.end(), Value{id, 0},
                 Value{views.back(), 0});
    if (!stores_affinely(candidate, {views.back(), 0})) return false;
    p_.readers[views.back()] = std::move(p_.readers[id]);
    for (size_t i = 0; i < views.size(); ++i) {
      p_.roles[views[i]] = Role::kWork;
      p_.group_of[views[i]] = static_cast<int>(g);
      p_.readers[i == 0 ? id : views[i - 1]] = {views[i]};
    }
    p_.groups[g].members = std::move(members);
    p_.groups[g].plain = false;
    return true;
  }

  bool stores_affinely(const GroupView& candidate, Value output) const {
    IndexContext context;
    auto space = find_group_space(context, candidate).space;
    if (!space) return false;
    auto at = std::find(candidate.outputs.begin(), candidate.outputs.end(), output);
    if (at == candidate.outputs.end()) return false;
    const Place& place = space->outputs[static_cast<size_t>(at - candidate.outputs.begin())];
    IndexExpr linear = linearize(place.index, graph_.type(output).shape);
    return std::all_of(linear.terms.begin(), linear.terms.end(),
                       [&](const auto& term) { return context.atom(term.first).divisor == 0; });
  }

  Partition& p_;
  const Caps& caps_;
  const Graph& graph_;
  std::vector<std::vector<uint32_t>> users_;
};

}  // namespace

void sink_views(Partition& partition, const Caps& caps) { Sinker(partition, caps).run(); }

}  // namespace tuff
