// Attention, for the operators that are made of it.
#pragma once

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

// softmax(q k^T * scale ...) v over [batch, heads, sequence, size]. Heads of k and v may be fewer:
// each then serves as many heads of q as come to it.
struct AttentionInputs {
  Tensor q, k, v;
  double scale = 0, softcap = 0;
  Tensor bias;     // added to the scores; broadcasts to them; may be none
  Tensor allowed;  // booleans: which keys each row sees; broadcasts likewise; may be none
};
struct AttentionResult {
  Tensor y;
  Tensor scores, capped, biased, weights;  // on the way
};
AttentionResult attend(const AttentionInputs& inputs);

// [batch, sequence, heads * size] to [batch, heads, sequence, size], and back.
Tensor split_heads(const Tensor& x, int64_t heads);
Tensor merge_heads(const Tensor& x);

// Pairs of elements turned by angles: x is [batch, heads, sequence, size], cosines and sines
// [batch or 1, sequence, size / 2]; the first 2 * (size / 2) elements are turned.
Tensor rotated(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool interleaved);

}  // namespace tuff::onnx
