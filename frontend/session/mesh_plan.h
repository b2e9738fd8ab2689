// What each device of a mesh does in a run of a program that is spread over them: its memory, what
// it sends, how long it takes. No device but at most one runs.
#pragma once

#include <vector>

#include "frontend/session/session.h"
#include "ir/spmd/partition.h"
#include "ir/spmd/segments.h"

namespace tuff {

// Between any two devices, both ways at once.
struct Link {
  double bytes_per_second = 0;
  double latency_s = 0;              // of a message
  double host_bytes_per_second = 0;  // what a host moves to and from the link; 0: in no time
};

// What a device does at best.
struct DeviceRate {
  double flops_per_second = 0, bytes_per_second = 0;
  double step_s = 0;  // each step takes at least this
};

struct CollectiveSum {
  SpmdOp op = SpmdOp::kAllReduce;
  int64_t count = 0;
  int64_t sent_bytes = 0;  // by a device
};

// Of one device; all have the same.
struct MeshPlan {
  int64_t num_devices = 0;
  int64_t arguments_bytes = 0, outputs_bytes = 0, constants_bytes = 0;
  int64_t peak_bytes = 0;  // with temporaries, and values that wait for later segments
  int64_t segments = 0, steps = 0;
  double flops = 0;
  std::vector<CollectiveSum> collectives;
  int64_t sent_bytes() const;
  // Messages that wait for one another: two for each time that the devices meet to reduce, else
  // one.
  int64_t rounds = 0;
  std::vector<std::shared_ptr<const Program>> programs;  // by segment
};

// The program of a device of the mesh, in segments; what is planned, timed and run is this.
Result<SegmentedProgram> segments_of(const WholeProgram& whole, const Caps& caps, bool on_one_host);

// Compiles each segment for such a device. Errors: compile_model's.
Result<MeshPlan> plan_mesh(const SegmentedProgram& program, int64_t num_devices, const Caps& caps,
                           const SessionOptions& options);

// By segment how long a device computes in a run, each time that was looked at.
using SegmentTimes = std::vector<std::vector<double>>;

// By a device's rates: a step takes what its FLOP or its bytes take, whichever is more; of loops
// whose rounds are not known one counts.
SegmentTimes estimated_times(const MeshPlan& plan, const DeviceRate& rate);
// Of several runs on the session's device.
Result<SegmentTimes> measured_times(const SegmentedProgram& program, const Session& session);

// How the devices of a mesh are used.
struct MeshUse {
  int64_t num_devices = 1;
  double crowd = 1;      // of them share the time of one, and of its host
  bool on_host = false;  // what the host does for exchanges takes the time of what is computed
  double call_ms = 0;    // what the caller of a step and the runtime take, outside of its program
};

// How long a device computes in a run, in the mean.
double compute_ms(const SegmentTimes& times, const MeshUse& use);
// Until the last of all devices has computed a segment, if each takes one of these times.
double slowest_ms(const std::vector<double>& times, const MeshUse& use);
// How long the devices exchange in a run: each round waits for its message, all bytes go through
// the link and through the host.
double exchange_ms(const MeshPlan& plan, const Link& link, const MeshUse& use);
// How long a run takes. Devices that meet wait for the slowest. The exchanges of one segment after
// another go on beside segments that do not read their results.
double step_ms(const SegmentedProgram& program, const SegmentTimes& times, const Link& link,
               const MeshUse& use);

}  // namespace tuff
