// Joining side by side: groups that have nothing to do with each other become one kernel, which
// stores the results of all of them.
#include <algorithm>
#include <map>
#include <tuple>

#include "ir/passes/group/group_table.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

namespace {

// Of larger results the work counts, and no longer the launch.
constexpr int64_t kMaxElementsBeside = 1 << 16;

// By group: the most groups on a way to it from what lies in memory. Groups of one level do not
// depend on each other, and joining them changes no level.
std::vector<uint32_t> levels_of(const Partition& p) {
  std::vector<uint32_t> levels(p.groups.size()), missing(p.groups.size()), ready;
  std::vector<std::vector<uint32_t>> readers(p.groups.size());
  for (uint32_t g = 0; g < p.groups.size(); ++g) {
    for (uint32_t member : p.groups[g].members)
      for (uint32_t source : p.sources[member]) {
        auto producer = static_cast<uint32_t>(p.group_of[source]);
        if (producer == g) continue;
        readers[producer].push_back(g);
        ++missing[g];
      }
    if (missing[g] == 0) ready.push_back(g);
  }
  for (size_t i = 0; i < ready.size(); ++i)
    for (uint32_t reader : readers[ready[i]]) {
      levels[reader] = std::max(levels[reader], levels[ready[i]] + 1);
      if (--missing[reader] == 0) ready.push_back(reader);
    }
  return levels;
}

// What a kernel of several groups grows into.
struct Beside {
  uint32_t into = 0;
  std::vector<uint32_t> inputs;  // ascending
  size_t outputs = 0;
};

class BesideJoiner {
 public:
  BesideJoiner(Partition& partition, const Caps& caps) : p_(partition), caps_(caps) {}

  void run() {
    std::vector<uint32_t> levels = levels_of(p_);
    std::map<Likeness, Beside> kernels;  // the last of each kind, which takes more
    for (uint32_t g = 0; g < p_.groups.size(); ++g) {
      if (!may_join(p_.groups[g])) continue;
      Beside group = beside_of(g);
      auto [kernel, first] = kernels.try_emplace(likeness_of(p_.groups[g], levels[g]), group);
      if (!first && !try_add(kernel->second, group)) kernel->second = std::move(group);
    }
  }

 private:
  // Groups that are alike are points of one space, computed by the same types: a device that
  // lacks a type lacks it for all of them.
  using Likeness = std::tuple<uint32_t, Shape, uint32_t>;

  bool may_join(const Group& group) const {
    return group.plain &&
           num_elements(p_.graph->node(group.members[0]).types[0].shape) <= kMaxElementsBeside;
  }

  Likeness likeness_of(const Group& group, uint32_t level) const {
    uint32_t types = 0;
    auto note = [&](Value v) { types |= 1u << static_cast<uint32_t>(p_.graph->type(v).dtype); };
    for (uint32_t id : group.members) {
      note({id, 0});
      for (Value operand : p_.graph->node(id).operands) note(operand);
    }
    return {level, p_.graph->node(group.members[0]).types[0].shape, types};
  }

  Beside beside_of(uint32_t g) const {
    const std::vector<uint32_t>& members = p_.groups[g].members;
    GroupView view = view_of_group(p_, members);
    return {g, inputs_of_group(p_, members, view), view.outputs.size()};
  }

  bool try_add(Beside& kernel, const Beside& group) {
    std::vector<uint32_t>& members = p_.groups[kernel.into].members;
    std::vector<uint32_t>& more = p_.groups[group.into].members;
    std::vector<uint32_t> inputs;
    std::set_union(kernel.inputs.begin(), kernel.inputs.end(), group.inputs.begin(),
                   group.inputs.end(), std::back_inserter(inputs));
    size_t outputs = kernel.outputs + group.outputs;
    if (members.size() + more.size() > kMaxGroupMembers ||
        static_cast<int64_t>(inputs.size() + outputs) > kernel_buffers(caps_))
      return false;
    for (uint32_t id : more) p_.group_of[id] = static_cast<int>(kernel.into);
    auto middle = members.insert(members.end(), more.begin(), more.end());
    std::inplace_merge(members.begin(), middle, members.end());
    more.clear();
    kernel.inputs = std::move(inputs);
    kernel.outputs = outputs;
    return true;
  }

  Partition& p_;
  const Caps& caps_;
};

}  // namespace

void join_beside(Partition& partition, const Caps& caps) { BesideJoiner(partition, caps).run(); }

}  // namespace tuff
