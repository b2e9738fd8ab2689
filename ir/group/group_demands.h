// Whether a group can be computed in a space: its outputs and anchors demand values at
// places, these demand others, and each demand must be one that a kernel can meet there.
#pragma once

#include <string>

#include "ir/group/group_space.h"

namespace tuff {

// Empty, or a sentence on a demand that cannot be met. The space has all its places.
std::string unmet_demand(IndexContext& context, const GroupView& view, const GroupSpace& space);

}  // namespace tuff
