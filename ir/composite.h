// Composites: what a group computes, where that has a name. It is said once, in the attributes
// of the fused node, by whoever makes the node; its region means the same, so the evaluator, and
// devices with nothing better, need not know. A fused node without a kind is a reader's: what the
// source calls by a name (inline_composites opens it).
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "ir/support/result.h"
#include "ir/value.h"

namespace tuff {

struct Node;

// A vector whose elements lie side by side in a parameter of the region.
struct RowVector {
  uint32_t parameter = 0;
  int64_t offset = 0;  // of its first element
};

// The parameter and the only output of a composite of rows are rows of `columns` elements one
// after another, whatever their shapes.

// e / sum(e) with e = exp(x - max(x)).
struct Softmax {
  static constexpr const char* kName = "softmax";
  uint32_t input = 0;  // parameter
  int64_t columns = 0;
};

// (x - mean) * rsqrt(variance + epsilon) [* scale] [+ shift]
struct LayerNorm {
  static constexpr const char* kName = "layer_norm";
  uint32_t input = 0;  // parameter
  int64_t columns = 0;
  double epsilon = 0;
  std::optional<RowVector> scale, shift;
};

// x * rsqrt(mean(x * x) + epsilon) [* scale]
struct RmsNorm {
  static constexpr const char* kName = "rms_norm";
  uint32_t input = 0;  // parameter
  int64_t columns = 0;
  double epsilon = 0;
  std::optional<RowVector> scale;
};

// Where nodes of the region compute a function of one value, element by element: nobody else
// reads what they make on the way.
struct AppliedFunction {
  uint32_t input = 0, result = 0;  // nodes
};

// Gelus among the members, in order: x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh.
// They may be all of a group, or follow the sums of one.
struct Gelu {
  static constexpr const char* kName = "gelu";
  std::vector<AppliedFunction> by_erf, by_tanh;
};

// weights = e / sum(e) with e = exp(logits - max(logits)); logits are computed from the
// scores (scale, mask and bias are elementwise work between the two), and `values` is the
// dot of the weights with something else. All are nodes of the region.
struct Attention {
  static constexpr const char* kName = "attention";
  uint32_t scores = 0, max = 0, sum = 0, values = 0;  // dot, reduce, reduce, dot
  size_t weights_operand = 0;                         // of `values`
  Value weights, logits;
};

using Composite = std::variant<std::monostate, Softmax, LayerNorm, RmsNorm, Gelu, Attention>;

// By name and fields, numbers by their bits.
bool operator==(const Composite& a, const Composite& b);
uint64_t hash_of(const Composite& composite);

// A fused node of a reader's: inline_composites opens it before anything else looks at it.
bool is_named_region(const Node& node);

// The composite of a fused node, if it has one, can be that of its region: what it names is there
// and has the types it must have.
Status check_composite(const Node& fused);

}  // namespace tuff
