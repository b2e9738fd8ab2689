// Powers that are spelled otherwise than they are best computed.
#pragma once

#include <optional>

#include "ir/rewrite.h"

namespace tuff {

// x ** 1, 2, 3 and -1 without logarithms: no less exact, and the same for NaN, infinities and zeros
// of either sign. x ** 0.5 is no square root: of -0 and -inf that is another number.
std::optional<Value> recognize_power(const RewriteSite& site);
// 1 / sqrt(x) as rsqrt(x).
std::optional<Value> recognize_inverse_root(const RewriteSite& site);

}  // namespace tuff
