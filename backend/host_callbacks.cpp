#include "backend/host_callbacks.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace tuff {

namespace {

// Who is called, and how many calls are under way. Never destroyed: threads may call while the
// process ends.
struct Called {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const HostCallbacks> callbacks;
  int64_t under_way = 0;
};

Called& called() {
  static Called& one = *new Called;
  return one;
}

// Keeps set_host_callbacks waiting.
class CallUnderWay {
 public:
  CallUnderWay() {
    std::lock_guard lock(called().mutex);
    callbacks_ = called().callbacks;
    ++called().under_way;
  }
  ~CallUnderWay() {
    std::lock_guard lock(called().mutex);
    --called().under_way;
    called().changed.notify_all();
  }
  const HostCallbacks* callbacks() const { return callbacks_.get(); }

 private:
  std::shared_ptr<const HostCallbacks> callbacks_;
};

Error nobody() {
  return {ErrorCode::kUnsupported,
          "The program calls back into the process that made it, and there is nobody to be called: "
          "only JAX's own process runs it, with tuff's Python package, until it ends.",
          ""};
}

}  // namespace

void set_host_callbacks(std::optional<HostCallbacks> callbacks) {
  std::unique_lock lock(called().mutex);
  called().callbacks =
      callbacks ? std::make_shared<const HostCallbacks>(*std::move(callbacks)) : nullptr;
  if (!called().callbacks) called().changed.wait(lock, [] { return called().under_way == 0; });
}

Status call_host(int64_t callback, std::span<const HostTensor> arguments,
                 std::span<const HostTensor> results) {
  CallUnderWay call;
  if (!call.callbacks()) return nobody();
  return call.callbacks()->call(callback, arguments, results);
}

Result<HostCallbackShare> HostCallbackShare::retain(int64_t callback) {
  CallUnderWay call;
  if (!call.callbacks()) return nobody();
  if (!call.callbacks()->retain(callback))
    return Error{ErrorCode::kUnsupported,
                 "The program calls back a function that this process does not have: programs with "
                 "callbacks run only in the process that made them.",
                 ""};
  return HostCallbackShare(callback);
}

HostCallbackShare::HostCallbackShare(HostCallbackShare&& other) noexcept
    : callback_(std::exchange(other.callback_, std::nullopt)) {}

HostCallbackShare::~HostCallbackShare() {
  if (!callback_) return;
  CallUnderWay call;
  if (call.callbacks()) call.callbacks()->release(*callback_);
}

Result<std::vector<HostCallbackShare>> retain_callbacks(const Graph& graph) {
  std::vector<HostCallbackShare> shares;
  std::vector<const Graph*> pending{&graph};
  while (!pending.empty()) {
    const Graph& at = *pending.back();
    pending.pop_back();
    for (const Node& node : at.nodes()) {
      for (const GraphPtr& region : node.regions) pending.push_back(region.get());
      const auto* call = node.attrs.find<HostCallAttrs>();
      if (call == nullptr || call->function != HostFunction::kCallback) continue;
      Result<HostCallbackShare> share = HostCallbackShare::retain(call->callback);
      if (!share.ok()) {
        Error error = share.take_error();
        error.where = node.loc;
        return error;
      }
      shares.push_back(std::move(share).value());
    }
  }
  return shares;
}

}  // namespace tuff
