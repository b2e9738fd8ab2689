// tuff test: the cases of a conformance manifest, one JSON line per case.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "backend/executable.h"
#include "frontend/cli/command.h"
#include "frontend/cli/execute.h"
#include "frontend/cli/options.h"
#include "frontend/cli/session.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/worker_pool.h"
#include "frontend/conformance/run_manifest.h"
#include "frontend/session/device.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::cli {

namespace {

using conformance::Case;
using conformance::Manifest;
using conformance::Outcome;

struct TestOptions {
  std::string manifest, device = "auto", groups, filter, cases;
  std::vector<std::string> disabled = {"fold_constants"};
  int64_t jobs = 0;  // 0: one per processor
  double timeout_s = 60;
  bool bytecode = false, require_gpu = false;
};

const char* status_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStrict: return "pass_strict";
    case Outcome::kTolerant: return "pass_tolerant";
    case Outcome::kMismatch: return "mismatch";
    case Outcome::kUnsupported: return "unsupported";
    default: return "error";
  }
}

// Runs cases in one worker process; its device is opened at the first of them.
class CaseRunner {
 public:
  CaseRunner(const Manifest& manifest, const std::vector<const Case*>& cases,
             const TestOptions& options, DeviceChoice choice)
      : manifest_(manifest), cases_(cases), options_(options), choice_(std::move(choice)) {}

  // "status\nmessage".
  std::string operator()(int64_t index) {
    auto form = options_.bytecode ? conformance::Form::kBytecode : conformance::Form::kText;
    conformance::CaseResult result;
    try {
      result = run_case(
          manifest_, *cases_[static_cast<size_t>(index)],
          [this](const Graph& graph, const std::vector<Literal>& inputs) {
            return run(graph, inputs);
          },
          form);
    } catch (const std::exception& e) {
      result = {"", Outcome::kRunFailed, std::string("Unexpected failure: ") + e.what()};
    }
    return std::string(status_name(result.outcome)) + "\n" + result.detail;
  }

 private:
  Result<std::vector<Literal>> run(const Graph& graph, const std::vector<Literal>& inputs) {
    if (choice_.kind == DeviceSpec::Kind::kReference) return evaluate(graph, inputs);
    if (!device_) {
      TUFF_ASSIGN(device_, open_device(choice_, {nullptr, print_warning}));
    }
    CompileReport report;
    TUFF_ASSIGN(auto program,
                compile_graph(graph, device_->caps(), as_set(options_.disabled), &report));
    if (options_.require_gpu) TUFF_RETURN_IF_ERROR(refuse_hosted(report));
    if (program->steps.empty() && needs_work(graph))
      return Error{ErrorCode::kRunFailed, "Nothing is dispatched, so this run shows nothing.", ""};
    TUFF_ASSIGN(Executable executable, Executable::create(*device_, program, {}));
    return executable(inputs);
  }

  // Some operation has a result that is not empty.
  static bool needs_work(const Graph& graph) {
    for (Value output : graph.outputs()) {
      Op op = graph.node(output).op;
      if (op != Op::kParameter && op != Op::kConstant && graph.type(output).num_elements() > 0)
        return true;
    }
    return false;
  }

  const Manifest& manifest_;
  const std::vector<const Case*>& cases_;
  const TestOptions& options_;
  DeviceChoice choice_;
  std::unique_ptr<Device> device_;
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

  int64_t passes() const {
    auto count = [this](const char* status) {
      auto found = by_status.find(status);
      return found == by_status.end() ? 0 : found->second;
    };
    return count("pass_strict") + count("pass_tolerant");
  }
};

void report_case(const Case& test, const WorkerAnswer& answer, Totals& totals) {
  std::string status = "error", message = answer.text;
  if (answer.end == WorkerAnswer::End::kTimeout) status = "timeout";
  if (answer.end == WorkerAnswer::End::kAnswer) {
    size_t end = answer.text.find('\n');
    status = answer.text.substr(0, end);
    message = answer.text.substr(end + 1);
  }
  bool passes = status == "pass_strict" || status == "pass_tolerant";
  ++totals.by_status[status];
  totals.ops.add(test.op, passes);
  for (const std::string& dtype : test.dtypes) totals.dtypes.add(dtype, passes);
  Json json = {{"name", test.name}, {"group", test.group}, {"op", test.op}, {"status", status}};
  if (!message.empty()) json["message"] = message;
  std::puts(json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

std::vector<const Case*> select_cases(const Manifest& manifest, const TestOptions& options) {
  std::set<std::string> groups;
  std::istringstream list(options.groups);
  for (std::string group; std::getline(list, group, ',');) groups.insert(group);
  std::vector<const Case*> cases;
  for (const Case& test : manifest.cases) {
    if (!groups.empty() && !groups.contains(test.group)) continue;
    if (test.name.find(options.filter) == std::string::npos) continue;
    if (options.bytecode && test.bytecode.empty()) continue;
    cases.push_back(&test);
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
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec, options.require_gpu));
  WorkerPoolOptions pool;
  pool.jobs =
      options.jobs > 0 ? options.jobs : std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  pool.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_s * 1000));
  Totals totals;
  auto count = static_cast<int64_t>(cases.size());
  Timer timer;
  // Each worker process has its own copy of the runner, and so its own device.
  auto runner = std::make_shared<CaseRunner>(manifest, cases, options, choice);
  {
    Progress progress("test", "cases", false);
    auto done = [&](int64_t i, const WorkerAnswer& answer) {
      report_case(*cases[static_cast<size_t>(i)], answer, totals);
      progress.update(i + 1, count);
    };
    auto work = [runner](int64_t i) { return (*runner)(i); };
    TUFF_RETURN_IF_ERROR(run_in_workers(count, pool, work, done));
  }
  totals.ops.print("ops");
  totals.dtypes.print("element types");
  std::string line =
      fmt::format("{} of {} cases pass in {}:", totals.passes(), count, format_ms(timer.ms()));
  for (const auto& [status, number] : totals.by_status)
    line += fmt::format(" {} {}", status, number);
  print_note(line);
  if (totals.passes() == count) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("({}) of ({}) cases do not pass.", count - totals.passes(), count), ""};
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
  command->add_option("--jobs", options->jobs, "Processes at a time (default: one per processor)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--group", options->groups, "Only these groups: core,chlo")
      ->type_name("G,..");
  command->add_option("--filter", options->filter, "Only cases with this in their name")
      ->type_name("TEXT");
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
