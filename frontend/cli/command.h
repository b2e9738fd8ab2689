// What a subcommand is. It adds its options to the app. When it is the one the
// user chose, it puts what to do into `chosen`. main runs that and turns an Error
// into its exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "ir/support/result.h"

namespace tuff::cli {

using Action = std::function<Status()>;

void add_run(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_plan(CLI::App& app, Action& chosen);
void add_profile(CLI::App& app, Action& chosen);
void add_compile(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);
void add_roof(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_check_device(CLI::App& app, Action& chosen);
void add_cache(CLI::App& app, Action& chosen);
void add_test(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_bench_worker(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);

// What each exit code means.
const char* exit_codes_text();

}  // namespace tuff::cli
