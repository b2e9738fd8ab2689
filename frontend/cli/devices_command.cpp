// tuff devices: what a model could run on here, and what `auto` takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "frontend/cli/command.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/device.h"

namespace tuff::cli {

namespace {

struct Listing {
  std::vector<DeviceInfo> vulkan;
  std::string no_vulkan;  // why there is none; empty otherwise
  std::string cpu;        // description
  DeviceChoice chosen;
};

Result<Listing> list_devices() {
  Listing listing;
  Result<std::vector<DeviceInfo>> devices = list_vulkan_devices();
  if (devices.ok())
    listing.vulkan = *devices;
  else
    listing.no_vulkan = devices.error().message;
  TUFF_ASSIGN(std::unique_ptr<Device> cpu, open_device({DeviceSpec::Kind::kCpu, 0, ""}));
  listing.cpu = cpu->description();
  TUFF_ASSIGN(listing.chosen, choose_device(DeviceSpec{}));
  return listing;
}

bool is_chosen(const Listing& listing, const DeviceInfo& info) {
  return listing.chosen.kind == DeviceSpec::Kind::kVulkan && listing.chosen.index == info.index;
}

std::string id_of(const DeviceInfo& info) { return fmt::format("vulkan:{}", info.index); }

std::string text_of(const Listing& listing) {
  std::string text;
  if (!listing.no_vulkan.empty()) text += fmt::format("vulkan     none: {}\n", listing.no_vulkan);
  for (const DeviceInfo& info : listing.vulkan) {
    text += fmt::format("{:<10} {}, {}, Vulkan {}, {} of memory{}\n", id_of(info), info.name,
                        info.type, info.api_version, format_bytes(info.memory_bytes),
                        is_chosen(listing, info) ? "  <- auto" : "");
    text += fmt::format("{:<10} driver {}\n", "", info.driver);
    if (!info.pci_address.empty()) text += fmt::format("{:<10} pci {}\n", "", info.pci_address);
    if (!info.why_not.empty()) text += fmt::format("{:<10} not usable: {}\n", "", info.why_not);
    if (std::vector<std::string> matrices = matrix_texts(info.caps); !matrices.empty())
      text += fmt::format("{:<10} matrices {}\n", "", fmt::join(matrices, ", "));
    for (const std::string& quirk : info.quirks)
      text += fmt::format("{:<10} quirk {}\n", "", quirk);
    if (info.why_not.empty() && !info.self_tested)
      text += fmt::format("{:<10} not tested yet: it is when it is first used\n", "");
  }
  bool cpu = listing.chosen.kind == DeviceSpec::Kind::kCpu;
  text += fmt::format("{:<10} {}{}\n", "cpu", listing.cpu, cpu ? "  <- auto" : "");
  return text + fmt::format("{:<10} the evaluator that --check compares with; slow\n", "reference");
}

std::string uuid_text(const DeviceInfo& info) {
  std::string text;
  for (uint8_t byte : info.uuid) text += fmt::format("{:02x}", byte);
  return text;
}

Json json_of(const Listing& listing) {
  Json devices = Json::array();
  for (const DeviceInfo& info : listing.vulkan)
    devices.push_back({{"id", id_of(info)},
                       {"name", info.name},
                       {"type", info.type},
                       {"driver", info.driver},
                       {"api_version", info.api_version},
                       {"vendor_id", info.vendor_id},
                       {"device_id", info.device_id},
                       {"uuid", uuid_text(info)},
                       {"pci_address", info.pci_address},
                       {"memory_bytes", info.memory_bytes},
                       {"memory_available_bytes", info.memory_available_bytes},
                       {"usable", info.why_not.empty()},
                       {"why_not", info.why_not},
                       {"matrices", matrix_texts(info.caps)},
                       {"quirks", info.quirks},
                       {"self_tested", info.self_tested},
                       {"auto", is_chosen(listing, info)}});
  devices.push_back({{"id", "cpu"},
                     {"name", listing.cpu},
                     {"type", "cpu"},
                     {"usable", true},
                     {"auto", listing.chosen.kind == DeviceSpec::Kind::kCpu}});
  devices.push_back({{"id", "reference"},
                     {"name", "reference evaluator"},
                     {"type", "reference"},
                     {"usable", true},
                     {"auto", false}});
  return {{"devices", std::move(devices)}, {"no_vulkan", listing.no_vulkan}};
}

Status devices(bool json) {
  TUFF_ASSIGN(Listing listing, list_devices());
  if (json)
    print_json(json_of(listing));
  else
    print_text(text_of(listing));
  return {};
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "List the devices, and which one `auto` takes");
  command->add_flag("--json", *json, "One JSON object on stdout");
  command->callback([json, &chosen] { chosen = [json] { return devices(*json); }; });
}

}  // namespace tuff::cli
