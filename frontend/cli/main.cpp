// tuff: the command line. Results go to stdout, everything else to stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "frontend/cli/command.h"
#include "frontend/cli/did_you_mean.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"
#include "ir/support/guarded.h"

const char* tuff::cli::exit_codes_text() {
  return "0 ok, 1 run failed, 2 usage, 3 no usable device, 5 fallback refused, 6 slower than "
         "asked,\n"
         "7 mismatch, 8 out of memory, 9 device lost, 10 bad input file, 11 unsupported "
         "operation,\n"
         "130 interrupted.";
}

namespace {

int exit_code(tuff::ErrorCode code) { return static_cast<int>(code); }

std::string help_footer() {
  std::string text = "Environment:\n";
  for (const tuff::EnvironmentVariable& variable : tuff::environment_variables())
    if (variable.doc) text += fmt::format("  {:<25} {}\n", variable.name, variable.doc);
  return text + "\nExit codes: " + tuff::cli::exit_codes_text();
}

int run_action(const tuff::cli::Action& action) {
  tuff::Status status = tuff::guarded_status(action);
  if (status.ok() && std::fflush(stdout) != 0)
    status =
        tuff::Error{tuff::ErrorCode::kRunFailed, "The result cannot be written to stdout.", ""};
  if (status.ok()) return 0;
  tuff::cli::print_error(status.error());
  return exit_code(status.error().code);
}

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "A tensor compiler and runtime: StableHLO in, numbers out, on any Vulkan GPU or the CPU.",
      "tuff");
  app.set_version_flag("--version", "tuff " TUFF_VERSION);
  app.require_subcommand(1);
  app.footer(help_footer());
  tuff::cli::Action chosen;
  tuff::cli::add_run(app, chosen);
  tuff::cli::add_explain(app, chosen);
  tuff::cli::add_plan(app, chosen);
  tuff::cli::add_profile(app, chosen);
  tuff::cli::add_compile(app, chosen);
  tuff::cli::add_tune(app, chosen);
  tuff::cli::add_roof(app, chosen);
  tuff::cli::add_devices(app, chosen);
  tuff::cli::add_doctor(app, chosen);
  tuff::cli::add_check_device(app, chosen);
  tuff::cli::add_cache(app, chosen);
  tuff::cli::add_test(app, chosen);
  tuff::cli::add_bench(app, chosen);
  tuff::cli::add_bench_worker(app, chosen);
  tuff::cli::add_completion(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version are "errors" of code 0; all others are wrong usage.
    bool is_wrong = e.get_exit_code() != 0;
    // "A subcommand is required" hides which word was not understood.
    if (is_wrong && argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
      std::fprintf(stderr, "There is no command (%s).\n", argv[1]);
    if (is_wrong) std::fputs(tuff::cli::suggestions(app, argc, argv).c_str(), stderr);
    app.exit(e);
    return is_wrong ? exit_code(tuff::ErrorCode::kUsage) : 0;
  }
  for (const std::string& sentence : tuff::environment_warnings())
    tuff::cli::print_warning(sentence);
  tuff::cli::install_interrupt_handler();
  return run_action(chosen);
}

}  // namespace

// Foreign exceptions stop in run_action; what is left is the command line's own, and an error
// that cannot be told for want of memory. Nothing here takes any.
int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: No host memory.\n", stderr);
    return exit_code(tuff::ErrorCode::kOutOfMemory);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: Unexpected failure: %s\n", e.what());
    return exit_code(tuff::ErrorCode::kRunFailed);
  }
}
