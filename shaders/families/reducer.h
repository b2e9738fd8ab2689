// Reducer bodies: the region of a reduce as kernel statements.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/ops/neutral.h"
#include "shaders/builder.h"

namespace tuff {

// The neutral element of a reduce whose body is one known operation, as an
// immediate; nothing for other bodies.
std::optional<Operand> reducer_identity(const Node& reduce);

// True iff results are the same whether this initial value counts once or more often.
bool may_count_often(const Node& reduce, const Literal& initial);

// What result `result` is accumulated in: f32 for sums and products of 16-bit floats,
// else its own type.
DType accumulator_dtype(const Node& reduce, size_t result);

// A region of scalar elementwise ops with the values of its parameters. Loops in it are
// emit_loop's: from their operands to their results.
using EmitLoop = std::function<std::vector<Operand>(const Node&, const std::vector<Operand>&)>;
std::vector<Operand> emit_region(KernelBuilder& builder, const Graph& region,
                                 const std::vector<Operand>& arguments,
                                 const EmitLoop& emit_loop = {});

// body(lhs, rhs): one value per result, of the operands' types, which may be the
// accumulators'. Regions of scalar elementwise ops only.
std::vector<Operand> emit_reducer(KernelBuilder& builder, const Node& reduce,
                                  const std::vector<Operand>& lhs, const std::vector<Operand>& rhs);
// The same of one or more terms, neighbours first, so that they do not wait for each other.
std::vector<Operand> emit_reducer_of_all(KernelBuilder& builder, const Node& reduce,
                                         std::vector<std::vector<Operand>> terms);

}  // namespace tuff
