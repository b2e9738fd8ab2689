// The families of kernels, of which every group is one: rows of ir/family.def.
#pragma once

namespace tuff {

enum class GroupKind {
#define FAMILY(kind, ...) kind,
#include "ir/family.def"
};

}  // namespace tuff
