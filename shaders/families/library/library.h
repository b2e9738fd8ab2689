// What matmuls and convolutions share on their way to a library.
#pragma once

#include "ir/group/affine_access.h"
#include "shaders/families/family.h"

namespace tuff {

// The node as a call over operands read at `a` and `b`, with its result at
// `c_strides` (one per dimension of the result); nothing iff the library cannot say it.
std::optional<MatmulCall> matmul_call(const Graph& region, const Node& dot, const AffineAccess& a,
                                      const AffineAccess& b, const std::vector<int64_t>& c_strides);
std::optional<ConvolutionCall> convolution_call(const Graph& region, const Node& node,
                                                const AffineAccess& a, const AffineAccess& b,
                                                const std::vector<int64_t>& c_strides);
// A convolution whose only window is its whole input, as the product that it is: the gradient
// of weights that see one pixel. Nothing for others, and where the library cannot say it.
std::optional<MatmulCall> one_window_call(const Graph& region, const Node& node,
                                          const AffineAccess& a, const AffineAccess& b,
                                          const std::vector<int64_t>& c_strides);
// The tensor that the call writes.
StridedTensor& result_of(ConvolutionCall& call);

// Whatever directly follows the anchor, and the library can do as it stores, becomes
// post-ops of the call: `lowering.result` moves on to the last value they compute.
void absorb_post_ops(const GroupContext& group, const Node& anchor,
                     const std::vector<int64_t>& c_strides, LibraryLowering& lowering);
// The same for operations with constants alone, on a value of this region: what they make
// of it.
Value absorb_constant_post_ops(const Graph& region, Value value, PostOpList& post_ops);

// Where x is multiplied by a function of itself, and used for nothing else: which post-op that is,
// and the product.
struct Gate {
  PostOp::Kind kind;
  Value result;
};
std::optional<Gate> find_gate(const Graph& region, Value x);

// A value read from a parameter of the region at plain strides.
std::optional<AffineAccess> input_access(const Graph& region, Value v);

// How many elements these dimensions have together.
int64_t product_at(const Shape& shape, const std::vector<int64_t>& dims);

// The region returns this value alone, under whatever views.
bool only_output_is(const Graph& region, Value value);

}  // namespace tuff
