// What can be measured: tuff's devices and the peers, each as a way to start a worker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/bench/worker.h"

namespace tuff::bench {

struct System {
  std::string name;         // "tuff:cpu", "jax", "torch-compile"
  Launch launch;            // without caches and log
  bool has_driver = false;  // a Vulkan driver with a disk cache of its own
};

struct SystemOptions {
  std::string self;       // this program
  std::string python;     // for peers
  std::string directory;  // bench/, with peers/ and workloads/
  int64_t threads = 0;    // > 0
  std::vector<int> cpus;
};

// After a device's word: each operation in a kernel of its own, what fusion is measured against.
inline constexpr std::string_view kUnfused = "+unfused";

// One of tuff's devices, as --device spells it ("cpu", "vulkan:0", "cpu+unfused").
System own_system(const SystemOptions& options, const std::string& device);

// A peer by name: peers/NAME.py, '-' in the name standing for '_' in the file's.
// Errors: kUsage naming the peers there are.
Result<System> peer_system(const SystemOptions& options, const std::string& name);

// Names of all peers, sorted.
std::vector<std::string> peer_names(const std::string& directory);

// The caches of a worker: its own below `directory`, and the driver's there too or off.
enum class DriverCache { kOff, kOn };
Launch with_caches(const System& system, const std::string& directory, DriverCache driver);

}  // namespace tuff::bench
