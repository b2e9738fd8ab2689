// tuff check-device: one command for a device that nobody has tried yet.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "frontend/check/check.h"
#include "frontend/cli/bench_directory.h"
#include "frontend/cli/command.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

namespace fs = std::filesystem;

struct CheckDeviceOptions {
  check::CheckOptions check;
  std::string output = "tuff-check";
};

// The first of these that is there; empty: none.
std::string first_existing(const std::vector<fs::path>& paths) {
  std::error_code ignored;
  for (const fs::path& path : paths)
    if (fs::exists(path, ignored)) return fs::weakly_canonical(path, ignored).string();
  return "";
}

// What comes with an installed tuff, else what a build folder has.
void find_companions(check::CheckOptions& options) {
  std::error_code error;
  options.self = fs::read_symlink("/proc/self/exe", error).string();
  fs::path folder = fs::path(options.self).parent_path(),
           share = folder.parent_path() / "share/tuff";
  options.bench = bench_directory();
  if (options.models.empty())
    options.models = first_existing({share / "models", folder / "nine_models"});
  options.tables = first_existing({share / "tests/ops"});
  if (options.op_tables.empty())
    options.op_tables = first_existing(
        {folder.parent_path() / "libexec/tuff/ops_test", folder / "tests/ops/ops_test"});
}

Status check_device(CheckDeviceOptions options) {
  check::CheckOptions& how = options.check;
  if (!how.device.starts_with("vulkan"))
    return Error{ErrorCode::kUsage, "Only Vulkan devices are checked; use vulkan or vulkan:N.",
                 "--device"};
  find_companions(how);
  std::error_code error;
  fs::create_directories(options.output, error);
  how.directory = fs::absolute(options.output, error).string() + "/run";
  fs::remove_all(how.directory, error);
  fs::create_directories(how.directory, error);
  if (error)
    return Error{ErrorCode::kUsage,
                 fmt::format("The folder cannot be written ({}).", error.message()),
                 options.output};
  how.interrupted = [] { return !check_interrupt().ok(); };
  how.say = [](const std::string& line) { print_note("check " + line); };
  std::string json_path = options.output + "/check.json",
              page_path = options.output + "/check.html";
  // Both files are whole after each part, whatever becomes of this process.
  auto keep = [&](const check::Json& json) -> Status {
    TUFF_RETURN_IF_ERROR(
        write_file(json_path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return write_file(page_path, check::render_check(json));
  };
  TUFF_ASSIGN(check::Json result, check::check_device(how, keep));
  fs::remove_all(how.directory, error);
  fmt::print("{}\n{}\n{}\n", json_path, page_path, check::device_row(result));
  std::string wrong;
  for (const check::Json& part : result["parts"])
    if (part["status"] == "failed" || part["status"] == "hung")
      wrong += (wrong.empty() ? "" : ", ") + part["name"].get<std::string>();
  if (!result["device"].is_object())
    return Error{ErrorCode::kNoDevice, "No Vulkan device is usable; the files say why.", json_path};
  if (wrong.empty()) return {};
  return Error{ErrorCode::kRunFailed, fmt::format("These parts failed or hung: {}.", wrong),
               json_path};
}

}  // namespace

void add_check_device(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CheckDeviceOptions>();
  check::CheckOptions& how = options->check;
  how.device = "vulkan";
  how.python = "python3";
  if (const char* suites = std::getenv("TUFF_CONFORMANCE"); suites != nullptr)
    how.conformance = suites;
  CLI::App* command = app.add_subcommand(
      "check-device",
      "Try a Vulkan device: right, how fast, what its driver does; two files to send");
  command->add_option("--device", how.device, "vulkan (the best one) or vulkan:N")
      ->capture_default_str();
  command->add_option("--output", options->output, "Folder of check.json and check.html")
      ->type_name("DIR")
      ->capture_default_str();
  command
      ->add_option("--minutes", how.minutes,
                   "When no further part begins (default: 10; 24 on a software device)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--part-seconds", how.part_seconds,
                   "What each part may take, instead of its own limit")
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--only", how.only,
          "Only parts whose names begin so: self-test, roof, model, driver, product, peers, "
          "\"op tables\", conformance")
      ->delimiter(',')
      ->type_name("PART,..");
  command
      ->add_option("--models", how.models, "Folder of bundles (default: those that come with tuff)")
      ->type_name("DIR");
  command
      ->add_option("--conformance", how.conformance,
                   "Folder of the suites stablehlo and fuzz, unpacked (default: TUFF_CONFORMANCE)")
      ->type_name("DIR");
  command->add_option("--op-tables", how.op_tables, "The program of the op tables (ops_test)")
      ->type_name("FILE");
  command->add_option("--python", how.python, "The Python that may have JAX and torch for GPUs")
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options] { return check_device(*options); }; });
}

}  // namespace tuff::cli
