// Products of few rows each with one matrix, whose results lie by columns: a resize of images with
// channels last.
#pragma once

#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Without post-ops, all f32. What multiplies whole matrices at once turns the others.
bool is_turned_product(const MatmulCall& call);

// The same with C's rows one behind the other.
MatmulCall with_dense_result(MatmulCall call);

// dense: of with_dense_result(call).
LibraryCallPtr create_turned_product(const MatmulCall& call, LibraryCallPtr dense);

}  // namespace tuff::cpu
