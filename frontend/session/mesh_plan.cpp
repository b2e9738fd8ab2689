#include "frontend/session/mesh_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "frontend/weights/seeded.h"

namespace tuff {

namespace {

constexpr int kFewestRuns = 5, kMostRuns = 25;
constexpr double kEnoughMs = 2000;  // of runs of one segment
// Large values end in denormals, which take longer.
constexpr SeededInit kLikeWeights{.scale = 0.02};
constexpr int64_t kMostOthers = int64_t{32} << 20;  // more than most caches

// By slot the segment that makes it, or after which devices do; 0 for arguments.
std::vector<size_t> makers(const SegmentedProgram& program) {
  std::vector<size_t> made(program.slots.size(), 0);
  for (size_t at = 0; at < program.segments.size(); ++at) {
    for (uint32_t slot : program.segments[at].outputs) made[slot] = at;
    for (const Exchange& exchange : program.segments[at].exchanges) made[exchange.result] = at;
  }
  return made;
}

// By slot the segment after which its memory is free: the caller keeps all arguments but those that
// it gives up.
std::vector<size_t> kept_until(const SegmentedProgram& program) {
  std::vector<size_t> last = program.last_uses();
  std::vector<bool> donated(program.num_arguments);
  for (uint32_t argument : program.donated) donated[argument] = true;
  for (uint32_t argument = 0; argument < program.num_arguments; ++argument)
    if (!donated[argument]) last[argument] = program.segments.size();
  return last;
}

// What lies in slots when devices meet after a segment.
int64_t slot_bytes(const SegmentedProgram& program, const std::vector<size_t>& made,
                   const std::vector<size_t>& last_use, size_t at) {
  int64_t bytes = 0;
  for (size_t slot = 0; slot < program.slots.size(); ++slot)
    if (made[slot] <= at && last_use[slot] >= at) bytes += program.slots[slot].size_bytes();
  return bytes;
}

int64_t rounds_of(const Segment& segment) {
  bool reduces =
      std::any_of(segment.exchanges.begin(), segment.exchanges.end(),
                  [](const Exchange& exchange) { return exchange.op == SpmdOp::kAllReduce; });
  return segment.exchanges.empty() ? 0 : reduces ? 2 : 1;
}

struct ExchangeTime {
  double link_ms = 0, host_ms = 0;
};

ExchangeTime time_of(int64_t rounds, int64_t sent_bytes, const Link& link, double crowd) {
  auto bytes = static_cast<double>(sent_bytes);
  double host = link.host_bytes_per_second > 0 ? bytes / link.host_bytes_per_second : 0;
  double wire = static_cast<double>(rounds) * link.latency_s + bytes / link.bytes_per_second;
  return {1e3 * wire, 1e3 * crowd * host};
}

void add_exchanges(const Segment& segment, MeshPlan* plan) {
  for (const Exchange& exchange : segment.exchanges) {
    auto sum = std::find_if(plan->collectives.begin(), plan->collectives.end(),
                            [&](const CollectiveSum& known) { return known.op == exchange.op; });
    if (sum == plan->collectives.end()) sum = plan->collectives.insert(sum, {exchange.op, 0, 0});
    ++sum->count;
    sum->sent_bytes += sent_bytes(exchange.node, exchange.operand_type);
  }
  plan->rounds += rounds_of(segment);
}

double seconds_of(const Steps& steps, const DeviceRate& rate) {
  double seconds = 0;
  for (const Step& step : steps) {
    double inner = 0;
    for (const Steps& block : step.blocks) inner += seconds_of(block, rate);
    seconds += inner * static_cast<double>(step.trip_count.value_or(1));
    if (is_control(step.kind)) continue;
    auto bytes = static_cast<double>(step.cost.read_bytes + step.cost.written_bytes);
    seconds += std::max(
        {step.cost.flops / rate.flops_per_second, bytes / rate.bytes_per_second, rate.step_s});
  }
  return seconds;
}

// What a run uses beside this segment: other segments' data, and what is exchanged.
int64_t bytes_of_others(const SegmentedProgram& program, size_t segment) {
  int64_t bytes = 0;
  for (size_t at = 0; at < program.segments.size(); ++at) {
    const Segment& other = program.segments[at];
    if (at != segment)
      for (const auto* slots : {&other.arguments, &other.outputs})
        for (uint32_t slot : *slots) bytes += program.slots[slot].size_bytes();
    for (const Exchange& exchange : other.exchanges)
      bytes += exchange.operand_type.size_bytes() + program.slots[exchange.result].size_bytes();
  }
  return bytes;
}

// Of runs between which others' data goes through the caches, as in a step.
Result<std::vector<double>> measured_ms(const Graph& graph, int64_t others_bytes,
                                        const Session& session) {
  LoadOptions donating;
  donating.donate = true;
  TUFF_ASSIGN(LoadedModel model, session.load(graph, donating));
  std::vector<Literal> arguments;
  for (const TensorType& type : model.program().arguments) {
    std::string name = fmt::format("a{}", arguments.size());
    arguments.push_back(is_float(type.dtype) ? seeded_floats(name, type, kLikeWeights)
                                             : seeded_argument(name, type));
  }
  TUFF_RETURN_IF_ERROR(model.set_arguments(arguments));
  std::vector<char> others(static_cast<size_t>(std::min(others_bytes, kMostOthers)));
  std::vector<double> times;
  RunStats stats;
  TUFF_RETURN_IF_ERROR(model.run(&stats));  // the first one is slower
  double spent = 0;
  for (int run = 0; run < kMostRuns && (run < kFewestRuns || spent < kEnoughMs); ++run) {
    TUFF_RETURN_IF_ERROR(model.restore_arguments(arguments));
    std::fill(others.begin(), others.end(), static_cast<char>(run));
    TUFF_RETURN_IF_ERROR(model.run(&stats));
    times.push_back(stats.wall_ms);
    spent += stats.wall_ms;
  }
  return times;
}

double mean(const std::vector<double>& times) {
  if (times.empty()) return 0;
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

int64_t MeshPlan::sent_bytes() const {
  int64_t bytes = 0;
  for (const CollectiveSum& sum : collectives) bytes += sum.sent_bytes;
  return bytes;
}

Result<SegmentedProgram> segments_of(const WholeProgram& whole, const Caps& caps,
                                     bool on_one_host) {
  TUFF_ASSIGN(PartProgram part, partition(whole));
  return cut_into_segments(part.graph, batch_bytes_of(caps, on_one_host));
}

Result<MeshPlan> plan_mesh(const SegmentedProgram& program, int64_t num_devices, const Caps& caps,
                           const SessionOptions& options) {
  MeshPlan plan;
  plan.num_devices = num_devices;
  plan.segments = static_cast<int64_t>(program.segments.size());
  for (uint32_t slot = 0; slot < program.num_arguments; ++slot)
    plan.arguments_bytes += program.slots[slot].size_bytes();
  for (uint32_t slot : program.outputs) plan.outputs_bytes += program.slots[slot].size_bytes();
  std::vector<size_t> made = makers(program), last_use = kept_until(program);
  int64_t largest = 0;
  for (size_t at = 0; at < program.segments.size(); ++at) {
    const Segment& segment = program.segments[at];
    CompileReport report;
    TUFF_ASSIGN(auto compiled, compile_model(segment.graph, caps, options, &report));
    for_each_step(compiled->steps, [&](const Step& step, int) {
      plan.steps += is_control(step.kind) ? 0 : 1;
      plan.flops += step.cost.flops;
    });
    plan.constants_bytes += report.constants_bytes;
    largest = std::max(largest, slot_bytes(program, made, last_use, at) + report.arena_bytes);
    add_exchanges(segment, &plan);
    plan.programs.push_back(std::move(compiled));
  }
  plan.peak_bytes = largest + plan.constants_bytes;
  return plan;
}

SegmentTimes estimated_times(const MeshPlan& plan, const DeviceRate& rate) {
  SegmentTimes times;
  for (const auto& program : plan.programs)
    times.push_back({1e3 * seconds_of(program->steps, rate)});
  return times;
}

Result<SegmentTimes> measured_times(const SegmentedProgram& program, const Session& session) {
  SegmentTimes times(program.segments.size());
  for (size_t at = 0; at < times.size(); ++at) {
    if (program.segments[at].outputs.empty()) continue;
    TUFF_ASSIGN(times[at],
                measured_ms(program.segments[at].graph, bytes_of_others(program, at), session));
  }
  return times;
}

double compute_ms(const SegmentTimes& times, const MeshUse& use) {
  double sum = 0;
  for (const std::vector<double>& of_segment : times) sum += use.crowd * mean(of_segment);
  return sum;
}

double exchange_ms(const MeshPlan& plan, const Link& link, const MeshUse& use) {
  ExchangeTime time = time_of(plan.rounds, plan.sent_bytes(), link, use.crowd);
  return time.link_ms + time.host_ms;
}

double slowest_ms(const std::vector<double>& times, const MeshUse& use) {
  if (times.size() < 2) return use.crowd * mean(times);
  constexpr int kDraws = 200;
  const auto crowd = std::max<int64_t>(1, std::llround(use.crowd));
  const int64_t groups = std::max<int64_t>(1, use.num_devices / crowd);
  std::mt19937 random(0);
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double slowest = 0;
    for (int64_t group = 0; group < groups; ++group) {
      double together = 0;
      for (int64_t i = 0; i < crowd; ++i) together += times[random() % times.size()];
      slowest = std::max(slowest, together);
    }
    sum += slowest;
  }
  return sum / kDraws * use.crowd / static_cast<double>(crowd);
}

double step_ms(const SegmentedProgram& program, const SegmentTimes& times, const Link& link,
               const MeshUse& use) {
  const std::vector<std::optional<size_t>> made_by = program.exchanged_by();
  double now = use.crowd * use.call_ms, link_free = 0;
  std::vector<double> done(program.segments.size());
  auto wait_for = [&](uint32_t slot) {
    if (made_by[slot]) now = std::max(now, done[*made_by[slot]]);
  };
  for (size_t at = 0; at < program.segments.size(); ++at) {
    const Segment& segment = program.segments[at];
    for (uint32_t slot : segment.arguments) wait_for(slot);
    if (segment.exchanges.empty()) {
      now += use.crowd * mean(times[at]);
      continue;
    }
    now += slowest_ms(times[at], use);
    for (const Exchange& exchange : segment.exchanges) wait_for(exchange.operand);
    ExchangeTime time = time_of(rounds_of(segment), segment.sent_bytes(), link, use.crowd);
    link_free = std::max(now, link_free) + time.link_ms + time.host_ms;
    done[at] = link_free;
    if (use.on_host) now += time.host_ms;
  }
  return std::max(now, link_free);
}

}  // namespace tuff
