// The partition that `group` computes, and the graph made from it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/caps.h"
#include "ir/graph.h"
#include "ir/group/group_space.h"

namespace tuff {

// What a node is to the grouping.
enum class Role : uint8_t {
  kSource,       // parameter, big constant: lives in memory from the start
  kTransparent,  // view, iota, small constant, computed from such, or in loads: copied into readers
  kWork,         // belongs to exactly one group
  kOpaque,       // no kernel family: stays in the graph as it is
};

struct Group {
  std::vector<uint32_t> members;  // work nodes, ascending; empty once merged away
  GroupKind kind = GroupKind::kMap;
  std::optional<Attention> attention;  // of an attention's group
  // True only if every member is an elementwise op with one result of one common shape
  // and members read each other directly: such groups share every point, with no proof.
  bool plain = false;
};

struct Partition {
  const Graph* graph = nullptr;
  std::vector<Role> roles;    // by node
  std::vector<int> group_of;  // by node; -1 if not work or opaque. Opaque nodes are groups too.
  std::vector<Group> groups;
  // Work and opaque nodes that read a work node's value, transparent nodes looked
  // through, by node; and whether the graph itself returns it.
  std::vector<std::vector<uint32_t>> readers;
  std::vector<bool> returned;
  // The other way: what each work or opaque node reads.
  std::vector<std::vector<uint32_t>> sources;
};

// Work and opaque nodes the values are computed from, transparent nodes looked through.
std::vector<uint32_t> sources_of(const Partition& partition, const std::vector<Value>& values);

// What the loads of contractions shall compute (kLoadRules), ascending: casts and scales of a
// value that lies in memory, none of whose readers is better off with their result. Roles are
// those that nodes have by themselves.
std::vector<uint32_t> find_load_work(const Graph& graph, const Caps& caps,
                                     const std::vector<Role>& roles);

// Decides roles: also which views must be materialised (made work) because a
// contraction cannot read through them or because they are graph outputs.
enum class LoadWork { kApart, kCopied };  // what loads may compute: as groups, or in the loads
Partition make_partition(const Graph& graph, const Caps& caps, LoadWork work);

// Joins groups as the fusion table says.
void join_groups(Partition& partition, const Caps& caps);

// Whether the consumer would compute series of the producer for each of many elements that it
// spreads them over, at a higher price than that of a kernel of their own.
bool repeats_series(const Partition& partition, uint32_t producer, uint32_t consumer,
                    const Caps& caps);

// Takes large concatenates out of the groups that read them, where these do not compute what it
// is that they put together.
void separate_copies(Partition& partition);

// Moves a view into its producer's group where it is the producer's only reader and
// the store stays affine: the reader then finds the layout it wants. A library's product of bytes
// takes any layout, and a store whose neighbours lie apart costs more.
void sink_views(Partition& partition, const Caps& caps);

// What the members of a group look like to find_group_space.
GroupView view_of_group(const Partition& partition, const std::vector<uint32_t>& members);

// The nodes outside that they read, transparent ones looked through; ascending.
std::vector<uint32_t> inputs_of_group(const Partition& partition,
                                      const std::vector<uint32_t>& members, const GroupView& view);

// Joins small elementwise groups of one shape that do not depend on each other, as many as a
// kernel has buffers for: a kernel that is made and launched costs more than their work.
void join_beside(Partition& partition, const Caps& caps);

// The graph with a fused node per group.
Result<Graph> build_grouped_graph(const Partition& partition);

}  // namespace tuff
