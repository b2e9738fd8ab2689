// The TUFF_ environment variables.
#pragma once

#include <string>

#include "ir/support/result.h"

namespace tuff::cli {

// For the end of `tuff --help`.
std::string environment_help();

// One warning for each TUFF_ variable that nothing reads, and for each word of
// TUFF_LOG that means nothing.
void warn_about_environment();

// True iff TUFF_LOG names this topic: "compile", "run" or "tune".
bool log_enabled(const char* topic);

// TUFF_DUMP; empty if unset.
std::string dump_directory();

}  // namespace tuff::cli
