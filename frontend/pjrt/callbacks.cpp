// tuff_pjrt_set_callbacks: how the process that loads the plugin says that it can be called back.
// JAX's own callbacks do not reach plugins, so the Python package (jax_plugins/tuff/callbacks.py)
// calls it through ctypes, which takes and gives back Python's lock around each call.
#include <vector>

#include "backend/host_callbacks.h"
#include "frontend/pjrt/abi/table.h"

namespace tuff::pjrt {

namespace {

// These structs are callbacks.py's as well, field by field.
struct CalledArray {
  void* data;         // null where there are no elements
  const char* dtype;  // in MLIR's spelling
  int64_t rank;
  const int64_t* shape;
};
struct CalledArgs {
  int64_t callback;
  int64_t num_arguments;
  const CalledArray* arguments;
  int64_t num_results;
  const CalledArray* results;
  // To be called, with `error`, where the function fails.
  void (*fail)(void* error, const char* message);
  void* error;
};
struct Callbacks {
  void (*call)(const CalledArgs* args);
  int32_t (*retain)(int64_t callback);
  void (*release)(int64_t callback);
};

std::vector<CalledArray> arrays(std::span<const HostTensor> tensors) {
  std::vector<CalledArray> arrays;
  for (const HostTensor& tensor : tensors)
    arrays.push_back({tensor.data, dtype_name(tensor.type->dtype), tensor.type->rank(),
                      tensor.type->shape.data()});
  return arrays;
}

// The message of a function that failed.
void keep_message(void* error, const char* message) {
  *static_cast<std::optional<std::string>*>(error) = message;
}

Status call(const Callbacks& callbacks, int64_t callback, std::span<const HostTensor> arguments,
            std::span<const HostTensor> results) {
  std::vector<CalledArray> taken = arrays(arguments), given = arrays(results);
  std::optional<std::string> error;
  CalledArgs args{callback,     static_cast<int64_t>(taken.size()),
                  taken.data(), static_cast<int64_t>(given.size()),
                  given.data(), &keep_message,
                  &error};
  callbacks.call(&args);
  if (!error) return {};
  return Error{ErrorCode::kRunFailed, "The callback failed: " + *error, ""};
}

}  // namespace

}  // namespace tuff::pjrt

// Null: nobody can be called any more; returns when no call is under way.
extern "C" __attribute__((visibility("default"))) void tuff_pjrt_set_callbacks(
    const tuff::pjrt::Callbacks* callbacks) {
  using namespace tuff;
  if (pjrt::in_fork()) return;
  if (callbacks == nullptr) return set_host_callbacks(std::nullopt);
  auto call = [callbacks = *callbacks](int64_t callback, std::span<const HostTensor> arguments,
                                       std::span<const HostTensor> results) {
    return pjrt::call(callbacks, callback, arguments, results);
  };
  set_host_callbacks(HostCallbacks{
      std::move(call),
      [retain = callbacks->retain](int64_t callback) { return retain(callback) != 0; },
      callbacks->release});
}
