// What `tuff run` says, as text and as JSON (keys: README.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/reporting.h"
#include "frontend/session/check.h"
#include "frontend/session/run.h"

namespace tuff::cli {

struct RunReport {
  Execution execution;
  double load_ms = 0;  // reading and importing the model and its arguments
  std::vector<std::string> output_names;
  std::string output_dir;
  std::optional<CheckReport> check;
  int64_t validation_errors = 0;

  std::string text() const;
  Json json() const;
};

}  // namespace tuff::cli
