#include "ir/support/result.h"

namespace tuff {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kRunFailed: return "run failed";
    case ErrorCode::kUsage: return "usage";
    case ErrorCode::kNoDevice: return "no usable device";
    case ErrorCode::kFallbackRefused: return "fallback refused";
    case ErrorCode::kTooSlow: return "slower than asked";
    case ErrorCode::kMismatch: return "mismatch";
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kDeviceLost: return "device lost";
    case ErrorCode::kBadInput: return "bad input";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kInterrupted: return "interrupted";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "tuff: internal error at %s:%d: %s does not hold: %s\n", file, line,
               condition, message.c_str());
  std::abort();
}

}  // namespace tuff
