// The families of kernels, of which every group is one: rows of ir/group/family.def.
#pragma once

namespace tuff {

enum class GroupKind {
#define FAMILY(kind, ...) kind,
#include "ir/group/family.def"
};

}  // namespace tuff
