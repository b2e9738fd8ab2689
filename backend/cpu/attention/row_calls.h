// Calls that work on rows one by one: a row stays in the first-level cache from its first
// to its last look.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_softmax(const SoftmaxCall& call, const LaneTable& table);
LibraryCallPtr create_layer_norm(const LayerNormCall& call, const LaneTable& table);
LibraryCallPtr create_rms_norm(const RmsNormCall& call, const LaneTable& table);

}  // namespace tuff::cpu
