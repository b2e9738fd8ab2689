#include "frontend/bench/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tuff::bench {

namespace {

// Every library's own word for the number of threads; equal for all systems.
std::map<std::string, std::string> thread_environment(int64_t threads) {
  std::map<std::string, std::string> environment;
  for (const char* name : {"BENCH_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                           "OPENBLAS_NUM_THREADS", "LP_NUM_THREADS"})
    environment[name] = std::to_string(threads);
  return environment;
}

std::string file_name_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

System own_system(const SystemOptions& options, const std::string& device) {
  System system;
  system.name = "tuff:" + device;
  bool unfused = device.ends_with(kUnfused);
  std::string word = unfused ? device.substr(0, device.size() - kUnfused.size()) : device;
  system.launch.command = {options.self, "bench-worker", "--device", word};
  if (unfused) system.launch.command.insert(system.launch.command.end(), {"--disable", "group"});
  system.launch.environment = thread_environment(options.threads);
  system.launch.cpus = options.cpus;
  system.has_driver = device.starts_with("vulkan");
  return system;
}

std::vector<std::string> peer_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/peers", error)) {
    std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".py" || name.starts_with("_")) continue;
    std::replace(name.begin(), name.end(), '_', '-');
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<System> peer_system(const SystemOptions& options, const std::string& name) {
  std::vector<std::string> names = peer_names(options.directory);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return Error{ErrorCode::kUsage,
                 fmt::format("There is no peer ({}); {} has ({}).", name,
                             options.directory + "/peers", fmt::join(names, ", ")),
                 "--vs"};
  System system;
  system.name = name;
  system.launch.command = {options.python, "-m", "peers." + file_name_of(name)};
  system.launch.environment = thread_environment(options.threads);
  system.launch.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  system.launch.directory = options.directory;
  system.launch.cpus = options.cpus;
  system.has_driver = name.find("vulkan") != std::string::npos;
  return system;
}

Launch with_caches(const System& system, const std::string& directory, DriverCache driver) {
  Launch launch = system.launch;
  auto& environment = launch.environment;
  environment["TUFF_CACHE_DIR"] = directory + "/tuff";
  environment["BENCH_CACHE"] = directory + "/peer";
  bool off = driver == DriverCache::kOff;
  environment["MESA_SHADER_CACHE_DISABLE"] = off ? "true" : "false";
  environment["MESA_SHADER_CACHE_DIR"] = directory + "/driver";
  environment["__GL_SHADER_DISK_CACHE"] = off ? "0" : "1";
  environment["__GL_SHADER_DISK_CACHE_PATH"] = directory + "/driver";
  std::error_code ignored;
  std::filesystem::create_directories(directory + "/peer", ignored);
  std::filesystem::create_directories(directory + "/driver", ignored);
  return launch;
}

}  // namespace tuff::bench
