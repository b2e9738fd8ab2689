// Functions of whoever has the process, which programs call (host_call's `callback`). The way in
// that can be called back, the PJRT plugin, says here how; the CPU device calls.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace tuff {

// Row-major; no data where it has no elements. `type` outlives the call.
struct HostTensor {
  std::byte* data = nullptr;
  const TensorType* type = nullptr;
};

struct HostCallbacks {
  // Reads the arguments and fills the results in. Throws nothing.
  std::function<Status(int64_t callback, std::span<const HostTensor> arguments,
                       std::span<const HostTensor> results)>
      call;
  // The function stays as long as it is retained; false where there is none.
  std::function<bool(int64_t callback)> retain;
  std::function<void(int64_t callback)> release;
};

// Nothing: nobody can be called any more; returns when no call is under way. Thread-safe.
void set_host_callbacks(std::optional<HostCallbacks> callbacks);

// Errors: those of the function; kUnsupported where nobody can be called.
Status call_host(int64_t callback, std::span<const HostTensor> arguments,
                 std::span<const HostTensor> results);

// Retains what a program calls. Errors: kUnsupported where nobody can be called, or not this.
class HostCallbackShare {
 public:
  static Result<HostCallbackShare> retain(int64_t callback);
  ~HostCallbackShare();
  HostCallbackShare(HostCallbackShare&& other) noexcept;
  HostCallbackShare& operator=(HostCallbackShare&&) = delete;

 private:
  explicit HostCallbackShare(int64_t callback) : callback_(callback) {}
  std::optional<int64_t> callback_;
};

// Of all that a graph calls, in its regions as well.
Result<std::vector<HostCallbackShare>> retain_callbacks(const Graph& graph);

}  // namespace tuff
