// Ways to lower a group of reduces: see rows.cpp and split_rows.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

// Reduces by dependence: level 0 needs none of the group's reduces, level 1 those of level
// 0, and so on.
using ReduceLevels = std::vector<std::vector<uint32_t>>;

// The last dimension that is not reduced, if there is one.
std::optional<size_t> last_kept_dim(const GroupSpace& space);

// True iff the parts of a row can be reduced apart from each other: each reduce has a neutral
// element, and all accumulate in one type.
bool can_split_rows(const GroupContext& group);
// By several workgroups each, on GPUs.
Result<LoweredGroup> lower_parted_rows(const GroupContext& group, const RowParts& parts,
                                       const ReduceLevels& levels);
// The group with its rows split: only where can_split_rows.
Result<LoweredGroup> lower_split_rows(const GroupContext& group, const RowSplit& split,
                                      const ReduceLevels& levels);

}  // namespace tuff
