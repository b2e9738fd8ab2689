// tuff test: the cases of a conformance manifest, one JSON line per case.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/conformance/run_cases.h"
#include "frontend/session/device.h"

namespace tuff::cli {

namespace {

using conformance::Case;
using conformance::Manifest;

struct TestOptions {
  std::string manifest, device = "auto", groups, filter, cases;
  std::vector<std::string> disabled = {"fold_constants"};
  int64_t jobs = 0;  // 0: one per processor
  int64_t every = 1;
  double timeout_s = 60;
  bool bytecode = false, require_gpu = false, allow_unsupported = false;
};

// Passes and runs by a key (an op, an element type), for the summary.
class Tally {
 public:
  void add(const std::string& key, bool passes) {
    ++rows_[key].cases;
    rows_[key].passes += passes;
  }
  // Rows that are not all passes, and how many rows are.
  void print(const char* title) const {
    std::string text;
    int64_t whole = 0;
    for (const auto& [key, row] : rows_) {
      if (row.passes == row.cases)
        ++whole;
      else
        text += fmt::format("  {:<32} {}/{}\n", key, row.passes, row.cases);
    }
    print_note(fmt::format("{}: {} of {} pass all their cases{}", title, whole, rows_.size(),
                           text.empty() ? "" : "; the others:"));
    if (!text.empty()) std::fputs(text.c_str(), stderr);
  }

 private:
  struct Row {
    int64_t cases = 0, passes = 0;
  };
  std::map<std::string, Row> rows_;
};

struct Totals {
  std::map<std::string, int64_t> by_status;
  Tally ops, dtypes;

  int64_t passes(bool allow_unsupported) const {
    auto count = [this](const char* status) {
      auto found = by_status.find(status);
      return found == by_status.end() ? 0 : found->second;
    };
    return count("pass_strict") + count("pass_tolerant") +
           (allow_unsupported ? count("unsupported") : 0);
  }
};

void report_case(const Case& test, const conformance::CaseEnd& end, Totals& totals) {
  bool passes = end.status == "pass_strict" || end.status == "pass_tolerant";
  ++totals.by_status[end.status];
  totals.ops.add(test.op, passes);
  for (const std::string& dtype : test.dtypes) totals.dtypes.add(dtype, passes);
  Json json = {{"name", test.name}, {"group", test.group}, {"op", test.op}, {"status", end.status}};
  if (!end.message.empty()) json["message"] = end.message;
  std::puts(json.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

std::vector<const Case*> select_cases(const Manifest& manifest, const TestOptions& options) {
  std::set<std::string> groups;
  std::istringstream list(options.groups);
  for (std::string group; std::getline(list, group, ',');) groups.insert(group);
  std::vector<const Case*> cases;
  int64_t wanted = 0;
  for (const Case& test : manifest.cases) {
    if (!groups.empty() && !groups.contains(test.group)) continue;
    if (test.name.find(options.filter) == std::string::npos) continue;
    if (options.bytecode && test.bytecode.empty()) continue;
    if (wanted++ % options.every == 0) cases.push_back(&test);
  }
  return cases;
}

Status check_unpacked(const Manifest& manifest, const std::vector<const Case*>& cases) {
  std::error_code ignored;
  std::string file = manifest.folder + "/" + cases[0]->file;
  if (std::filesystem::exists(file, ignored)) return {};
  return Error{ErrorCode::kBadInput,
               "The case's module is not there; unpack cases.zip beside the manifest, or name its "
               "folder with --cases.",
               file};
}

Status test(const TestOptions& options) {
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  TUFF_ASSIGN(Manifest manifest, conformance::load_manifest(options.manifest, options.cases));
  std::vector<const Case*> cases = select_cases(manifest, options);
  if (cases.empty())
    return Error{ErrorCode::kUsage, "No case of the manifest has such a group and name.",
                 options.manifest};
  TUFF_RETURN_IF_ERROR(check_unpacked(manifest, cases));
  conformance::RunCasesOptions how;
  TUFF_ASSIGN(how.choice, choose_device(spec, options.require_gpu));
  how.session = session_options(options.disabled, /*quiet=*/true);
  how.session.require_gpu = options.require_gpu;
  if (options.bytecode) how.form = conformance::Form::kBytecode;
  how.pool.jobs =
      options.jobs > 0 ? options.jobs : std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  how.pool.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_s * 1000));
  Totals totals;
  auto count = static_cast<int64_t>(cases.size());
  int64_t number = 0;
  Timer timer;
  {
    Progress progress("test", "cases");
    auto done = [&](const Case& test, const conformance::CaseEnd& end) {
      report_case(test, end, totals);
      progress.update(++number, count);
    };
    TUFF_RETURN_IF_ERROR(run_cases(manifest, cases, how, done));
  }
  totals.ops.print("ops");
  totals.dtypes.print("element types");
  std::string line =
      fmt::format("{} of {} cases pass in {}:", totals.passes(false), count, format_ms(timer.ms()));
  for (const auto& [status, number] : totals.by_status)
    line += fmt::format(" {} {}", status, number);
  print_note(line);
  int64_t failures = count - totals.passes(options.allow_unsupported);
  if (failures == 0) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("({}) of ({}) cases do not pass.", failures, count), ""};
}

}  // namespace

void add_test(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* command = app.add_subcommand(
      "test", "Run a conformance manifest: one JSON line per case, exit 7 unless all pass");
  command->add_option("MANIFEST", options->manifest, "manifest.json, or the folder that holds it")
      ->required();
  add_device_option(*command, options->device);
  command->add_flag("--require-gpu", options->require_gpu,
                    "A case fails when some of it would not run on Vulkan");
  command->add_flag("--allow-unsupported", options->allow_unsupported,
                    "Cases that tuff refuses as unsupported do not make the command fail");
  command->add_option("--jobs", options->jobs, "Processes at a time (default: one per processor)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--group", options->groups, "Only these groups: core,chlo")
      ->type_name("G,..");
  command->add_option("--filter", options->filter, "Only cases with this in their name")
      ->type_name("TEXT");
  command->add_option("--every", options->every, "Only every N-th of these: a sample")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, "Seconds for one case")
      ->type_name("S")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--cases", options->cases,
                   "The folder where cases.zip is unpacked (default: beside the manifest)")
      ->type_name("DIR");
  command->add_flag("--bytecode", options->bytecode,
                    "Read each case's portable artifact instead of its text");
  add_disable_option(*command, options->disabled);
  command->callback([options, &chosen] { chosen = [options] { return test(*options); }; });
}

}  // namespace tuff::cli
