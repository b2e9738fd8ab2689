// Attention as graphs spell it: a dot, a softmax over its columns, a dot.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"
#include "ir/index/view_map.h"

namespace tuff {

// weights = e / sum(e) with e = exp(logits - max(logits)); logits are computed from the
// scores (scale, mask and bias are elementwise work between the two), and `values` is the
// dot of the weights with something else.
struct Attention {
  uint32_t scores = 0, max = 0, sum = 0, values = 0;  // dot, reduce, reduce, dot
  size_t weights_operand = 0;                         // of `values`
  Value weights, logits;
};

// The attention that ends in this dot_general, if it is spelled like one.
std::optional<Attention> match_attention(const Graph& graph, uint32_t values);

// How its parts fit together, in the space of the values: rows are those of the softmax,
// columns what the second dot contracts.
struct AttentionSpace {
  Attention nodes;
  size_t rows_operand = 0;               // of the scores' dot: the queries; the other: the keys
  std::vector<size_t> batch, rows, out;  // dimensions of the space
  IndexVector columns;                   // a variable each
  Shape column_sizes;
  IndexVector scores;  // the logits' place, by the space's variables and the columns'
  IndexVector row;     // what of it the softmax keeps: the place of max and sum
};

// vars: the variables of the values' dimensions. Nothing, and the reason in `why_not`, where
// `values` ends no attention, or its softmax runs over other columns than the dot contracts.
// Whether what is computed in between meets in the same places is find_group_space's to say.
std::optional<AttentionSpace> find_attention_space(IndexContext& context, const Graph& graph,
                                                   uint32_t values, const IndexVector& vars,
                                                   std::string& why_not);

}  // namespace tuff
