// Attentions as graphs, and an executable's numbers beside the reference evaluator's.
#pragma once

#include <iosfwd>
#include <string>

#include "backend/executable.h"
#include "ir/graph.h"

namespace tuff::test {

struct AttentionCase {
  enum class Mask { kNone, kCausal, kInput, kBias };  // kBias is added

  std::string name;
  int64_t batch, heads, rows, columns, depth, out;
  std::string dtype = "f32";
  Mask mask = Mask::kNone;
  bool values_first = false;  // dot(V, weights), as JAX's einsum has it
  double steep = 1;           // queries are so much larger
};

void PrintTo(const AttentionCase& c, std::ostream* out);

// q: [batch, rows, heads, depth], k: [batch, columns, heads, depth], v: likewise, out wide.
Result<Graph> graph_of(const AttentionCase& c);

// The kernels keep their rules, and agree with the evaluator. Two runs have the same bits, but for
// a library's, which packs operands for the second.
enum class Runs { kSameBits, kOther };
void check_numbers(const AttentionCase& c, const Graph& graph, Executable& executable,
                   Runs runs = Runs::kSameBits);

}  // namespace tuff::test
