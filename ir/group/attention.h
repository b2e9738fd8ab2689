// The space of an attention: a dot, a softmax over its columns, a dot.
#pragma once

#include <optional>
#include <string>

#include "ir/composite.h"
#include "ir/index/view_map.h"

namespace tuff {

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

// vars: the variables of the values' dimensions. Nothing, and the reason in `why_not`, where the
// softmax runs over other columns than the dot contracts.
// Whether what is computed in between meets in the same places is find_group_space's to say.
std::optional<AttentionSpace> find_attention_space(IndexContext& context, const Graph& graph,
                                                   const Attention& nodes, const IndexVector& vars,
                                                   std::string& why_not);

}  // namespace tuff
