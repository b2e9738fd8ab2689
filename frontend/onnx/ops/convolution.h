// Convolutions, for the operators that are made of them.
#pragma once

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

// By the call's attributes, without bias.
Tensor convolve(const Call& call, const Tensor& x, const Tensor& w);
// A vector over channels, which are dimension 1, added; none is none.
Tensor with_bias(const Tensor& y, const Tensor& bias);
// A vector as a tensor of the rank that is 1 in all dimensions but 1.
Tensor along_channels(const Tensor& vector, int64_t rank);

}  // namespace tuff::onnx
