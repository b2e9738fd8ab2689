// A library to preload into tuff: the n-th call of one kind fails. With TUFF_INJECT_IN_PROCESS it
// is a part of a program that says so itself (inject.h).
//
//   INJECT_FAULT=memory:N         operator new throws
//   INJECT_FAULT=thread:N         pthread_create says EAGAIN
//   INJECT_FAULT=file:N:CODE      a system call on a file gives EIO, ENOSPC, EINTR; SHORT: half
//   INJECT_FAULT=vulkan:N:CODE    a Vulkan function gives this VkResult
//
// N = 0 only counts. INJECT_COUNT names a file for how many calls there were. Calls that others
// make, a driver say, are left alone: they are told by the address that they return to (callers.h).
// The library has the loader's name (libvulkan.so.1), so that tuff finds its Vulkan here.
#include "tests/faults/inject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "backend/vulkan/cooperative_matrix.h"

namespace {

struct Fault {
  char kind[16] = "";
  long at = 0;
  char code[32] = "";
};

Fault& fault() {
  static Fault fault = [] {
    Fault read;
    if (const char* text = std::getenv("INJECT_FAULT"))
      std::sscanf(text, "%15[a-z]:%ld:%31s", read.kind, &read.at, read.code);
    return read;
  }();
  return fault;
}

std::atomic<long> calls{0};
std::atomic<bool> armed{false};  // from main on

// Calls that count by their stacks, each stack once: the table of those that there are, or the one
// to fail. `frames` is 0 where every call counts.
struct Stacks {
  static constexpr size_t kPlaces = 1 << 18;
  int frames = 0;
  callers::Stack wanted;
  std::atomic<size_t> count{0};
  std::atomic<uint64_t> known[kPlaces];
  callers::Stack found[kPlaces];

  void clear() {
    count = 0;
    for (auto& hash : known) hash = 0;
  }
  void add(const callers::Stack& stack) {
    const uint64_t hash = stack.hash(frames);
    for (size_t place = hash % kPlaces;; place = (place + 1) % kPlaces) {
      uint64_t none = 0;
      if (known[place].compare_exchange_strong(none, hash)) break;
      if (none == hash) return;
    }
    if (count >= kPlaces / 2) std::abort();
    found[count++] = stack;
  }
};
Stacks stacks;

// Where the call was that failed.
std::array<uint64_t, 40> failed_frames;
size_t num_failed_frames = 0;
std::atomic<bool> failed{false};

bool is_kind(const char* kind) { return armed && std::strcmp(fault().kind, kind) == 0; }

// Counts a call; true where it is the one to fail.
bool due() { return ++calls == fault().at && !failed.exchange(true); }
bool due_by_stack(const void* caller) {
  const int frames = stacks.frames;
  if (stacks.wanted.caller == nullptr) {
    stacks.add(callers::stack_to(caller, frames));
    return false;
  }
  return !failed && callers::stack_to(caller, frames).hash(frames) == stacks.wanted.hash(frames) &&
         !failed.exchange(true);
}
bool due_from(const char* kind, const void* caller, bool (*counts)(const void*)) {
  if (!is_kind(kind)) return false;
  // Before it is unwound, which takes long.
  if (stacks.wanted.caller != nullptr && caller != stacks.wanted.caller) return false;
  if (!counts(caller)) return false;
  bool is_due = stacks.frames > 0 ? due_by_stack(caller) : due();
  if (is_due) num_failed_frames = callers::own_frames(caller, failed_frames);
  return is_due;
}

template <typename Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void begin() {
  callers::find("");
  fault();
}

__attribute__((destructor)) void end() {
  armed = false;
  const char* path = std::getenv("INJECT_COUNT");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
}

void* allocate(size_t size, size_t alignment, const void* caller) {
  if (due_from("memory", caller, callers::own_through_library)) return nullptr;
  if (alignment <= alignof(max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* need(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// What a system call on a file gives instead: false where it does its work.
bool fails(const void* caller, ssize_t& result, size_t* size) {
  if (!due_from("file", caller, callers::own_or_library)) return false;
  std::string_view code = fault().code;
  if (code == "SHORT") {
    if (size != nullptr) *size = (*size + 1) / 2;
    return false;
  }
  errno = code == "ENOSPC" ? ENOSPC : code == "EINTR" ? EINTR : EIO;
  result = -1;
  return true;
}

}  // namespace

#define CALLER __builtin_return_address(0)

#ifdef TUFF_INJECT_IN_PROCESS

void inject_into(const char* library_name) { callers::find(library_name); }

void inject(const char* kind, long at, const char* code) {
  armed = false;
  if (kind[0] == '\0') return;
  stacks.frames = 0, stacks.wanted = {};
  calls = 0, failed = false, num_failed_frames = 0;
  std::snprintf(fault().kind, sizeof fault().kind, "%s", kind);
  std::snprintf(fault().code, sizeof fault().code, "%s", code);
  fault().at = at;
  armed = true;
}

void count_stacks(const char* kind, int frames) {
  stacks.clear();
  inject(kind, 0, "");
  stacks.frames = frames;
}

std::vector<callers::Stack> counted_stacks() { return {stacks.found, stacks.found + stacks.count}; }

void inject_at(const char* kind, const callers::Stack& stack, int frames) {
  inject(kind, 0, "");
  stacks.wanted = stack, stacks.frames = frames;
}

long injected_calls() { return calls; }

namespace {
int processors = 0;
}

void pretend_processors(int count) { processors = count; }

extern "C" int get_nprocs() noexcept {
  static auto* next = next_of<int()>("get_nprocs");
  return processors > 0 && callers::own_or_library(CALLER) ? processors : next();
}

bool has_failed() { return failed; }

std::span<const uint64_t> failed_at() { return {failed_frames.data(), num_failed_frames}; }

#else

namespace {

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int main_with_faults(int argc, char** argv, char** environment) {
  armed = fault().kind[0] != '\0';
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*linker_fini)(), void* stack_end) {
  real_main = main;
  auto* next = next_of<int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*)>(
      "__libc_start_main");
  return next(main_with_faults, argc, argv, init, fini, linker_fini, stack_end);
}

#endif

void* operator new(size_t size) { return need(allocate(size, 1, CALLER)); }
void* operator new[](size_t size) { return need(allocate(size, 1, CALLER)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return need(allocate(size, static_cast<size_t>(alignment), CALLER));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return need(allocate(size, static_cast<size_t>(alignment), CALLER));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, CALLER);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, CALLER);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<size_t>(alignment), CALLER);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<size_t>(alignment), CALLER);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* data) {
  if (due_from("thread", CALLER, callers::own_or_library)) return EAGAIN;
  static auto* next = next_of<decltype(pthread_create)>("pthread_create");
  return next(thread, attributes, start, data);
}

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  ssize_t result = 0;
  static auto* next = next_of<int(const char*, int, ...)>("open");
  return fails(CALLER, result, nullptr) ? static_cast<int>(result) : next(path, flags, mode);
}

ssize_t read(int file, void* bytes, size_t size) {
  ssize_t result = 0;
  static auto* next = next_of<ssize_t(int, void*, size_t)>("read");
  return fails(CALLER, result, &size) ? result : next(file, bytes, size);
}

ssize_t write(int file, const void* bytes, size_t size) {
  ssize_t result = 0;
  static auto* next = next_of<ssize_t(int, const void*, size_t)>("write");
  return fails(CALLER, result, &size) ? result : next(file, bytes, size);
}

#define FILE_CALL(name, parameters, arguments)                           \
  int name parameters {                                                  \
    ssize_t result = 0;                                                  \
    static auto* next = next_of<int parameters>(#name);                  \
    if (fails(CALLER, result, nullptr)) return static_cast<int>(result); \
    return next arguments;                                               \
  }
FILE_CALL(fstat, (int file, struct stat* info), (file, info))
FILE_CALL(mkdir, (const char* path, mode_t mode), (path, mode))
#undef FILE_CALL

int rename(const char* from, const char* to) noexcept {
  ssize_t result = 0;
  static auto* next = next_of<int(const char*, const char*)>("rename");
  return fails(CALLER, result, nullptr) ? static_cast<int>(result) : next(from, to);
}

// The file is closed all the same, as Linux does it.
int close(int file) {
  ssize_t result = 0;
  static auto* next = next_of<int(int)>("close");
  bool failed = fails(CALLER, result, nullptr);
  int why = errno, closed = next(file);
  errno = failed ? why : errno;
  return failed ? static_cast<int>(result) : closed;
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  ssize_t result = 0;
  static auto* next = next_of<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (file >= 0 && fails(CALLER, result, nullptr)) return MAP_FAILED;
  return next(address, size, protection, flags, file, offset);
}

}  // extern "C"

namespace {

// The functions that tuff calls.
enum class Called {
#define VK_GLOBAL(name) k##name,
#define VK_INSTANCE(name) k##name,
#define VK_INSTANCE_OPTIONAL(name) k##name,
#define VK_DEVICE(name) k##name,
#define VK_DEVICE_OPTIONAL(name) k##name,
#include "backend/vulkan/instance/functions.def"
};

// One of them, in front of the driver's.
template <Called called, typename Function>
struct Wrap;
template <Called called, typename R, typename... Arguments>
struct Wrap<called, R(VKAPI_PTR*)(Arguments...)> {
  static inline R(VKAPI_PTR* next)(Arguments...) = nullptr;
  static R VKAPI_CALL call(Arguments... arguments) {
    if constexpr (std::is_same_v<R, VkResult>) {
      if (is_kind("vulkan") && due()) {
        auto code = static_cast<VkResult>(std::atoi(fault().code));
        // A device that is lost runs nothing any more.
        if (code == VK_ERROR_DEVICE_LOST && called == Called::kWaitForFences) next(arguments...);
        return code;
      }
    }
    return next(arguments...);
  }
};

PFN_vkVoidFunction wrapped(const char* name, PFN_vkVoidFunction found);

PFN_vkGetInstanceProcAddr real_instance_function() {
  static auto* found = [] {
    void* loader = dlopen(TUFF_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL);
    return loader == nullptr ? nullptr
                             : reinterpret_cast<PFN_vkGetInstanceProcAddr>(
                                   dlsym(loader, "vkGetInstanceProcAddr"));
  }();
  return found;
}

PFN_vkGetDeviceProcAddr real_device_function = nullptr;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  return wrapped(name, real_device_function(device, name));
}

PFN_vkVoidFunction wrapped(const char* name, PFN_vkVoidFunction found) {
  if (found == nullptr) return nullptr;
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    real_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
  }
#define VK_ANY(function)                                          \
  if (std::strcmp(name, "vk" #function) == 0) {                   \
    using Function = Wrap<Called::k##function, PFN_vk##function>; \
    Function::next = reinterpret_cast<PFN_vk##function>(found);   \
    return reinterpret_cast<PFN_vkVoidFunction>(&Function::call); \
  }
#define VK_GLOBAL(name) VK_ANY(name)
#define VK_INSTANCE(name) VK_ANY(name)
#define VK_INSTANCE_OPTIONAL(name) VK_ANY(name)
#define VK_DEVICE(name) VK_ANY(name)
#define VK_DEVICE_OPTIONAL(name) VK_ANY(name)
#include "backend/vulkan/instance/functions.def"
  return found;
}

}  // namespace

#ifdef TUFF_INJECT_IN_PROCESS
#define GET_INSTANCE_PROC_ADDR tuff_inject_vulkan  // which loader.c asks
#else
#define GET_INSTANCE_PROC_ADDR vkGetInstanceProcAddr
#endif
extern "C" VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GET_INSTANCE_PROC_ADDR(VkInstance instance,
                                                                           const char* name) {
  PFN_vkGetInstanceProcAddr real = real_instance_function();
  return real == nullptr ? nullptr : wrapped(name, real(instance, name));
}
