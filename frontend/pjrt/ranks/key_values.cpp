#include "frontend/pjrt/ranks/key_values.h"

#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

namespace {

ErrorHandle* callback_error(uint32_t, const char* message, size_t message_size) {
  return make_error({ErrorCode::kRunFailed, std::string(message, message_size), ""});
}

Status status_of(ErrorHandle* error) {
  if (!error) return {};
  Error taken{ErrorCode::kRunFailed, error->message, ""};
  free_error(error);
  return taken;
}

}  // namespace

KeyValues::KeyValues(const Client_Create_Args& args)
    : get_(args.kv_get_callback),
      put_(args.kv_put_callback),
      get_argument_(args.kv_get_user_arg),
      put_argument_(args.kv_put_user_arg) {}

Status KeyValues::put(const std::string& key, std::string_view value) const {
  CallbackError on_error = callback_error;
  KeyValuePutCallback_Args args{};
  args.struct_size = sizeof args;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &on_error;
  args.user_arg = put_argument_;
  return status_of(put_(&args));
}

Result<std::string> KeyValues::get(const std::string& key, int timeout_ms) const {
  CallbackError on_error = callback_error;
  KeyValueGetCallback_Args args{};
  args.struct_size = sizeof args;
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = timeout_ms;
  args.callback_error = &on_error;
  args.user_arg = get_argument_;
  TUFF_RETURN_IF_ERROR(status_of(get_(&args)));
  std::string value(args.value, args.value_size);
  if (args.value_deleter) args.value_deleter(args.value);
  return value;
}

}  // namespace tuff::pjrt
