// narrow_integers: 64-bit integers where 32 bits hold the value.
#pragma once

#include "ir/pass.h"

namespace tuff {

// What a 64-bit integer can be follows from what made it. An iota counts to its size, a constant
// is known, a convert keeps what its operand can be, sums and products of ranges are ranges.
// Some users read such a value without keeping its type: a comparison, a convert, an index. For
// them the value is made in i32, with all that led to it. Values that stay 64 bits wide for
// others stay as they are.
Result<Graph> narrow_integers(const Graph& graph, const PassContext& context);

}  // namespace tuff
