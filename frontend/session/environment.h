// What the TUFF_ variables of this process say. Programs ask here and pass it on; the rest of
// the session looks at no environment.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tuff {

struct EnvironmentVariable {
  const char* name;
  const char* doc;  // null: for our own tests, not shown
};
std::span<const EnvironmentVariable> environment_variables();

// One sentence for each TUFF_ variable that nothing reads, and for each word of
// TUFF_LOG that means nothing.
std::vector<std::string> environment_warnings();

// True iff TUFF_LOG names this topic: "compile", "run" or "tune".
bool log_enabled(const char* topic);

// TUFF_DUMP; empty if unset.
std::string dump_directory();

}  // namespace tuff
