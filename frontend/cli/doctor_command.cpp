// tuff doctor: why a GPU is or is not used, from the loader to the device, and
// what to do about it. Never runs a model; well below a second.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "backend/cache.h"
#include "frontend/cli/command.h"
#include "frontend/cli/driver_manifests.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/device.h"

namespace tuff::cli {

namespace {

void line(const char* what, const std::string& text) {
  print_text(fmt::format("{:<9}{}", what, text) + "\n");
}
void advise(const std::string& text) { line("  fix", text); }

bool check_loader() {
  std::string trouble = library_trouble("libvulkan.so.1");
  line("loader", trouble.empty() ? "libvulkan.so.1 opens" : "libvulkan.so.1: " + trouble);
  if (!trouble.empty())
    advise("install the Vulkan loader (Debian, Ubuntu: libvulkan1; Fedora: vulkan-loader)");
  return trouble.empty();
}

// True iff at least one driver's library opens.
bool check_drivers() {
  DriverSearch search = find_driver_manifests();
  if (!search.override_variable.empty())
    line("drivers", fmt::format("only those of {} = {}", search.override_variable,
                                fmt::join(search.folders, ":")));
  bool any = false;
  for (const DriverManifest& manifest : search.manifests) {
    any |= manifest.trouble.empty();
    line("driver",
         fmt::format("{}  {}", manifest.path,
                     manifest.trouble.empty() ? manifest.library + " opens" : manifest.trouble));
  }
  if (any) return true;
  if (!search.override_variable.empty())
    advise(fmt::format("unset {}, or let it name a driver's .json file", search.override_variable));
  else if (search.manifests.empty())
    advise(
        fmt::format("no driver is installed; none of {} holds a .json file. Install your GPU's "
                    "driver (Mesa on Debian, "
                    "Ubuntu: mesa-vulkan-drivers); in a container, pass the GPU and its driver in",
                    fmt::join(search.folders, " ")));
  else
    advise("install what the libraries above lack, or the driver again");
  return false;
}

// Render nodes that exist but refuse us are a frequent reason for a missing GPU.
void check_permissions() {
  std::error_code error;
  int nodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/dri", error)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with("renderD")) continue;
    ++nodes;
    bool allowed = ::access(entry.path().c_str(), R_OK | W_OK) == 0;
    line("node", fmt::format("{}  {}", entry.path().string(),
                             allowed ? "may be used" : "permission denied"));
    if (!allowed) advise("add yourself to the groups render and video, and log in again");
  }
  if (nodes == 0)
    line("node", "/dev/dri has no render node; in a container, pass it in (--device /dev/dri)");
}

// True iff some Vulkan device is usable, software ones included.
bool check_devices() {
  Result<std::vector<DeviceInfo>> devices = list_vulkan_devices();
  if (!devices.ok()) {
    line("instance", devices.error().message);
    return false;
  }
  line("instance", fmt::format("Vulkan starts and has {} devices", devices->size()));
  bool any = false;
  for (const DeviceInfo& info : *devices) {
    any |= info.why_not.empty();
    std::string state = info.why_not.empty() ? "usable" : "not usable: " + info.why_not;
    line("device", fmt::format("vulkan:{} {} ({}, {})  {}", info.index, info.name, info.type,
                               info.driver, state));
    for (const std::string& matrix : matrix_texts(info.caps)) line("  matrix", matrix);
    for (const std::string& quirk : info.quirks) line("  quirk", quirk);
    if (info.why_not.empty())
      line("  tested", info.self_tested ? "its kernels were compared with known answers"
                                        : "not yet: it is when it is first used");
  }
  return any;
}

void check_cache() {
  std::string directory = default_cache_directory();
  if (directory.empty()) {
    line("cache",
         "off: neither TUFF_CACHE_DIR nor HOME is set, so kernels are compiled in every process");
    return;
  }
  std::error_code error;
  std::filesystem::path existing = directory;
  while (!existing.empty() && existing != existing.root_path() &&
         !std::filesystem::exists(existing, error))
    existing = existing.parent_path();
  bool writable = ::access(existing.c_str(), W_OK) == 0;
  line("cache",
       fmt::format("{}  {}", directory, writable ? "may be written" : "cannot be written"));
  if (!writable)
    advise(
        "set TUFF_CACHE_DIR to a directory of yours; without it kernels are compiled in every "
        "process");
}

Status doctor() {
  bool loader = check_loader();
  bool drivers = loader && check_drivers();
  check_permissions();
  bool usable = loader && check_devices();
  check_cache();
  Result<DeviceChoice> choice = choose_device(DeviceSpec{});
  if (choice.ok())
    line("auto", choice->kind == DeviceSpec::Kind::kVulkan
                     ? fmt::format("vulkan:{}, {}", choice->index, choice->why)
                     : "cpu, " + choice->why);
  if (usable) return {};
  std::string what = !loader    ? "the Vulkan loader is missing"
                     : !drivers ? "no Vulkan driver can be loaded"
                                : "no Vulkan device is usable";
  return Error{ErrorCode::kNoDevice,
               fmt::format("No GPU can be used: {}. Models run on the CPU (--device cpu).", what),
               ""};
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Say why a GPU is or is not used, and what to do (exit 3: none is usable)");
  command->callback([&chosen] { chosen = doctor; });
}

}  // namespace tuff::cli
