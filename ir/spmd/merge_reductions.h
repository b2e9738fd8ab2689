// Sums of sums over devices.
#pragma once

#include "ir/graph.h"

namespace tuff::spmd {

// The sum of two all_reduces, or reduce_scatters, becomes that of one: weights that are used twice,
// as GPT-2's words, have one gradient. A transpose or reshape of one goes in front of it for that.
// What is used elsewhere stays.
Graph merge_reductions(const Graph& part);

}  // namespace tuff::spmd
