// Op tables: files of small graphs over many shapes and types.
//
//   [binary floats]                     a block: one test on each device
//   for T in f32 f16 bf16               loops, outermost first; $T is replaced below
//   for S in [] [7] [257]
//   moderate                            options of the block (see CaseOptions)
//   add($T$S, $T$S)                     a case: op(operands) {attributes} [: types] [region]
//   gather(f32[5,4], i32[3] in -2..9) {...}
//   reduce($T[5,7], $T[] 0) {dimensions = [1]} applies add
//   graph main(%x: f32[4] "in 0..1") {  or a whole graph, to the line "}"
//   ...
//   }
//
// An operand is an input (its type), an input of a range (TYPE in LOW..HIGH), or a
// constant (TYPE VALUE). Result types are inferred where the operands imply them.
// "//" starts a comment line. "// known DEVICE: why" above a case (DEVICE: cpu,
// vulkan or all) says that it is known to fail there: it is run, must fail, and is
// counted aloud.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// How a case's inputs are made, and what is known of it.
struct CaseOptions {
  bool moderate = false;  // "moderate": floats in [-2, 2], no special values
  int quick = 6;          // "quick N": cases of the block run on Vulkan in the quick test
  std::string known_device, known_reason;
};

struct OpCase {
  std::string text;   // as in the table, loops replaced
  std::string where;  // file:line
  Graph graph;
  CaseOptions options;
};

struct OpBlock {
  std::string name;  // "elementwise.binary_floats"
  std::vector<OpCase> cases;
};

// All blocks of a table file; errors say file:line.
Result<std::vector<OpBlock>> read_op_table(const std::string& path);

}  // namespace tuff
