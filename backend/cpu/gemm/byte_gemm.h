// Products of i8, summed up in i32, by way of f32 that holds them exactly.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

Result<LibraryCallPtr> create_byte_matmul(const MatmulCall& call, const LaneTable& table,
                                          DerivedOwner& owner);

}  // namespace tuff::cpu
