#include "frontend/pjrt/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "frontend/pjrt/wire.h"

namespace tuff::pjrt {

namespace {

// Field numbers of the profiler's messages.
constexpr uint32_t kPlane = 1;                                                   // of a space
constexpr uint32_t kPlaneId = 1, kPlaneName = 2, kLine = 3, kEventMetadata = 4;  // of a plane
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;                               // of a map's entry
constexpr uint32_t kMetadataId = 1, kMetadataName = 2;                        // of an event's name
constexpr uint32_t kLineId = 1, kLineName = 2, kLineStartNs = 3, kEvent = 4;  // of a line
constexpr uint32_t kEventName = 1, kEventOffsetPs = 2, kEventDurationPs = 3;  // of an event

constexpr int64_t kPsPerNs = 1000;

int64_t ps_of_us(double us) { return static_cast<int64_t>(us * 1e6); }

}  // namespace

int64_t Trace::now_ns() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

Result<std::shared_ptr<LoadedProgram>> Trace::timed(const Loaded& program) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<const Program>& steps = program.compiled->program;
  Timed& timed = timed_[{program.device.get(), steps.get()}];
  if (timed.loaded) return timed.loaded;
  LoadOptions options;
  options.time_steps = true;
  TUFF_ASSIGN(std::unique_ptr<LoadedProgram> loaded, program.device->load(steps, options));
  timed = {program.device, steps, std::move(loaded)};
  return timed.loaded;
}

int64_t Trace::name_id(const std::string& name) {
  return names_.emplace(name, static_cast<int64_t>(names_.size()) + 1).first->second;
}

Trace::Plane& Trace::plane_of(const Runtime& runtime) {
  Plane& plane = planes_[&runtime];
  if (plane.name.empty())
    plane.name = fmt::format("/device:CUSTOM:tuff:{} {}", planes_.size() - 1, runtime.description);
  return plane;
}

void Trace::add_exchange(const Runtime& runtime, const std::string& name, int64_t begin_ns) {
  int64_t end_ns = now_ns();
  begin_ns = std::max(begin_ns, start_ns_);  // the trace may have begun meanwhile
  std::lock_guard lock(mutex_);
  if (++num_events_ > kMaxEvents) return;
  plane_of(runtime).exchanges.push_back(
      {name_id(name), (begin_ns - start_ns_) * kPsPerNs, (end_ns - begin_ns) * kPsPerNs});
}

Status Trace::run(Runtime& runtime, const Loaded& program, const std::vector<BufferPtr>& arguments,
                  const std::vector<BufferPtr>& outputs) {
  TUFF_ASSIGN(std::shared_ptr<LoadedProgram> loaded, timed(program));
  RunStats stats;
  stats.time_steps = true;
  int64_t begin_ps = (now_ns() - start_ns_) * kPsPerNs;
  TUFF_RETURN_IF_ERROR(program.device->run(*loaded, arguments, outputs, &stats));
  int64_t end_ps = (now_ns() - start_ns_) * kPsPerNs;

  std::lock_guard lock(mutex_);
  Plane& plane = plane_of(runtime);
  plane.programs.push_back({name_id(program.compiled->graph->name), begin_ps, end_ps - begin_ps});
  for (const StepTime& time : stats.steps) {
    if (++num_events_ > kMaxEvents) break;
    plane.kernels.push_back({name_id(time.step->label), begin_ps + ps_of_us(time.start_us),
                             ps_of_us(time.end_us - time.start_us)});
  }
  return {};
}

std::string Trace::serialize() const {
  std::lock_guard lock(mutex_);
  std::string names;
  for (const auto& [name, id] : names_) {
    std::string metadata, entry;
    write_number(&metadata, kMetadataId, id);
    write_bytes(&metadata, kMetadataName, name);
    write_number(&entry, kEntryKey, id);
    write_bytes(&entry, kEntryValue, metadata);
    write_bytes(&names, kEventMetadata, entry);
  }
  auto line = [this](int64_t id, std::string_view name, const std::vector<Event>& events) {
    std::string bytes;
    write_number(&bytes, kLineId, id);
    write_bytes(&bytes, kLineName, name);
    write_number(&bytes, kLineStartNs, start_ns_);
    for (const Event& event : events) {
      std::string fields;
      write_number(&fields, kEventName, event.name);
      write_number(&fields, kEventOffsetPs, event.start_ps);
      write_number(&fields, kEventDurationPs, event.duration_ps);
      write_bytes(&bytes, kEvent, fields);
    }
    return bytes;
  };
  std::string space;
  int64_t id = 0;
  for (const auto& [runtime, plane] : planes_) {
    std::string bytes;
    write_number(&bytes, kPlaneId, id++);
    write_bytes(&bytes, kPlaneName, plane.name);
    write_bytes(&bytes, kLine, line(0, "programs", plane.programs));
    write_bytes(&bytes, kLine, line(1, "kernels", plane.kernels));
    if (!plane.exchanges.empty()) write_bytes(&bytes, kLine, line(2, "exchanges", plane.exchanges));
    bytes += names;
    write_bytes(&space, kPlane, bytes);
  }
  return space;
}

}  // namespace tuff::pjrt
