// What matmuls and convolutions share on their way to a library.
#pragma once

#include "ir/affine_access.h"
#include "shaders/families/family.h"

namespace tuff {

// The node as a call over operands read at `a` and `b`, with its result at
// `c_strides` (one per dimension of the result); nothing iff the library cannot say it.
std::optional<MatmulCall> matmul_call(const Graph& region, const Node& dot, const AffineAccess& a,
                                      const AffineAccess& b, const std::vector<int64_t>& c_strides);
std::optional<ConvolutionCall> convolution_call(const Graph& region, const Node& node,
                                                const AffineAccess& a, const AffineAccess& b,
                                                const std::vector<int64_t>& c_strides);

}  // namespace tuff
