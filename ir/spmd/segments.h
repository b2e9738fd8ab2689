// The program of one device, cut where devices exchange data: between two exchanges it is
// an ordinary program, which every device runs by itself.
#pragma once

#include <vector>

#include "ir/spmd/collective.h"

namespace tuff {

// Values that outlive a segment lie in slots: first the arguments, then the device's
// partition id, then what segments and exchanges make.
struct Exchange {
  SpmdOp op = SpmdOp::kAllReduce;
  Node node;  // its attributes and region
  TensorType operand_type;
  uint32_t operand = 0, result = 0;  // slots
};

struct Segment {
  Graph graph;
  std::vector<uint32_t> arguments, outputs;  // slots, in the graph's order
  std::vector<Exchange> exchanges;           // after it; independent of each other
};

struct SegmentedProgram {
  std::vector<TensorType> slots;  // the types of parts
  uint32_t num_arguments = 0;     // slot `num_arguments` is the partition id
  std::vector<Segment> segments;  // the last one has no exchanges
  std::vector<uint32_t> outputs;  // slots
  std::vector<uint32_t> donated;  // arguments that the caller gives up for outputs

  // By slot the segment after whose exchanges nobody reads it; the number of segments for outputs.
  std::vector<size_t> last_uses() const;
  int64_t num_collectives() const;
  // What a device sends in a run.
  int64_t exchanged_bytes() const;
};

// There are as few segments as collectives depend on one another; equal collectives of
// one device's program are one.
SegmentedProgram cut_into_segments(const Graph& part);

}  // namespace tuff
