// The profiler's C API: makes a Trace, ends it and gives its bytes. Nothing in it fails but for
// want of memory.
#include <atomic>
#include <new>

#include "frontend/pjrt/abi/abi_profiler.h"
#include "frontend/pjrt/trace.h"

namespace tuff::pjrt {

struct ProfilerHandle {
  std::shared_ptr<Trace> trace;
  std::string bytes;
};
struct ProfilerError {};

namespace {

// The flag is asked in each run, the lock taken only where there is a trace.
struct Current {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::shared_ptr<Trace> trace;

  static Current& get() {
    static Current current;
    return current;
  }
  void set(std::shared_ptr<Trace> next) {
    std::lock_guard lock(mutex);
    any = next != nullptr;
    trace.swap(next);
  }
};

ProfilerError no_memory;

template <typename F>
ProfilerError* guarded_profiler(F function) noexcept {
  try {
    function();
    return nullptr;
  } catch (...) {
    return &no_memory;
  }
}

void error_destroy(ProfilerError_Destroy_Args*) {}

void error_message(ProfilerError_Message_Args* args) {
  static constexpr std::string_view kMessage = "tuff: no memory for the trace";
  args->message = kMessage.data();
  args->message_size = kMessage.size();
}

ProfilerError* error_get_code(ProfilerError_GetCode_Args* args) {
  args->code = static_cast<int32_t>(ErrorStatus::kResourceExhausted);
  return nullptr;
}

ProfilerError* create(Profiler_Create_Args* args) {
  return guarded_profiler([&] { args->profiler = new ProfilerHandle(); });
}

ProfilerError* destroy(Profiler_Args* args) {
  delete args->profiler;
  return nullptr;
}

ProfilerError* start(Profiler_Args* args) {
  return guarded_profiler([&] {
    args->profiler->trace = std::make_shared<Trace>();
    Current::get().set(args->profiler->trace);
  });
}

ProfilerError* stop(Profiler_Args*) {
  Current::get().set(nullptr);
  return nullptr;
}

// The bytes stay the profiler's, so that callers need not ask twice.
ProfilerError* collect_data(Profiler_CollectData_Args* args) {
  return guarded_profiler([&] {
    ProfilerHandle& profiler = *args->profiler;
    if (profiler.trace) profiler.bytes = profiler.trace->serialize();
    profiler.trace.reset();
    args->buffer = reinterpret_cast<uint8_t*>(profiler.bytes.data());
    args->buffer_size_in_bytes = profiler.bytes.size();
  });
}

}  // namespace

std::shared_ptr<Trace> current_trace() {
  Current& current = Current::get();
  if (!current.any) return nullptr;
  std::lock_guard lock(current.mutex);
  return current.trace;
}

void* profiler_extension() {
  static const ProfilerApi kApi{sizeof(ProfilerApi),
                                nullptr,
                                &error_destroy,
                                &error_message,
                                &error_get_code,
                                &create,
                                &destroy,
                                &start,
                                &stop,
                                &collect_data};
  static ProfilerExtension extension{sizeof(ProfilerExtension), kProfilerExtension, nullptr, &kApi,
                                     0};
  return &extension;
}

}  // namespace tuff::pjrt
