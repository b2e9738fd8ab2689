// integer_sums: products of dequantised integers become sums of integers.
#pragma once

#include "ir/pass.h"

namespace tuff {

// A dequantised operand is (convert(bytes) - zero) * scale, bytes being i8 or u8. Where both
// operands of an f32 contraction are that, and no scale varies along what is summed over,
//   sum((a - za) * sa * (b - zb) * sb) = sum((a - za) * (b - zb)) * sa * sb.
// for scales that are finite numbers. The sum on the right is one of integers in 32 bits: exact,
// and a fraction of the work where the device has products of bytes (Caps::library_calls). Views go
// below the conversions, so that what has to be copied for the contraction is bytes. What is made
// of such sums is brought back to bytes by products with 1 / scale: a value within a rounding of
// two steps' middle may become the other one.
Result<Graph> integer_sums(const Graph& graph, const PassContext& context);

}  // namespace tuff
