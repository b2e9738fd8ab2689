// What `tuff run` says, as text and as JSON (keys: README.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/check.h"
#include "frontend/cli/execute.h"
#include "frontend/cli/session.h"

namespace tuff::cli {

struct CheckReport {
  double tolerance = 0;
  bool within = true;
  std::vector<Difference> outputs;
  std::string where;  // a sentence; empty iff within
};

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
