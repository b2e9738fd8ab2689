#include "frontend/cli/plan_mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <sstream>

#include "backend/roof.h"
#include "frontend/cli/quantity.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/measure.h"
#include "frontend/session/mesh_plan.h"
#include "frontend/session/model.h"
#include "frontend/session/tensor_io.h"
#include "ir/spmd/collective.h"

namespace tuff::cli {

namespace {

// "a,b" or "a,b,c": the parts, each in its unit, at least so many of them. Errors: kUsage.
Status parse_quantities(const std::string& text, const char* option, const char* example,
                        size_t least, std::vector<std::pair<const char*, double*>> parts) {
  std::vector<std::string> words;
  std::istringstream list(text + ',');
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  bool good = words.size() >= least && words.size() <= parts.size();
  for (size_t i = 0; good && i < words.size(); ++i) {
    std::optional<double> number = quantity(words[i], parts[i].first);
    good = number.has_value();
    if (good) *parts[i].second = *number;
  }
  if (good) return {};
  return Error{ErrorCode::kUsage, fmt::format("({}) is not understood; as in {}.", text, example),
               option};
}

struct Compute {
  SegmentTimes times;
  std::string by;  // what they were worked out from
};

std::optional<DeviceRate> rate_of(const std::optional<Roof>& roof) {
  if (!roof) return std::nullopt;
  return DeviceRate{roof->f32_gflops * 1e9, roof->copy_gbps * 1e9, roof->dispatch_us * 1e-6};
}

// Nothing where neither the options nor a measured roof say how fast a device is.
Result<std::optional<Compute>> compute_time(const PlanMeshOptions& options,
                                            const SegmentedProgram& program, const MeshPlan& plan,
                                            const Caps& caps, const DeviceSpec& spec) {
  if (options.measure) {
    SessionOptions session = session_options(options.disabled, options.json);
    TUFF_ASSIGN(Session here, Session::open(spec, session));
    TUFF_ASSIGN(SegmentTimes times, measured_times(program, here));
    return std::optional(Compute{std::move(times), "measured on this device"});
  }
  std::string by = "by --rate";
  std::optional<DeviceRate> rate;
  if (!options.rate.empty()) {
    rate.emplace();
    TUFF_RETURN_IF_ERROR(parse_quantities(options.rate, "--rate", "100TFLOP/s,2TB/s,5us", 2,
                                          {{"FLOP/s", &rate->flops_per_second},
                                           {"B/s", &rate->bytes_per_second},
                                           {"s", &rate->step_s}}));
  } else if (auto cache = DiskCache::open_default()) {
    rate = rate_of(load_roof(*cache, caps.name));
    by = "by this device's roof";
  }
  if (!rate) return std::optional<Compute>();
  return std::optional(Compute{estimated_times(plan, *rate), by});
}

struct Times {
  std::optional<double> compute_ms, exchange_ms, step_ms;
  std::string compute_by;
};

Result<Times> times_of(const PlanMeshOptions& options, const SegmentedProgram& program,
                       const MeshPlan& plan, const Caps& caps, const DeviceSpec& spec,
                       const std::optional<Link>& link) {
  TUFF_ASSIGN(std::optional<Compute> compute, compute_time(options, program, plan, caps, spec));
  double call_s = 0;
  if (!options.call.empty())
    TUFF_RETURN_IF_ERROR(parse_quantities(options.call, "--call", "400us", 1, {{"s", &call_s}}));
  const MeshUse use{plan.num_devices, options.crowd, is_host(caps), 1e3 * call_s};
  Times times;
  if (compute) {
    times.compute_ms = compute_ms(compute->times, use);
    times.compute_by = compute->by;
  }
  if (link) times.exchange_ms = exchange_ms(plan, *link, use);
  if (compute && link) times.step_ms = step_ms(program, compute->times, *link, use);
  return times;
}

Json json_of(const PlanMeshOptions& options, const SegmentedProgram& program, const MeshPlan& plan,
             const Caps& caps, const Times& times) {
  Json collectives = Json::object();
  for (const CollectiveSum& sum : plan.collectives)
    collectives[spmd_op_name(sum.op)] = {{"count", sum.count}, {"sent_bytes", sum.sent_bytes}};
  Json exchanges = Json::array();
  for (const Segment& segment : program.segments)
    for (const Exchange& exchange : segment.exchanges)
      exchanges.push_back({{"op", spmd_op_name(exchange.op)},
                           {"operand", exchange.operand_type.to_string()},
                           {"sent_bytes", sent_bytes(exchange.node, exchange.operand_type)},
                           {"where", exchange.node.loc}});
  auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"device", caps.name},
          {"mesh", options.mesh},
          {"devices", plan.num_devices},
          {"peak_bytes", plan.peak_bytes},
          {"arguments_bytes", plan.arguments_bytes},
          {"outputs_bytes", plan.outputs_bytes},
          {"constants_bytes", plan.constants_bytes},
          {"segments", plan.segments},
          {"steps", plan.steps},
          {"flops", plan.flops},
          {"collectives", collectives},
          {"sent_bytes", plan.sent_bytes()},
          {"rounds", plan.rounds},
          {"exchanges", exchanges},
          {"compute_ms", number(times.compute_ms)},
          {"exchange_ms", number(times.exchange_ms)},
          {"step_ms", number(times.step_ms)}};
}

std::string text_of(const PlanMeshOptions& options, const MeshPlan& plan, const Caps& caps,
                    const Times& times) {
  std::vector<std::string> sums;
  for (const CollectiveSum& sum : plan.collectives)
    sums.push_back(
        fmt::format("{} {} of {}", sum.count, spmd_op_name(sum.op), format_bytes(sum.sent_bytes)));
  auto line = [](const char* what, const std::string& value, const std::string& note = {}) {
    return fmt::format("{:<10} {:>12}{}{}\n", what, value, note.empty() ? "" : "  ", note);
  };
  std::string text =
      fmt::format("device     {}\nmesh       {}: {} devices; what follows is each one's\n",
                  caps.name, options.mesh, plan.num_devices) +
      line("arguments", format_bytes(plan.arguments_bytes)) +
      line("outputs", format_bytes(plan.outputs_bytes)) +
      line("peak", format_bytes(plan.peak_bytes)) +
      line("work", fmt::format("{:.4g} GFLOP", plan.flops * 1e-9),
           fmt::format("in {} steps", plan.steps)) +
      line("sends", format_bytes(plan.sent_bytes()), fmt::format("{}", fmt::join(sums, ", ")));
  text += times.compute_ms ? line("computes", format_ms(*times.compute_ms), times.compute_by)
                           : line("computes", "-", "give --rate or --measure, or run `tuff roof`");
  text += times.exchange_ms ? line("exchanges", format_ms(*times.exchange_ms),
                                   fmt::format("in {} rounds, by --link", plan.rounds))
                            : line("exchanges", "-", "give --link");
  if (times.step_ms)
    text += line("step", format_ms(*times.step_ms),
                 fmt::format("{:.0f} % of it is calls, exchanges and waits for others",
                             100 * (1 - *times.compute_ms / *times.step_ms)));
  return text;
}

}  // namespace

Status plan_mesh(const PlanMeshOptions& options) {
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  TUFF_ASSIGN(std::vector<int64_t> extents, parse_extents(options.mesh, "--mesh"));
  std::optional<Link> link;
  if (!options.link.empty()) {
    link.emplace();
    TUFF_RETURN_IF_ERROR(parse_quantities(options.link, "--link", "50GB/s,5us,10GB/s", 1,
                                          {{"B/s", &link->bytes_per_second},
                                           {"s", &link->latency_s},
                                           {"B/s", &link->host_bytes_per_second}}));
  }
  TUFF_ASSIGN(WholeProgram whole, import_for_mesh(options.model, extents));
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec));
  TUFF_ASSIGN(Caps caps, caps_of(choice));
  TUFF_ASSIGN(SegmentedProgram program, segments_of(whole, caps, options.one_host));
  TUFF_ASSIGN(MeshPlan plan, tuff::plan_mesh(program, whole.mesh.num_devices(), caps,
                                             session_options(options.disabled, options.json)));
  TUFF_ASSIGN(Times times, times_of(options, program, plan, caps, spec, link));
  if (options.json)
    print_json(json_of(options, program, plan, caps, times));
  else
    print_text(text_of(options, plan, caps, times));
  return {};
}

}  // namespace tuff::cli
