// The table of functions: each takes its struct, returns a Status, and throws nothing
// past the guard, which turns a failure into the API's error object.
#pragma once

#include <string>

#include "frontend/pjrt/abi/abi_types.h"
#include "ir/support/guarded.h"

namespace tuff::pjrt {

enum class Slot : int {
#define TUFF_PJRT_SLOT(name) k##name,
#include "frontend/pjrt/abi/slots.def"
#undef TUFF_PJRT_SLOT
  kCount
};
inline constexpr int kNumSlots = static_cast<int>(Slot::kCount);
static_assert(kNumSlots == 138);

using SlotFunction = ErrorHandle* (*)(void*);

struct Api {
  TUFF_PJRT_HEAD;
  ApiVersion version;
  SlotFunction slots[kNumSlots];
};
TUFF_PJRT_LAYOUT(Api, slots, 40, 1144);

// The API's object of an error; the caller destroys it.
ErrorHandle* make_error(const Error& error) noexcept;
void free_error(ErrorHandle* error) noexcept;

// What a function does in a process that was forked from one with a client, of which it has the
// memory, but none of the threads that devices need.
enum class InFork : uint8_t {
  kRuns,     // it only looks things up
  kRefused,  // it would wait for a thread that is not there
  kLeft,     // it does nothing: what it would end is the parent's
};
bool in_fork();
// From now on a fork of this process is told so.
void watch_forks();
Error forked_error();

template <typename Args, Status (*function)(Args&), InFork in_forks = InFork::kRuns>
ErrorHandle* guarded(void* args) noexcept {
  if (in_forks == InFork::kLeft && in_fork()) return nullptr;
  Status status = guarded_status([args]() -> Status {
    if (in_forks == InFork::kRefused && in_fork()) return forked_error();
    return function(*static_cast<Args*>(args));
  });
  return status.ok() ? nullptr : make_error(status.error());
}

// Fill their functions in; the rest are left as they are (UNIMPLEMENTED).
void add_error_functions(Api& api);
void add_client_functions(Api& api);
void add_device_functions(Api& api);
void add_executable_functions(Api& api);
void add_execute_functions(Api& api);
void add_buffer_functions(Api& api);
void add_transfer_functions(Api& api);

// TUFF_PJRT_SET(api, Client_Create, client_create, InFork::kRefused): the slot calls `function`
// guarded.
#define TUFF_PJRT_SET(api, name, ...) \
  (api).slots[static_cast<int>(Slot::k##name)] = &guarded<name##_Args, &__VA_ARGS__>

}  // namespace tuff::pjrt
