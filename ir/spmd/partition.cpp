#include "ir/spmd/partition.h"

#include <cmath>
#include <set>

#include "ir/ops/trip_count.h"
#include "ir/passes/canonicalize/canonicalize_rules.h"
#include "ir/rewrite.h"
#include "ir/spmd/partitioner.h"
#include "ir/spmd/segments.h"
#include "ir/spmd/unroll_exchanges.h"
#include "ir/support/deep_stack.h"

namespace tuff {

namespace {

using spmd::Partitioner;
using spmd::sent_bytes_of;

// Roughly what a device computes in a run: products, and what everything writes.
double work_seconds(const Graph& part) {
  constexpr double kFlopsPerSecond = 1e11, kBytesPerSecond = 1e10;
  double seconds = 0;
  std::vector<bool> live = live_nodes(part);
  for (uint32_t id = part.num_parameters(); id < part.nodes().size(); ++id) {
    if (!live[id]) continue;
    const Node& node = part.node(id);
    if (node.op == Op::kWhile) {
      auto rounds = static_cast<double>(known_trip_count(part, node).value_or(1));
      seconds += rounds * work_seconds(*node.regions[1]);
      continue;
    }
    for (const TensorType& type : node.types)
      seconds += static_cast<double>(type.size_bytes()) / kBytesPerSecond;
    if (node.op != Op::kDotGeneral && node.op != Op::kConvolution) continue;
    // Each element of the operands meets as many as there are of the result for each other one.
    double elements = static_cast<double>(node.types[0].num_elements());
    for (Value v : node.operands) elements *= static_cast<double>(part.type(v).num_elements());
    seconds += 2 * std::sqrt(elements) / kFlopsPerSecond;
  }
  return seconds;
}

// With what devices exchange, at the rate of a common link, and how often they meet.
double run_seconds(const PartProgram& program) {
  constexpr double kBytesPerSecond = 1e9, kMeeting = 1e-4;
  auto meetings = static_cast<double>(cut_into_segments(program.graph).segments.size());
  return work_seconds(program.graph) + meetings * kMeeting +
         static_cast<double>(sent_bytes_of(program.graph)) / kBytesPerSecond;
}

struct Attempt {
  PartProgram program;
  std::set<uint32_t> whole_loops;
};

// The better of two ways to give up, where they may differ: what is cheap for one operation may be
// dear for those after it.
Result<Attempt> attempt(const WholeProgram& program, const Graph& whole) {
  Partitioner first(program, whole, spmd::GiveUp::kWeights);
  TUFF_ASSIGN(PartProgram result, first.run());
  if (!first.contested()) return Attempt{std::move(result), first.whole_loops()};
  Partitioner second(program, whole, spmd::GiveUp::kFewestBytes);
  Result<PartProgram> other = second.run();
  if (other && sent_bytes_of(other->graph) < sent_bytes_of(result.graph))
    return Attempt{std::move(*other), second.whole_loops()};
  return Attempt{std::move(result), first.whole_loops()};
}

// Loops in whose rounds devices would have to meet are written out where that is cheaper than to
// have their values whole.
Result<PartProgram> best_partition(const WholeProgram& program) {
  // A pool's gradient pads between windows: by itself that is no window over parts.
  const Graph whole = rewrite_graph(unroll_exchanges(program.graph), canonical::windows);
  TUFF_ASSIGN(Attempt best, attempt(program, whole));
  if (best.whole_loops.empty()) return std::move(best.program);
  std::optional<Graph> unrolled = unroll_loops(whole, best.whole_loops);
  if (!unrolled) return std::move(best.program);
  Result<Attempt> other = attempt(program, *unrolled);
  if (other && run_seconds(other->program) < run_seconds(best.program))
    return std::move(other->program);
  return std::move(best.program);
}

}  // namespace

Result<PartProgram> partition(const WholeProgram& program) {
  return on_deep_stack([&] { return best_partition(program); });
}

}  // namespace tuff
