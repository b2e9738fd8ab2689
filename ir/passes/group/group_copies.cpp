// Large concatenates by themselves, on devices whose library copies rows. In the loads of a kernel
// each element is asked for where it comes from: by a guard for each piece, once more for each
// reader, and again for each concatenate in front of another.
#include <algorithm>
#include <set>

#include "ir/group/copies.h"
#include "ir/passes/group/grouping.h"

namespace tuff {

namespace {

class CopySeparator {
 public:
  explicit CopySeparator(Partition& partition)
      : p_(partition), graph_(*partition.graph), users_(graph_.users()) {}

  void run() {
    for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op != Op::kConcatenate || !lies_apart(id) || is_index(id)) continue;
      if (node.types[0].num_elements() < kMinCopyElements) continue;
      if (p_.roles[id] == Role::kTransparent) store(id);
      if (p_.roles[id] == Role::kWork) take_out(id);
    }
  }

 private:
  // Nobody who reads the node computes what it reads.
  bool lies_apart(uint32_t id) const {
    std::set<int> producers;
    for (uint32_t source : sources_of(p_, graph_.node(id).operands))
      producers.insert(p_.group_of[source]);
    std::vector<uint32_t> readers = readers_of(id);
    if (p_.roles[id] == Role::kWork) readers.push_back(id);
    return !readers.empty() && std::none_of(readers.begin(), readers.end(), [&](uint32_t reader) {
      return producers.count(p_.group_of[reader]) > 0;
    });
  }

  // Of scatters, which read each component where it lies.
  bool is_index(uint32_t id) const {
    const std::vector<uint32_t> readers = readers_of(id);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](uint32_t reader) {
      const Node& node = graph_.node(reader);
      if (node.op != Op::kScatter) return false;
      uint32_t at = node.operands[node.types.size()].node;
      while (at != id && p_.roles[at] == Role::kTransparent && graph_.node(at).operands.size() == 1)
        at = graph_.node(at).operands[0].node;
      return at == id;
    });
  }

  // Nodes of groups that read it, transparent ones looked through.
  std::vector<uint32_t> readers_of(uint32_t id) const {
    std::vector<uint32_t> found, pending{id};
    std::set<uint32_t> seen;
    while (!pending.empty()) {
      uint32_t at = pending.back();
      pending.pop_back();
      for (uint32_t user : users_[at]) {
        if (!seen.insert(user).second) continue;
        (p_.group_of[user] >= 0 ? found : pending).push_back(user);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // A view becomes a group.
  void store(uint32_t id) {
    p_.roles[id] = Role::kWork;
    add_group(id);
    p_.sources[id] = sources_of(p_, graph_.node(id).operands);
    for (uint32_t source : p_.sources[id]) add_reader(source, id);
    p_.readers[id] = readers_of(id);
    for (uint32_t reader : p_.readers[id]) {
      for (uint32_t source : p_.sources[reader]) drop_reader(source, reader);
      p_.sources[reader] = sources_of(p_, graph_.node(reader).operands);
      for (uint32_t source : p_.sources[reader]) add_reader(source, reader);
      p_.groups[static_cast<size_t>(p_.group_of[reader])].plain = false;
    }
  }

  // A member leaves its group, if that is one without it.
  void take_out(uint32_t id) {
    auto g = static_cast<size_t>(p_.group_of[id]);
    std::vector<uint32_t> others = p_.groups[g].members;
    others.erase(std::remove(others.begin(), others.end(), id), others.end());
    if (others.empty()) return;
    IndexContext context;
    GroupView view = view_of_group(p_, others);
    view.attention = p_.groups[g].attention;
    if (!find_group_space(context, view).space) return;
    p_.groups[g].members = std::move(others);
    p_.groups[g].plain = false;
    add_group(id);
  }

  void add_group(uint32_t id) {
    p_.group_of[id] = static_cast<int>(p_.groups.size());
    Group group;
    group.members = {id};
    p_.groups.push_back(std::move(group));
  }

  void add_reader(uint32_t source, uint32_t reader) {
    auto& readers = p_.readers[source];
    if (std::find(readers.begin(), readers.end(), reader) == readers.end())
      readers.push_back(reader);
  }
  void drop_reader(uint32_t source, uint32_t reader) {
    auto& readers = p_.readers[source];
    readers.erase(std::remove(readers.begin(), readers.end(), reader), readers.end());
  }

  Partition& p_;
  const Graph& graph_;
  const std::vector<std::vector<uint32_t>> users_;
};

}  // namespace

void separate_copies(Partition& partition) { CopySeparator(partition).run(); }

}  // namespace tuff
