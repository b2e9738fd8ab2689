#include "ir/support/guarded.h"

#include <new>
#include <stdexcept>

namespace tuff {

namespace {

// So short that the string needs no memory of its own.
Error no_memory() { return {ErrorCode::kOutOfMemory, "No host memory.", ""}; }

Error failure(const char* what) {
  try {
    return {ErrorCode::kRunFailed, std::string("Unexpected failure: ") + what, ""};
  } catch (...) {
    return no_memory();
  }
}

}  // namespace

Error error_of(const std::exception_ptr& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {  // of a container: more than any memory holds
    return no_memory();
  } catch (const std::exception& e) {
    return failure(e.what());
  } catch (...) {
    return failure("an exception that says nothing");
  }
}

}  // namespace tuff
