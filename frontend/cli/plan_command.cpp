// tuff plan: how much memory a model needs, without a device and without weights.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/plan_mesh.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/device.h"
#include "frontend/session/model.h"

namespace tuff::cli {

namespace {

struct PlanOptions {
  std::string model, device = "auto";
  std::vector<std::string> shapes, disabled;
  PlanMeshOptions mesh;
  bool json = false;
};

int64_t bytes_of(const PackedList& packed) {
  int64_t bytes = 0;
  for (const PackedBytes& kind : packed) bytes += kind.bytes;
  return bytes;
}

Json json_of_plan(const CompileReport& report, const PackedList& packed, const Caps& caps,
                  int64_t peak) {
  Json kinds = Json::object();
  for (const auto& [kind, bytes] : packed) kinds[kind] = bytes;
  return {{"device", caps.name},
          {"peak_bytes", peak},
          {"arguments_bytes", report.arguments_bytes},
          {"outputs_bytes", report.outputs_bytes},
          {"in_place_bytes", report.in_place_bytes},
          {"constants_bytes", report.constants_bytes},
          {"arena_bytes", report.arena_bytes},
          {"packed_bytes", bytes_of(packed)},
          {"packed", kinds},
          {"liveness_bytes", report.liveness_bytes},
          {"owner", report.arena_owner},
          {"ops", report.ops},
          {"groups", report.groups},
          {"kernels", report.kernels}};
}

std::string text_of_plan(const CompileReport& report, const PackedList& packed, const Caps& caps,
                         int64_t peak) {
  auto line = [](const char* what, int64_t bytes, const std::string& note = {}) {
    return fmt::format("{:<10} {:>12}  {}\n", what, format_bytes(bytes), note);
  };
  std::string in_place =
      report.in_place_bytes == 0
          ? ""
          : fmt::format("{} of them in donated arguments", format_bytes(report.in_place_bytes));
  std::vector<std::string> kinds;
  for (const auto& [kind, bytes] : packed)
    kinds.push_back(fmt::format("{} {}", format_bytes(bytes), kind));
  std::string copies = kinds.empty() ? ""
                                     : fmt::format("beside the peak, where there is room: {}",
                                                   fmt::join(kinds, ", "));
  return fmt::format("device     {}\n", caps.name) + line("arguments", report.arguments_bytes) +
         line("outputs", report.outputs_bytes, in_place) +
         line("constants", report.constants_bytes) + line("packed", bytes_of(packed), copies) +
         line("arena", report.arena_bytes,
              fmt::format("temporaries; no order of these steps needs less than {}",
                          format_bytes(report.liveness_bytes))) +
         line("peak", peak) +
         fmt::format("owner      {}\n", report.arena_owner.empty() ? "-" : report.arena_owner);
}

Status plan_on_mesh(const PlanOptions& options) {
  if (!options.shapes.empty())
    return Error{ErrorCode::kUsage, "A program for a mesh has fixed shapes.", "--shape"};
  PlanMeshOptions mesh = options.mesh;
  mesh.model = options.model, mesh.device = options.device, mesh.disabled = options.disabled;
  mesh.json = options.json;
  return plan_mesh(mesh);
}

Status plan(const PlanOptions& options) {
  if (!options.mesh.mesh.empty()) return plan_on_mesh(options);
  for (const auto& [option, given] : {std::pair("--link", !options.mesh.link.empty()),
                                      {"--rate", !options.mesh.rate.empty()},
                                      {"--crowd", options.mesh.crowd != 1},
                                      {"--call", !options.mesh.call.empty()},
                                      {"--one-host", options.mesh.one_host},
                                      {"--measure", options.mesh.measure}})
    if (given) return Error{ErrorCode::kUsage, "It goes with --mesh.", option};
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  TUFF_ASSIGN(Model model, import_shown(options.model, {options.shapes, {}}, options.json));
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec));
  TUFF_ASSIGN(Caps caps, caps_of(choice));
  CompileReport report;
  TUFF_ASSIGN(auto program,
              compile_model(model.graph, caps, session_options(options.disabled), &report));
  PackedList packed;
  if (choice.kind == DeviceSpec::Kind::kCpu) {
    TUFF_ASSIGN(std::unique_ptr<Device> cpu, open_device(choice));
    TUFF_ASSIGN(packed, cpu->plan_packing(*program));
  }
  int64_t peak = report.peak_bytes();
  if (options.json)
    print_json(json_of_plan(report, packed, caps, peak));
  else
    print_text(text_of_plan(report, packed, caps, peak));
  return {};
}

}  // namespace

void add_plan(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Show how much memory a model needs; needs neither weights nor a GPU");
  add_model_option(*command, options->model);
  add_shape_option(*command, options->shapes);
  add_device_option(*command, options->device);
  add_packed_memory_option(*command);
  add_disable_option(*command, options->disabled);
  command
      ->add_option("--mesh", options->mesh.mesh,
                   "The same for each device of a mesh, and what devices exchange: how many there "
                   "are along each axis "
                   "of the model's mesh, instead of the model's own numbers (64x8)")
      ->type_name("EXTENTS");
  command
      ->add_option("--link", options->mesh.link,
                   "What connects the devices, for the time of an exchange: its rate, how long a "
                   "message is under way, "
                   "and what a host moves to and from it (50GB/s,5us,10GB/s)")
      ->type_name("RATE[,TIME[,RATE]]");
  command
      ->add_option("--rate", options->mesh.rate,
                   "What a device of the mesh does at best, and what each step takes at least "
                   "(100TFLOP/s,2TB/s,5us); default: "
                   "what `tuff roof` measured on --device")
      ->type_name("RATE,RATE[,TIME]");
  command
      ->add_option("--crowd", options->mesh.crowd,
                   "How many devices of the mesh share the time of one and of its host, as "
                   "processes that share a core do (1)")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("NUMBER");
  command
      ->add_option(
          "--call", options->mesh.call,
          "What the caller and the runtime take for each step, outside of the program (400us)")
      ->type_name("TIME");
  command->add_flag("--one-host", options->mesh.one_host,
                    "All devices are one host's; CPU devices do not compute while they exchange");
  command->add_flag("--measure", options->mesh.measure,
                    "Run the share of one device of the mesh on --device, and take its time");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &chosen] { chosen = [options] { return plan(*options); }; });
}

}  // namespace tuff::cli
