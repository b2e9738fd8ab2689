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

template <typename Args, Status (*function)(Args&)>
ErrorHandle* guarded(void* args) noexcept {
  Status status = guarded_status([args] { return function(*static_cast<Args*>(args)); });
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

// TUFF_PJRT_SET(api, Client_Create, client_create): the slot calls `function` guarded.
#define TUFF_PJRT_SET(api, name, function) \
  (api).slots[static_cast<int>(Slot::k##name)] = &guarded<name##_Args, &function>

}  // namespace tuff::pjrt
