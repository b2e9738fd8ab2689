#include "frontend/bench/session.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "frontend/bench/machine.h"
#include "frontend/bench/names.h"
#include "frontend/weights/file.h"

namespace tuff::bench {

namespace {

namespace fs = std::filesystem;
constexpr int kLoadSampleMs = 300;

// A directory that goes with the object.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> create() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "tuff-bench-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      return Error{ErrorCode::kRunFailed, "There is no temporary directory to write to.", path};
    return std::unique_ptr<Scratch>(new Scratch(path));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

bool is_model(const std::string& name) {
  return fs::exists(name) || name.find('/') != std::string::npos || name.ends_with(".mlir") ||
         name.ends_with(".mlirbc");
}

// Sets of workloads by name: bench/sets.json.
Json read_sets(const std::string& directory) {
  Result<std::string> text = read_file(directory + "/sets.json");
  Json sets = text.ok() ? Json::parse(*text, nullptr, false) : Json::object();
  return sets.is_object() ? sets : Json::object();
}

// What is measured, and what results call it.
struct Workload {
  std::string source;  // a name of workloads', or a model's path
  std::string name;
};

std::vector<Workload> expand_sets(const std::vector<std::string>& names, const Json& sets) {
  std::vector<Workload> expanded;
  std::vector<std::string> paths;
  std::copy_if(names.begin(), names.end(), std::back_inserter(paths), is_model);
  std::vector<std::string> called = model_names(paths);
  size_t models = 0;
  for (const std::string& name : names) {
    if (is_model(name))
      expanded.push_back({name, called[models++]});
    else if (sets.contains(name))
      for (const Json& member : sets[name])
        expanded.push_back({member.get<std::string>(), member.get<std::string>()});
    else
      expanded.push_back({name, name});
  }
  return expanded;
}

double load_now() {
  double before = machine_cpu_ms();
  ::usleep(1000 * kLoadSampleMs);
  return others_load(machine_cpu_ms() - before, 0, kLoadSampleMs);
}

Json describe_environment(const SessionOptions& options) {
  Machine machine = describe_machine();
  return {{"date", date_now()},
          {"command", options.command},
          {"cpu", machine.cpu},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes},
          {"system", machine.system},
          {"threads", options.system_options.threads},
          {"affinity", options.system_options.cpus},
          {"load", load_now()},
          {"devices", Json::object()},
          {"versions", Json::object()},
          {"policy", describe_policy(options.settings)}};
}

// A reader never sees half of it.
Status write_results(const std::string& path, const Json& results) {
  if (path.empty()) return {};
  return write_file(path, results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Launch exporter_launch(const SystemOptions& options) {
  Launch launch;
  launch.command = {options.python, "-m", "workloads"};
  launch.environment = {{"JAX_PLATFORMS", "cpu"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  launch.directory = options.directory;
  return launch;
}

Result<Bundle> make_bundle(const SessionOptions& options, const Workload& workload,
                           const Sizes& sizes, const std::string& directory) {
  if (!is_model(workload.source))
    return export_workload(workload.source, sizes, exporter_launch(options.system_options),
                           directory, options.settings.interrupted);
  if (sizes.batch || sizes.seq)
    return Error{ErrorCode::kUsage, "A model's file has one size; only workloads can be swept.",
                 workload.source};
  return bundle_model(workload.source, workload.name, options.shapes, directory);
}

// One workload at one size, appended to the results. Errors: kInterrupted.
Status run_workload(const SessionOptions& options, const Workload& workload, const Sizes& sizes,
                    Json& results) {
  TUFF_ASSIGN(std::unique_ptr<Scratch> scratch, Scratch::create());
  results["workloads"].push_back({{"name", workload.name}, {"systems", Json::array()}});
  Json& entry = results["workloads"].back();
  options.settings.say(fmt::format("{}  export", workload.name));
  Result<Bundle> bundle = make_bundle(options, workload, sizes, scratch->path());
  if (!bundle.ok()) {
    if (bundle.error().code == ErrorCode::kInterrupted) return bundle.take_error();
    entry["error"] = bundle.error().to_string();
    return {};
  }
  Status status =
      measure(options.settings, *bundle, scratch->path(), results["environment"], entry);
  if (!status.ok() && status.error().code == ErrorCode::kInterrupted) {
    // Before the scratch directory goes, which may take longer than an impatient user.
    results["interrupted"] = true;
    TUFF_RETURN_IF_ERROR(write_results(options.json_path, results));
  }
  return status;
}

bool measured_anything(const Json& results) {
  for (const Json& workload : results["workloads"])
    for (const Json& system : workload["systems"])
      if (system.contains("steady")) return true;
  return false;
}

Status run_all(const SessionOptions& options, const std::vector<Workload>& workloads,
               Json& results) {
  std::vector<Sizes> sweep = options.sweep;
  if (sweep.empty()) sweep.emplace_back();
  for (const Workload& workload : workloads)
    for (const Sizes& sizes : sweep) {
      if (options.settings.interrupted())
        return Error{ErrorCode::kInterrupted, "The bench is interrupted.", ""};
      TUFF_RETURN_IF_ERROR(run_workload(options, workload, sizes, results));
      TUFF_RETURN_IF_ERROR(write_results(options.json_path, results));
    }
  return {};
}

Result<std::vector<int64_t>> parse_values(const std::string& axis, std::string_view text) {
  std::vector<int64_t> values;
  const char *at = text.data(), *end = text.data() + text.size();
  while (at <= end) {
    int64_t value = 0;
    auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || (stop != end && *stop != ','))
      return Error{ErrorCode::kUsage,
                   fmt::format("The sweep ({}) is not batch=N,.. or seq=N,.. with N > 0.", axis),
                   "--sweep"};
    values.push_back(value);
    at = stop + 1;
  }
  return values;
}

}  // namespace

Result<std::vector<Sizes>> parse_sweep(const std::vector<std::string>& axes) {
  std::vector<Sizes> sweep;
  for (const std::string& axis : axes) {
    size_t equals = axis.find('=');
    std::string name = axis.substr(0, equals);
    if (equals == std::string::npos || (name != "batch" && name != "seq"))
      return Error{ErrorCode::kUsage,
                   fmt::format("The sweep ({}) is not batch=N,.. or seq=N,.. with N > 0.", axis),
                   "--sweep"};
    TUFF_ASSIGN(std::vector<int64_t> values,
                parse_values(axis, std::string_view(axis).substr(equals + 1)));
    if (sweep.empty()) sweep.emplace_back();
    std::vector<Sizes> wider;
    for (const Sizes& sizes : sweep)
      for (int64_t value : values) {
        wider.push_back(sizes);
        (name == "batch" ? wider.back().batch : wider.back().seq) = value;
      }
    sweep = std::move(wider);
  }
  return sweep;
}

Json read_published(const std::string& directory) {
  Result<std::string> text = read_file(directory + "/published.json");
  Json published = text.ok() ? Json::parse(*text, nullptr, false) : Json::object();
  return published.is_object() ? published.value("ratios", Json::object()) : Json::object();
}

Status run_session(const SessionOptions& options, Json& results) {
  results = {{"format", "tuff-bench-1"}};
  results["environment"] = describe_environment(options);
  results["workloads"] = Json::array();
  std::vector<Workload> workloads =
      expand_sets(options.names, read_sets(options.system_options.directory));
  TUFF_RETURN_IF_ERROR(write_results(options.json_path, results));
  Status status = run_all(options, workloads, results);
  if (!status.ok() && status.error().code == ErrorCode::kInterrupted) results["interrupted"] = true;
  TUFF_RETURN_IF_ERROR(write_results(options.json_path, results));
  TUFF_RETURN_IF_ERROR(std::move(status));
  if (measured_anything(results)) return {};
  return Error{ErrorCode::kRunFailed, "Nothing could be measured; the results say why.", ""};
}

}  // namespace tuff::bench
