// Products and convolutions of bytes with what follows their sums, block by block of rows.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/cpu/native/function_cache.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// stable_b: B may be the same contents in many runs. functions: where the native code of what
// follows comes from, or null; it outlives the call.
Result<LibraryCallPtr> create_byte_product(const ByteProductCall& call, bool stable_b,
                                           const LaneTable& table, DerivedOwner& owner,
                                           native::FunctionCache* functions);

}  // namespace tuff::cpu
