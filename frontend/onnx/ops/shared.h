// What several files of operators use.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "frontend/onnx/build/call.h"
#include "ir/composite.h"

namespace tuff::onnx {

// What `body` computes of the operands, called by its name: see ir/composite.h. Operands are
// parameters of the region in their order; one result.
Tensor named(const std::vector<Tensor>& operands,
             const std::function<Composite(const Graph& region)>& name,
             const std::function<Tensor(const std::vector<Tensor>&)>& body);

// e / sum(e) with e = exp(x - max(x)) along a dimension.
Tensor softmax(const Tensor& x, int64_t axis);
Tensor log_softmax(const Tensor& x, int64_t axis);
// Over the last dimensions of x, as many as scale has; scale and shift may be none.
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, int64_t axis,
                  double epsilon);
Tensor rms_norm(const Tensor& x, const Tensor& scale, int64_t axis, double epsilon);
Tensor gelu(const Tensor& x, bool by_tanh);

// Negative indices count from the end.
Tensor wrap_indices(const Tensor& indices, int64_t size);

// Begin and end pads of the spatial dimensions, as Conv and the pools have them.
struct SpatialWindow {
  Ints sizes, strides, dilations, low, high;
};
// From kernel_shape, strides, dilations, pads and auto_pad. `kernel` where kernel_shape is left
// out; ceil_mode may add to `high`.
SpatialWindow spatial_window(const Call& call, const Tensor& x, Ints kernel);

// Elements of the sum i of x times weights (of shape [rows of the result, x.dim(axis)]) along a
// dimension.
Tensor weighted(const Tensor& x, const Tensor& weights, int64_t axis);

// A loop that runs `trips` times (an i64 scalar, maybe constant), while `condition`, where there
// is one (a carried boolean, the first of `carried`), holds. The body sees the counter, what is
// carried and the captured values; it returns what is carried on.
using LoopBody =
    std::function<std::vector<Tensor>(const Tensor& counter, const std::vector<Tensor>& carried,
                                      const std::vector<Tensor>& captured)>;
std::vector<Tensor> run_loop(Emitter& emitter, const Tensor& trips, bool has_condition,
                             const std::vector<Tensor>& carried,
                             const std::vector<Tensor>& captured, const LoopBody& body);
// Element `index` (an i64 scalar) of the dimension, which goes.
Tensor element_at(const Tensor& x, const Tensor& index, int64_t dim);
// The tensor with `part` in place of element `index` of the dimension.
Tensor with_element(const Tensor& x, const Tensor& part, const Tensor& index, int64_t dim);

}  // namespace tuff::onnx
