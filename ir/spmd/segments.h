// The program of one device, cut where devices exchange data: between two exchanges it is
// an ordinary program, which every device runs by itself.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "ir/caps.h"
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

// Its exchanges begin once its graph has run, together, and after those of segments before it.
// They may go on while later segments run that read none of their results.
struct Segment {
  Graph graph;                               // of the first ones perhaps without outputs
  std::vector<uint32_t> arguments, outputs;  // slots, in the graph's order
  std::vector<Exchange> exchanges;           // independent of each other

  // What a device sends after it.
  int64_t sent_bytes() const;
};

struct SegmentedProgram {
  std::vector<TensorType> slots;  // the types of parts
  uint32_t num_arguments = 0;     // slot `num_arguments` is the partition id
  std::vector<Segment> segments;  // the last one has no exchanges
  std::vector<uint32_t> outputs;  // slots
  std::vector<uint32_t> donated;  // arguments that the caller gives up for outputs

  // By slot the segment after which nobody reads it, but exchanges that have begun; the number of
  // segments for outputs.
  std::vector<size_t> last_uses() const;
  // By slot the segment whose exchanges make it, or nothing.
  std::vector<std::optional<size_t>> exchanged_by() const;
  int64_t num_collectives() const;
  // What a device sends in a run.
  int64_t exchanged_bytes() const;
};

// Exchanges that could be made at once and send `batch_bytes` or more are made in batches of about
// that much: of what is made first, or read first, first. Those of arguments begin when the readers
// of the second batch before them do, so that a device has room for few of their results. Devices
// compute meanwhile what needs none of them. Otherwise there are as few segments as exchanges wait
// for one another. Equal exchanges of one device's program are one.
inline constexpr int64_t kBatchBytes = int64_t{2} << 20;
inline constexpr int64_t kOneBatch = std::numeric_limits<int64_t>::max();
// How much devices of this kind do at once. Where the same processors compute and exchange, batches
// would only have devices wait for each other more often.
int64_t batch_bytes_of(const Caps& caps, bool on_one_host);
SegmentedProgram cut_into_segments(const Graph& part, int64_t batch_bytes = kBatchBytes);

}  // namespace tuff
