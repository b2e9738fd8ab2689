// Where the time of a compile, a load and a run goes: the phases a first run is made
// of, and a recorder of what happened inside them. The phases are always measured (a
// few clock reads each); spans are kept only where a Timeline is given.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tuff {

// The phases of a first run after the passes, which go by their own names
// (ir/pass.h). In this order; a phase a device does not have takes no time.
namespace phase {
inline constexpr const char* kImport = "import";  // text or bytecode to a graph; before the run
inline constexpr const char* kLower = "lower";    // groups to kernels
inline constexpr const char* kPlan = "plan";      // memory, barriers
inline constexpr const char* kEmit = "emit";      // kernels to GLSL; to lane programs on the CPU
inline constexpr const char* kGlsl = "glsl";      // GLSL to SPIR-V, or from the disk cache
inline constexpr const char* kPipelines = "pipelines";  // the driver's; library calls on the CPU
inline constexpr const char* kPrepare = "prepare";  // arena, constants, descriptors, output buffers
inline constexpr const char* kUpload = "upload";    // arguments; not part of a first run
inline constexpr const char* kRecord = "record";    // the commands of a run
inline constexpr const char* kExecute = "execute";  // submit to done: what later runs repeat; in
                                                    // the first one also the driver's own
                                                    // compilation and the packing of weights
inline constexpr const char* kDownload = "download";  // outputs; not part of a first run
}  // namespace phase

// One phase of one first run.
struct PhaseTime {
  std::string name;
  double ms = 0;
};

// One step that a run executed. Times are since the run began.
struct Step;
struct StepTime {
  const Step* step = nullptr;  // of the program that ran
  double start_us = 0, end_us = 0;
};

// A stretch of host time. Spans of one thread nest or follow each other.
struct Span {
  std::string category;   // "phase", or what one item of a phase is: "glsl", "pipeline" ...
  std::string name;       // a phase, or "kernel 3"
  std::string detail;     // a sentence for people; may be empty
  bool on_caller = true;  // of the thread that made the timeline; else of a worker
  double start_us = 0, end_us = 0;  // since the timeline was made
};

// Collects spans. Thread-safe.
class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  double us_since_start(Clock::time_point at) const {
    return std::chrono::duration<double, std::micro>(at - start_).count();
  }
  void add(std::string_view category, std::string_view name, Clock::time_point start,
           Clock::time_point end, std::string detail = {});
  // In the order in which they ended.
  std::vector<Span> spans() const;

 private:
  const Clock::time_point start_ = Clock::now();
  const std::thread::id caller_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

// Measures a stretch of work from its construction on.
class Stopwatch {
 public:
  Stopwatch(Timeline* timeline, std::string_view category, std::string_view name)
      : timeline_(timeline), category_(category), name_(timeline ? name : std::string_view()) {}
  double ms() const {
    return std::chrono::duration<double, std::milli>(Timeline::Clock::now() - start_).count();
  }
  // Its milliseconds; also a span, where there is a timeline. Call once.
  double stop(std::string detail = {}) const {
    auto end = Timeline::Clock::now();
    if (timeline_ != nullptr) timeline_->add(category_, name_, start_, end, std::move(detail));
    return std::chrono::duration<double, std::milli>(end - start_).count();
  }

 private:
  Timeline* timeline_;
  std::string_view category_;
  std::string name_;
  Timeline::Clock::time_point start_ = Timeline::Clock::now();
};

}  // namespace tuff
