#include "frontend/check/part.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/weights/file.h"

namespace tuff::check {

namespace {

using Clock = std::chrono::steady_clock;

// The object that a text is, or null.
Json object_of(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json();
}

}  // namespace

const char* status_name(PartStatus status) {
  switch (status) {
    case PartStatus::kPassed: return "passed";
    case PartStatus::kFailed: return "failed";
    case PartStatus::kHung: return "hung";
    case PartStatus::kSkipped: return "skipped";
  }
  return "";
}

Result<PartResult> run_part(const Part& part, std::chrono::seconds left,
                            const PartEnvironment& environment) {
  PartResult result;
  result.part = part;
  result.why = part.skip;
  if (!part.skip.empty()) return result;
  if (left.count() <= 0) {
    result.why = "No time is left for it; --minutes gives more.";
    return result;
  }
  bench::Launch launch;
  launch.command = part.command;
  launch.environment = environment.variables;
  launch.log_path = environment.directory + "/log";
  launch.output_path = environment.directory + "/output";
  std::chrono::seconds limit = std::min(part.limit, left);
  Clock::time_point start = Clock::now();
  Status status = bench::run_to_end(launch, limit, environment.interrupted);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!status.ok() && status.error().code == ErrorCode::kInterrupted) return status.error();
  if (Result<std::string> output = read_file(launch.output_path); output.ok())
    result.output = *output;
  result.json = object_of(result.output);
  result.status = PartStatus::kPassed;
  if (status.ok()) {
    if (part.judge != nullptr) result.why = part.judge(result.json);
    if (!result.why.empty()) result.status = PartStatus::kFailed;
    return result;
  }
  result.status = result.seconds >= static_cast<double>(limit.count()) ? PartStatus::kHung
                                                                       : PartStatus::kFailed;
  result.why = status.error().message;
  return result;
}

}  // namespace tuff::check
