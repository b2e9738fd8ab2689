// Channels last: what devices' convolutions are fast on, while ONNX has channels first. A
// convolution is added with its channels last, between two transposes; what follows goes before
// the second one where it may, so that the transposes of one convolution and the next one meet
// and are gone.
#pragma once

#include <optional>
#include <vector>

#include "frontend/onnx/build/tensor.h"

namespace tuff::onnx {

// [N, spatial..., C] to [N, C, spatial...], and back.
Ints channels_first(int64_t rank);
Ints channels_last(int64_t rank);

// The same result, where an operand is a transpose that moves channels first: the operation on
// what is transposed, and the transpose after it. Nothing where that does not apply.
std::optional<Tensor> before_transpose(Op op, const std::vector<Tensor>& operands,
                                       const TensorType& type, const Attrs& attrs);
// A reshape that splits or joins dimensions: of channels, as groups of them are shuffled, or of
// places, as a picture becomes a sequence.
std::optional<Tensor> reshape_before_transpose(const Tensor& x, const Shape& to);
std::optional<Tensor> reduce_before_transpose(const Tensor& x, Op op, const Ints& dims, bool keep);
std::optional<Tensor> windows_before_transpose(const Tensor& x, Op op, const WindowAttrs& window);

}  // namespace tuff::onnx
