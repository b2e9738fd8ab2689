// What changes nothing that it is combined with.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "ir/literal.h"
#include "ir/op.h"

namespace tuff {

// The least or the greatest value of a type; of floats an infinity.
Literal extreme_value(DType dtype, bool greatest);

// The scalar n with op(n, x) = x for all x; nothing for other operations than add, multiply,
// maximum, minimum, and, or, xor. Of sums of floats it is -0: +0 + -0 is not -0.
std::optional<Literal> neutral_value(Op op, DType dtype);

// The only operation of a reducer's body, where it combines its two parameters.
std::optional<Op> single_op(const Graph& body);

}  // namespace tuff
