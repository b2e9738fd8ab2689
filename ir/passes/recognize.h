// Finds functions that were spelled out before they reached us.
#pragma once

#include "ir/pass.h"

namespace tuff {

// erf and erfc arrive as 30 to 70 operations. They are found by what they compute:
// the elementwise operations between a value z and the result are evaluated at
// sample points and compared with the function, so no spelling is listed here.
// An erf becomes the op. An erfc(z) becomes 1 - erf(z), or 1 + erf(-z) where z
// carries a negative factor, but only where that is as good. It is where the erfc is
// scaled by its own argument (gelu: x erfc(-x / sqrt 2)): its relative error near zero
// is then an absolute one below rounding. A lone erfc keeps its spelling and accuracy.
// Powers with small exponents become products (recognize_powers.h).
// Composites (softmax, gelu ...) are found as groups are made (composites.h) and need nothing
// here: canonicalize and fold_constants remove the guards that are written around them.
Result<Graph> recognize(const Graph& graph, const PassContext& context);

}  // namespace tuff
