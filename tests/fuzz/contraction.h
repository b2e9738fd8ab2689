// Contractions with what follows them in a kernel's or a library's store: products of any number
// of batch, row, column and summed dimensions and convolutions of all kinds, over views of
// parameters; then biases, residuals in any layout, casts, activations, rows updated in place.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "tests/fuzz/sketch.h"

namespace tuff::fuzz {

// Kinds of contractions, and of what follows first.
int64_t count_contractions();
int64_t count_stores();

Sketch sketch_contraction(GraphBuilder& b, int64_t contraction, int64_t store);

// The graph of a sweep: so many numbers that follow each other as there are pairs go through all
// contractions with all stores; sizes, layouts and what else follows are chosen by the number.
Graph make_contraction(uint32_t number);

}  // namespace tuff::fuzz
