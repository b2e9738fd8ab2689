// The greatest elements of rows.
#pragma once

#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_top_k(const TopKCall& call);

}  // namespace tuff::cpu
