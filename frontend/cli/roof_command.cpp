// tuff roof: how fast the device is at best, measured with our own kernels.
#include <fmt/format.h>

#include <cstdio>

#include "backend/roof.h"
#include "frontend/bench/machine.h"
#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/device.h"

namespace tuff::cli {

namespace {

struct RoofOptions {
  std::string device = "auto";
  bool json = false;
};

Json json_of_roof(const Roof& roof) {
  Json json = {{"device", roof.device},         {"date", roof.date},
               {"f32_gflops", roof.f32_gflops}, {"f16_gflops", nullptr},
               {"copy_gbps", roof.copy_gbps},   {"dispatch_us", roof.dispatch_us},
               {"submit_us", roof.submit_us}};
  if (roof.f16_gflops > 0) json["f16_gflops"] = roof.f16_gflops;
  return json;
}

std::string text_of_roof(const Roof& roof) {
  std::string f16 =
      roof.f16_gflops > 0 ? fmt::format("{:.1f} GFLOP/s", roof.f16_gflops) : "no kernel";
  return fmt::format(
      "device      {}\nmeasured    {}\nmatmul f32  {:.1f} GFLOP/s\nmatmul f16  {}\n"
      "copy        {:.1f} GB/s (read plus written)\ndispatch    {:.1f} us\nsubmit      {:.1f} us\n",
      roof.device, roof.date, roof.f32_gflops, f16, roof.copy_gbps, roof.dispatch_us,
      roof.submit_us);
}

Status roof(const RoofOptions& options) {
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  if (spec.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage, "The reference evaluator has no roof; use auto, vulkan or cpu.",
                 "--device"};
  TUFF_ASSIGN(Session session, Session::open(spec, session_options({})));
  TUFF_ASSIGN(Roof measured, measure_roof(session.device(), bench::date_now()));
  if (auto cache = DiskCache::open_default())
    store_roof(*cache, measured);
  else
    print_warning("The roof is not kept: the environment names no cache directory.");
  if (options.json)
    print_json(json_of_roof(measured));
  else
    print_text(text_of_roof(measured));
  return {};
}

}  // namespace

void add_roof(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<RoofOptions>();
  CLI::App* command =
      app.add_subcommand("roof", "Measure what a device can do at best; profiles compare with it");
  add_device_option(*command, options->device);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &chosen] { chosen = [options] { return roof(*options); }; });
}

}  // namespace tuff::cli
