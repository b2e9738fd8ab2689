#include "frontend/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "frontend/bench/machine.h"
#include "frontend/check/parts.h"
#include "frontend/check/summary.h"

namespace tuff::check {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMinutes = 10, kSoftwareMinutes = 24;
constexpr size_t kTextKept = 20000;  // bytes of an output that is no object

Json json_of(const PartResult& result) {
  Json json = {{"name", result.part.name},
               {"what", result.part.what},
               {"status", status_name(result.status)}};
  if (!result.why.empty()) json["why"] = result.why;
  if (result.status == PartStatus::kSkipped) return json;
  json["seconds"] = result.seconds;
  json["limit_s"] = result.part.limit.count();
  json["command"] = result.part.command;
  if (result.json.is_object())
    json["result"] = summarised(result.part.name, result.json);
  else if (!result.output.empty())
    json["text"] = result.output.size() <= kTextKept
                       ? result.output
                       : "..." + result.output.substr(result.output.size() - kTextKept);
  return json;
}

class Check {
 public:
  Check(const CheckOptions& options, const std::function<Status(const Json&)>& keep)
      : options_(options), keep_(keep), start_(Clock::now()) {}

  Result<Json> run() {
    describe();
    Json devices;
    for (const Part& part : first_parts(options_)) {
      if (part.name != "devices" && !wanted(part)) continue;
      TUFF_ASSIGN(PartResult result, add(part));
      if (part.name == "devices") devices = result.json;
    }
    Found found = find_device(devices, options_.device);
    minutes_ = options_.minutes > 0 ? options_.minutes
               : found.software     ? kSoftwareMinutes
                                    : kMinutes;
    if (!found.device.empty()) check_["device"] = device_in(devices, found.device);
    for (const Part& part : device_parts(options_, found)) {
      if (!wanted(part)) continue;
      TUFF_ASSIGN(PartResult result, add(part));
      if (part.name == "verdict" && result.json.is_object())
        check_["device"] = device_in(result.json, found.device);
    }
    check_["seconds"] = seconds_since_start();
    TUFF_RETURN_IF_ERROR(keep_(check_));
    return std::move(check_);
  }

 private:
  void describe() {
    bench::Machine machine = bench::describe_machine();
    check_ = {{"format", "tuff-check-1"},
              {"date", bench::date_now()},
              {"version", TUFF_VERSION},
              {"machine",
               {{"cpu", machine.cpu},
                {"cores", machine.cores},
                {"memory_bytes", machine.memory_bytes},
                {"system", machine.system}}},
              {"device", nullptr},
              {"seconds", 0},
              {"parts", Json::array()}};
  }

  static Json device_in(const Json& devices, const std::string& id) {
    for (const Json& device : devices["devices"])
      if (device.value("id", "") == id) return device;
    return nullptr;
  }

  bool wanted(const Part& part) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(),
                       [&](const std::string& name) { return part.name.starts_with(name); });
  }

  double seconds_since_start() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  Result<PartResult> add(const Part& part) {
    if (part.skip.empty()) options_.say(fmt::format("{} ...", part.name));
    double left = 60 * minutes_ - seconds_since_start();
    PartEnvironment environment{variables(), options_.directory, options_.interrupted};
    TUFF_ASSIGN(PartResult result,
                run_part(part, std::chrono::seconds(static_cast<int64_t>(std::max(left, 0.0))),
                         environment));
    options_.say(fmt::format("{:<28} {:<8}{}{}", part.name, status_name(result.status),
                             result.seconds > 0 ? fmt::format(" {:.1f} s", result.seconds) : "",
                             result.why.empty() ? "" : "  " + result.why));
    check_["parts"].push_back(json_of(result));
    check_["seconds"] = seconds_since_start();
    TUFF_RETURN_IF_ERROR(keep_(check_));
    return result;
  }

  // Caches of its own: a first run is one.
  std::map<std::string, std::string> variables() const {
    std::string caches = options_.directory + "/caches";
    std::error_code ignored;
    fs::create_directories(caches + "/driver", ignored);
    return {{"TUFF_CACHE_DIR", caches + "/tuff"},
            {"MESA_SHADER_CACHE_DIR", caches + "/driver"},
            {"__GL_SHADER_DISK_CACHE_PATH", caches + "/driver"}};
  }

  const CheckOptions& options_;
  const std::function<Status(const Json&)>& keep_;
  Clock::time_point start_;
  double minutes_ = kMinutes;
  Json check_;
};

}  // namespace

Result<Json> check_device(const CheckOptions& options,
                          const std::function<Status(const Json&)>& keep) {
  return Check(options, keep).run();
}

}  // namespace tuff::check
