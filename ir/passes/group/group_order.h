// Which groups come before which, while groups merge.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/passes/group/grouping.h"

namespace tuff {

// A sequence of the partition's groups in which each comes after those it reads. Merging moves
// only what stands between the merged ones and depends on them, so that chains of any length
// are grouped in time that grows as they do.
class GroupOrder {
 public:
  // Groups by then are single nodes, in the order of the graph.
  explicit GroupOrder(const Partition& partition);

  // How the sequence changes where some groups become one.
  struct Merge {
    uint32_t at = 0;              // the group whose place is taken
    std::vector<uint32_t> moved;  // in order, to just before or after it
    bool after = false;
  };
  // Nothing where a third group would have to run both before and after them; or where that
  // cannot be told in kMaxSteps.
  std::optional<Merge> find_merge(std::span<const uint32_t> groups);
  // To be called with what find_merge said last of these groups, once their members are those of
  // `into`, one of them.
  void apply(const Merge& merge, std::span<const uint32_t> groups, uint32_t into);

 private:
  // Groups between the merged ones that depend on them, or that they depend on.
  class Search;

  static constexpr int64_t kMaxSteps = 1 << 12;  // readings that are followed
  static constexpr int64_t kSpacing = int64_t{1} << 32;

  void unlink(uint32_t group);
  void link_after(uint32_t before, uint32_t group);
  // Places the groups, in this order, behind `before`.
  void insert_after(uint32_t before, std::span<const uint32_t> groups);
  void renumber();

  const Partition& p_;
  uint32_t head_;  // of the list; stands for no group
  std::vector<uint32_t> next_, previous_;
  std::vector<int64_t> number_;  // ascending along the list
  std::vector<uint64_t> seen_;   // by group: the search that saw it last
  uint64_t searches_ = 0;
};

}  // namespace tuff
