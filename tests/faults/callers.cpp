#include "tests/faults/callers.h"

#include <link.h>
#include <unwind.h>

#include <cstring>

#include "ir/support/hash.h"

namespace callers {

namespace {

struct Code {
  uintptr_t base = 0, begin = 0, end = 0;
  bool has(uintptr_t address) const { return begin <= address && address < end; }
};
const char* own_name = "";
Code own_code, library_code;

int look_at(dl_phdr_info* info, size_t, void*) {
  bool is_library = std::strstr(info->dlpi_name, "libstdc++") != nullptr;
  bool is_own = own_name[0] == '\0' ? info->dlpi_name[0] == '\0'
                                    : std::strstr(info->dlpi_name, own_name) != nullptr;
  if (!is_own && !is_library) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    (is_library ? library_code : own_code) = {info->dlpi_addr, begin, begin + part.p_memsz};
  }
  return 0;
}

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// Calls `frame` with the addresses from `caller` outwards, until it gives false.
template <typename Frame>
struct Walk {
  uintptr_t caller;
  Frame frame;
  bool reached = false;  // what lies inside of the call is not looked at

  static _Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    uintptr_t address = _Unwind_GetIP(context);
    walk.reached |= address == walk.caller;
    return walk.reached && !walk.frame(address) ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
};

template <typename Frame>
void walk_from(const void* caller, Frame frame) {
  Walk<Frame> walk{number(caller), frame};
  _Unwind_Backtrace(Walk<Frame>::step, &walk);
}

}  // namespace

void find(const char* library_name) {
  own_name = library_name;
  dl_iterate_phdr(look_at, nullptr);
}

bool own(const void* address) { return own_code.has(number(address)); }

bool own_or_library(const void* address) {
  return own(address) || library_code.has(number(address));
}

bool own_through_library(const void* address) {
  if (own(address)) return true;
  if (!library_code.has(number(address))) return false;
  bool is_own = false;
  walk_from(address, [&](uintptr_t at) {
    is_own = own_code.has(at);
    return library_code.has(at);
  });
  return is_own;
}

Stack stack_to(const void* caller, int frames) {
  Stack stack{.caller = caller};
  uint64_t hash = 0;
  int walked = 0;
  walk_from(caller, [&](uintptr_t at) {
    for (const Code* code : {&own_code, &library_code})
      if (code->has(at)) hash = tuff::hash_mix(hash, at - code->base);
    stack.hashes[static_cast<size_t>(walked)] = hash;
    return ++walked < frames;
  });
  // A thread may begin within so many.
  for (; walked < frames; ++walked) stack.hashes[static_cast<size_t>(walked)] = hash;
  return stack;
}

size_t own_frames(const void* caller, std::span<uint64_t> offsets) {
  size_t count = 0;
  walk_from(caller, [&](uintptr_t at) {
    if (own_code.has(at)) offsets[count++] = at - own_code.base;
    return count < offsets.size();
  });
  return count;
}

}  // namespace callers
