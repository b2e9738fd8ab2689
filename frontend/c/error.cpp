// Versions, statuses and the last error.
#include <string>

#include "frontend/c/call.h"

namespace tuff::c {

namespace {

struct LastError {
  std::string message, location;
  bool lost = false;  // there was no memory to keep it
};
thread_local LastError last_error;

}  // namespace

tuff_status fail(const Error& error) noexcept {
  try {
    last_error = {error.message, error.where, false};
  } catch (...) {
    last_error.lost = true;
  }
  return static_cast<tuff_status>(error.code);
}

}  // namespace tuff::c

uint32_t tuff_version(void) {
  return TUFF_VERSION_MAJOR * 10000 + TUFF_VERSION_MINOR * 100 + TUFF_VERSION_PATCH;
}

const char* tuff_version_string(void) { return TUFF_VERSION; }

const char* tuff_status_name(tuff_status status) {
  switch (status) {
    case TUFF_OK: return "ok";
    case TUFF_INVALID_ARGUMENT: return "invalid argument";
    case TUFF_TIMEOUT: return "timeout";
    case TUFF_CANCELLED: return "cancelled";
    case TUFF_RUN_FAILED:
    case TUFF_NO_DEVICE:
    case TUFF_FALLBACK_REFUSED:
    case TUFF_OUT_OF_MEMORY:
    case TUFF_DEVICE_LOST:
    case TUFF_BAD_INPUT:
    case TUFF_UNSUPPORTED: return tuff::error_code_name(static_cast<tuff::ErrorCode>(status));
    default: return "unknown status";
  }
}

const char* tuff_last_error(void) {
  return tuff::c::last_error.lost ? "The host's memory is exhausted."
                                  : tuff::c::last_error.message.c_str();
}

const char* tuff_last_error_location(void) {
  return tuff::c::last_error.lost ? "" : tuff::c::last_error.location.c_str();
}
