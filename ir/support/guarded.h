// What others' code throws, as an Error: nothing is thrown across a room or out of a thread.
#pragma once

#include <exception>
#include <new>

#include "ir/support/result.h"

namespace tuff {

// What `function` returns, a Status, or what it throws as an error.
template <typename Function>
Status guarded_status(Function&& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "The host's memory is exhausted.", ""};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kRunFailed, exception.what(), ""};
  } catch (...) {
    return Error{ErrorCode::kRunFailed, "An unknown exception was thrown.", ""};
  }
}

}  // namespace tuff
