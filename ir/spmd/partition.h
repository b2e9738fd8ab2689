// Partitioning: one program over whole tensors becomes the program of each device over
// its parts, the same for all of them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/spmd/mesh.h"

namespace tuff {

// A program over whole tensors and how its arguments and results are spread. In it
// sharding_constraint, full_to_shard and shard_to_full carry a "sharding" (Sharding as
// ints; of a constraint's "open_dimensions" it says nothing); between the latter two the program is
// that of one device along their "manual_axes", and only there may collectives stand. Along the
// other axes it is still to be partitioned.
struct WholeProgram {
  Graph graph;
  Mesh mesh;
  std::vector<std::optional<Sharding>> arguments;  // nothing: whole on every device
  std::vector<std::optional<Sharding>> outputs;    // nothing: as it comes
  // By argument and output the axes along which what the caller has are shares of a sum; empty:
  // none. In the graph they are sums.
  std::vector<std::vector<int64_t>> argument_shares, output_shares;
  // Element types to the caller: of complex ones and small ones the graph has their parts
  // (as_parts); of complex ones shardings have a last dimension that is whole. Empty: the graph's.
  std::vector<DType> argument_dtypes, output_dtypes;
  // Arguments whose memory the caller gives up, with no output named for it.
  std::vector<uint32_t> donors;
};

// The program of one device: tensors are parts, collectives and partition_id stand where
// devices need each other's.
struct PartProgram {
  Graph graph;
  std::vector<Sharding> arguments, outputs;
};

// A value is spread as the operands it is made of; where an operation cannot be computed
// part by part its operands are gathered first, so what has no rule is slow, not wrong.
// Errors: kUnsupported naming the operation, for parts of unequal size and for values of
// one device that are used as whole ones.
Result<PartProgram> partition(const WholeProgram& program);

}  // namespace tuff
