// How every function of tuff.h is entered: its arguments are checked, its structs read by their
// size, and whatever fails becomes a status and this thread's last error.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/c/include/tuff.h"
#include "ir/support/guarded.h"

namespace tuff::c {

// Keeps the error for tuff_last_error.
tuff_status fail(const Error& error) noexcept;

// The status of `function`, a Status, or of what it throws.
template <typename Function>
tuff_status call(Function&& function) noexcept {
  Status status = guarded_status(function);
  return status.ok() ? TUFF_OK : fail(status.error());
}

inline Error invalid(std::string sentence) { return {ErrorCode::kUsage, std::move(sentence), ""}; }

// Errors: kUsage naming the argument that is null.
inline Status need(const void* pointer, const char* name) {
  if (pointer) return {};
  return invalid(fmt::format("The argument ({}) is NULL.", name));
}

// A caller's struct as this library knows it: what an older caller has not is zero.
template <typename Struct>
Result<Struct> read_struct(const Struct* given, const char* name) {
  TUFF_RETURN_IF_ERROR(need(given, name));
  if (given->struct_size < sizeof(size_t))
    return invalid(
        fmt::format("The struct ({}) does not say its size; begin with TUFF_INIT.", name));
  Struct known{};
  std::memcpy(&known, given, std::min(given->struct_size, sizeof known));
  return known;
}

// Fills what the caller's version of the struct has.
template <typename Struct>
Status write_struct(Struct* to, Struct from, const char* name) {
  TUFF_RETURN_IF_ERROR(need(to, name));
  if (to->struct_size < sizeof(size_t))
    return invalid(
        fmt::format("The struct ({}) does not say its size; begin with TUFF_INIT.", name));
  from.struct_size = to->struct_size;
  std::memcpy(to, &from, std::min(from.struct_size, sizeof from));
  return {};
}

}  // namespace tuff::c
