// tuff bench-worker: one of tuff's devices as a worker of a benchmark. Speaks the
// protocol of bench/README.md on stdin and stdout; hidden, for `tuff bench` only.
#include <cstdio>
#include <iostream>

#include "frontend/bench/own_worker.h"
#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"

namespace tuff::cli {

namespace {

void say(const Json& line) {
  std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

void say_error(const Error& error) {
  const char* kind = error.code == ErrorCode::kUnsupported ? "unsupported"
                     : error.code == ErrorCode::kNoDevice  ? "missing"
                                                           : "failed";
  say({{"error", {{"kind", kind}, {"message", error.to_string()}}}});
}

struct WorkerOptions {
  std::string device = "cpu";
  std::vector<std::string> disabled;
};

Result<bench::OwnWorker> open_worker(const WorkerOptions& options) {
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  if (spec.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage, "The reference evaluator is not for timing.", "--device"};
  TUFF_ASSIGN(Session session,
              Session::open(spec, session_options(options.disabled, /*quiet=*/true)));
  return bench::OwnWorker(std::move(session));
}

Status serve(const WorkerOptions& options) {
  Result<bench::OwnWorker> worker = open_worker(options);
  if (!worker.ok()) {
    say_error(worker.error());
    return {};
  }
  say({{"ok", worker->greeting()}});
  for (std::string line; std::getline(std::cin, line);) {
    Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) request = Json::object();
    if (request.value("do", "") == "end") {
      say({{"ok", Json::object()}});
      return {};
    }
    Result<Json> answer = worker->answer(request);
    if (answer.ok())
      say({{"ok", *answer}});
    else
      say_error(answer.error());
  }
  return {};
}

}  // namespace

void add_bench_worker(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("bench-worker", "A worker of `tuff bench`");
  command->group("");  // not in the help
  command->add_option("--device", options->device);
  add_disable_option(*command, options->disabled);
  command->callback([options, &chosen] { chosen = [options] { return serve(*options); }; });
}

}  // namespace tuff::cli
