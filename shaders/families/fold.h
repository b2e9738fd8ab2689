// Folding over a box of positions inside a lane: windows, lists of indices, rows.
#pragma once

#include <functional>
#include <vector>

#include "ir/index/view_map.h"
#include "shaders/builder.h"

namespace tuff {

// State carried from position to position; `step` gives the next one.
using FoldStep =
    std::function<std::vector<Operand>(const IndexVector& at, std::vector<Operand> state)>;

// The state after all positions of `sizes` in row-major order. Few positions are
// spelled out, more are serial loops of at most `max_iterations` iterations in all.
std::vector<Operand> emit_fold(KernelBuilder& builder, const Shape& sizes, int64_t max_iterations,
                               std::vector<Operand> state, const FoldStep& step);

// An error where its loops would need more iterations than the device can do.
Status check_fold(const Shape& sizes, int64_t max_iterations, const std::string& what);

}  // namespace tuff
