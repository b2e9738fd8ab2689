// The order of the elements of rows.
#pragma once

#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_sort(const SortCall& call);

}  // namespace tuff::cpu
