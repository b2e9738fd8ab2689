// What jax.profiler asks of a plugin: which programs and kernels ran on its devices, and when.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pjrt/runtime.h"

namespace tuff::pjrt {

// Records the runs between its making and its end. Thread-safe.
class Trace {
 public:
  // Beyond these, events are left out: a loop has one for each step of each round.
  static constexpr size_t kMaxEvents = 1 << 20;

  // Runs a program as its device does; its kernels are timed.
  Status run(Runtime& runtime, const Loaded& program, const std::vector<BufferPtr>& arguments,
             const std::vector<BufferPtr>& outputs);
  // What the device exchanged with others since then.
  void add_exchange(const Runtime& runtime, const std::string& name, int64_t begin_ns);
  static int64_t now_ns();  // of the clock on the wall, as the profiler's other planes
  // The profiler's message XSpace: a plane for each device, with its programs, their kernels and
  // exchanges.
  std::string serialize() const;

 private:
  struct Event {
    int64_t name = 0, start_ps = 0, duration_ps = 0;  // since the trace began
  };
  struct Plane {
    std::string name;
    std::vector<Event> programs, kernels, exchanges;
  };
  // The program loaded again, so that its steps can be timed.
  struct Timed {
    std::shared_ptr<Device> device;  // before `loaded`: destroyed after it
    std::shared_ptr<const Program> program;
    std::shared_ptr<LoadedProgram> loaded;
  };
  Result<std::shared_ptr<LoadedProgram>> timed(const Loaded& program);
  int64_t name_id(const std::string& name);

  Plane& plane_of(const Runtime& runtime);

  const int64_t start_ns_ = now_ns();

  mutable std::mutex mutex_;
  std::map<std::pair<const Device*, const Program*>, Timed> timed_;
  std::map<const Runtime*, Plane> planes_;
  std::map<std::string, int64_t> names_;
  size_t num_events_ = 0;
};

// The trace under way, or null.
std::shared_ptr<Trace> current_trace();

// Of the plugin's table: what the profiler finds it by.
void* profiler_extension();

}  // namespace tuff::pjrt
