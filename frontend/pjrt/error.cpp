// Errors and events. Error_Destroy, Error_Message and Error_ForEachPayload must not
// fail: callers run them on the error itself.
#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

namespace {

ErrorStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kBadInput: return ErrorStatus::kInvalidArgument;
    case ErrorCode::kUnsupported: return ErrorStatus::kUnimplemented;
    case ErrorCode::kOutOfMemory: return ErrorStatus::kResourceExhausted;
    case ErrorCode::kNoDevice:
    case ErrorCode::kFallbackRefused: return ErrorStatus::kFailedPrecondition;
    case ErrorCode::kDeviceLost: return ErrorStatus::kUnavailable;
    case ErrorCode::kInterrupted: return ErrorStatus::kCancelled;
    default: return ErrorStatus::kInternal;
  }
}

// What there is to say when even the error cannot be allocated; never destroyed.
ErrorHandle& no_memory() {
  static ErrorHandle error{nullptr, ErrorStatus::kResourceExhausted, "no host memory"};
  return error;
}

Status error_destroy(Error_Destroy_Args& args) {
  free_error(args.error);
  return {};
}

Status error_message(Error_Message_Args& args) {
  args.message = args.error->message.c_str();
  args.message_size = args.error->message.size();
  return {};
}

Status error_get_code(Error_GetCode_Args& args) {
  args.code = static_cast<uint32_t>(args.error->status);
  return {};
}

Status error_for_each_payload(Error_ForEachPayload_Args&) { return {}; }

Status event_destroy(Event_Destroy_Args& args) {
  delete args.event;
  return {};
}

Status event_is_ready(Event_IsReady_Args& args) {
  args.is_ready = args.event->completion->ready();
  return {};
}

// How it ended; waits where it has not, since there is no error to give yet.
Status event_error(Event_Error_Args& args) { return args.event->completion->wait(); }
Status event_await(Event_Await_Args& args) { return args.event->completion->wait(); }

Status event_on_ready(Event_OnReady_Args& args) {
  args.event->completion->on_ready(
      [callback = args.callback, user_arg = args.user_arg](const Status& status) {
        callback(status.ok() ? nullptr : make_error(status.error()), user_arg);
      });
  return {};
}

}  // namespace

ErrorHandle* make_error(const Error& error) noexcept {
  try {
    return new ErrorHandle{nullptr, status_of(error.code), error.to_string()};
  } catch (...) {
    return &no_memory();
  }
}

void free_error(ErrorHandle* error) noexcept {
  if (error != &no_memory()) delete error;
}

void add_error_functions(Api& api) {
  TUFF_PJRT_SET(api, Error_Destroy, error_destroy);
  TUFF_PJRT_SET(api, Error_Message, error_message);
  TUFF_PJRT_SET(api, Error_GetCode, error_get_code);
  TUFF_PJRT_SET(api, Error_ForEachPayload, error_for_each_payload);
  TUFF_PJRT_SET(api, Event_Destroy, event_destroy, InFork::kLeft);
  TUFF_PJRT_SET(api, Event_IsReady, event_is_ready);
  TUFF_PJRT_SET(api, Event_Error, event_error, InFork::kRefused);
  TUFF_PJRT_SET(api, Event_Await, event_await, InFork::kRefused);
  TUFF_PJRT_SET(api, Event_OnReady, event_on_ready, InFork::kRefused);
}

}  // namespace tuff::pjrt
