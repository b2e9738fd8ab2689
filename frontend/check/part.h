// A part of a check: a command in a process of its own with a time limit. What crashes or hangs
// there ends there.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "frontend/bench/worker.h"

namespace tuff::check {

using bench::Json;

struct Part {
  std::string name{};  // "roof", "model gpt2_b2s64"
  std::string what{};  // what it shows, for people
  std::vector<std::string> command{};
  std::chrono::seconds limit{60};
  std::string skip{};  // why it is left out; empty: it runs
  // What is wrong with what it said although it ended well; empty: nothing. May be null.
  std::string (*judge)(const Json& json) = nullptr;
};

enum class PartStatus { kPassed, kFailed, kHung, kSkipped };
const char* status_name(PartStatus status);

struct PartResult {
  Part part;
  PartStatus status = PartStatus::kSkipped;
  std::string why;     // unless it passed
  double seconds = 0;  // that it took
  std::string output;  // what it wrote on stdout
  Json json;           // the object that the output is; null where it is none
};

// What parts run with.
struct PartEnvironment {
  std::map<std::string, std::string> variables;
  std::string directory;  // of logs and outputs
  bench::Interrupted interrupted;
};

// Within `left` and the part's own limit. Errors: kInterrupted.
Result<PartResult> run_part(const Part& part, std::chrono::seconds left,
                            const PartEnvironment& environment);

}  // namespace tuff::check
