// What is thrown, as an Error: nothing is thrown across a room, out of a thread or out of a C
// function.
#pragma once

#include <exception>

#include "ir/support/result.h"

namespace tuff {

// What an exception says, as an error. Not null. Takes no memory where memory is at its end.
Error error_of(const std::exception_ptr& exception) noexcept;

// What `function` returns, a Status, or what it throws as an error.
template <typename Function>
Status guarded_status(Function&& function) noexcept {
  try {
    return function();
  } catch (...) {
    return error_of(std::current_exception());
  }
}

}  // namespace tuff
