// Convolution by oneDNN.
#pragma once

#include <optional>

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// stable_weights: they may be the same contents in many runs (an argument or a constant). Then a
// copy of them times the factors of the post-ops pays.
// in_result: the post-op whose operand lies where the result goes, if that is known.
// Errors: kUnsupported for what oneDNN cannot do.
Result<LibraryCallPtr> create_onednn_convolution(const ConvolutionCall& call, bool stable_weights,
                                                 const LaneTable& table, DerivedOwner& owner,
                                                 std::optional<size_t> in_result = std::nullopt);

}  // namespace tuff::cpu
